/**
 * NAME      span - one for each message that a client hands in
 * DESCRIPTION
 *   From the end of its DATA to the reply. A client that traces says so where it
 *   can: in a header field `traceparent`, as it would over HTTP. Addresses and
 *   subjects are not told.
 */
import { Fault } from '../base/fault.js'
import { readTraceparent, type Spans } from '../base/observe/trace.js'
import type { EnvelopedMessage } from '../submission/prepare.js'
import type { MessageAnswer } from '../submission/submit.js'
import type { Login } from '../tenant/principal.js'

/** Where a header may end; what is longer has no business with us. */
const MOST_HEADER = 64 * 1024

/** The field as the client wrote it, or null. */
const fieldOf = (raw: Uint8Array): string | null => {
  const start = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, MOST_HEADER)).toString(
    'latin1',
  )
  const end = /\r?\n\r?\n/.exec(start)?.index ?? start.length
  return /(?:^|\n)traceparent:[ \t]*(\S+)[ \t]*(?:\r?\n|$)/i.exec(start.slice(0, end + 1))?.[1] ?? null
}

export const traced = async (
  spans: Spans,
  login: Login,
  { raw, recipients, received }: EnvelopedMessage,
  submit: (trace: string) => Promise<MessageAnswer>,
): Promise<MessageAnswer> => {
  const span = spans.start({
    name: 'SMTP submission',
    kind: 'server',
    parent: readTraceparent(fieldOf(raw)),
    attributes: {
      'network.protocol.name': 'smtp',
      'postern.workspace_id': login.workspace.id,
      'postern.recipients': recipients.length,
      'postern.message_size': raw.byteLength,
      'postern.smtp.protocol': received.protocol,
    },
  })
  try {
    const answer = await span.run(() => submit(span.traceparent))
    span.set({ 'postern.email_id': answer.id })
    span.end()
    return answer
  } catch (error) {
    const code = error instanceof Fault ? error.code : 'internal.unexpected'
    span.set({ 'error.type': code })
    // a refusal is the client's failure, not the server's
    span.end(error instanceof Fault && error.row.http < 500 ? null : code)
    throw error
  }
}
