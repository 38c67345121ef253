/**
 * NAME      span - what became of a mail at an upstream, for whoever traces
 * DESCRIPTION
 *   The relay thread tells of each attempt, and its span is made here, on the
 *   main thread, where the SDK is. It begins and ends when the attempt did, under
 *   the span of the request that brought the mail and linked to it: a retry can
 *   be hours later, after a restart, and still belongs to that trace.
 */
import type { Spans, Traceparent } from '../base/trace.js'
import type { AttemptEnd } from '../outcome/reply.js'

/** An attempt's end as it crosses the threads; no address, no text of a reply. */
export interface AttemptTold {
  readonly emailId: string
  readonly recipientId: string
  readonly workspaceId: string
  readonly poolId: string
  readonly upstreamId: string | null
  readonly host: string | null
  readonly port: number | null
  readonly attempt: number
  readonly startedAt: number
  readonly endedAt: number
  readonly stage: string
  readonly code: number | null
  readonly enhanced: string | null
  readonly ambiguous: boolean
}

export const toldOf = ({ claimed, at, upstreamId, host, stage, reply, detail }: AttemptEnd): AttemptTold => ({
  emailId: claimed.emailId,
  recipientId: claimed.recipientId,
  workspaceId: claimed.workspaceId,
  poolId: claimed.poolId,
  upstreamId,
  host,
  port: typeof detail?.port === 'number' ? detail.port : null,
  attempt: claimed.attempts + 1,
  startedAt: at - (typeof detail?.ms === 'number' ? detail.ms : 0),
  endedAt: at,
  stage,
  code: reply?.code ?? null,
  enhanced: reply?.enhanced ?? null,
  ambiguous: detail?.ambiguous === true,
})

const failureOf = ({ stage, code, ambiguous }: AttemptTold): string | null => {
  if (code === null) return ambiguous ? 'ambiguous' : `lost at ${stage}`
  return stage === 'dot' && code < 300 ? null : `${code} at ${stage}`
}

const record = (spans: Spans, told: AttemptTold, origin: Traceparent | null): void => {
  const failed = failureOf(told)
  const span = spans.start({
    name: 'relay attempt',
    kind: 'client',
    parent: origin,
    link: origin,
    at: told.startedAt,
    attributes: {
      'network.protocol.name': 'smtp',
      'postern.email_id': told.emailId,
      'postern.recipient_id': told.recipientId,
      'postern.workspace_id': told.workspaceId,
      'postern.pool_id': told.poolId,
      'postern.attempt': told.attempt,
      'postern.smtp.stage': told.stage,
      ...(told.host !== null && { 'server.address': told.host }),
      ...(told.port !== null && { 'server.port': told.port }),
      ...(told.upstreamId !== null && { 'postern.upstream_id': told.upstreamId }),
      ...(told.code !== null && { 'postern.smtp.code': told.code }),
      ...(told.enhanced !== null && { 'postern.smtp.enhanced': told.enhanced }),
      ...(failed !== null && { 'error.type': failed }),
    },
  })
  span.end(failed, told.endedAt)
}

/** A listener for what the relay thread tells. `traceOf` finds what was kept with a mail. */
export const attemptSpans =
  (spans: Spans, traceOf: (emailId: string) => Promise<Traceparent | null>) =>
  (attempts: readonly AttemptTold[]): void => {
    for (const told of attempts) {
      traceOf(told.emailId)
        .catch(() => null)
        .then((origin) => record(spans, told, origin))
    }
  }
