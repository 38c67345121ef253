/**
 * NAME      accepting - the moment in which mail becomes ours
 * DESCRIPTION
 *   Stands round `store.accept`, the one verb by which mail comes in, whatever
 *   the door: it times the verb as a span under that of the request, and counts
 *   what was taken.
 */
import type { Spans } from '../base/observe/trace.js'
import { type Acceptance, type AcceptResult, isStored } from '../lifecycle/facts.js'
import type { SubmissionStore } from './deps.js'

export interface Watch {
  /** null without an OpenTelemetry SDK. */
  readonly spans?: Spans | null | undefined
  /** Told after the commit. */
  readonly accepted?: ((mails: Acceptance['mails']) => void) | undefined
}

const timed = async (
  spans: Spans,
  system: string,
  { mails }: Acceptance,
  accept: () => Promise<AcceptResult>,
): Promise<AcceptResult> => {
  const span = spans.start({
    name: 'store accept',
    kind: 'producer',
    parent: mails[0]?.trace ?? null,
    attributes: {
      'db.system.name': system,
      'db.operation.name': 'accept',
      'messaging.system': 'postern',
      'messaging.batch.message_count': mails.length,
      ...(mails.length === 1 && mails[0] && { 'postern.email_id': mails[0].id }),
    },
  })
  try {
    const result = await accept()
    span.end(typeof result === 'string' && result !== 'accepted' ? result : null)
    return result
  } catch (error) {
    span.end('store failed')
    throw error
  }
}

/** The store's verbs of a submission, with `accept` watched. */
export const watched = (store: SubmissionStore, { spans, accepted }: Watch): SubmissionStore => ({
  system: store.system,
  ...(store.known && { known: store.known }),
  workspace: (accountId, ref) => store.workspace(accountId, ref),
  pool: (accountId, ref) => store.pool(accountId, ref),
  suppressed: (workspaceId, emails, now) => store.suppressed(workspaceId, emails, now),
  claimKey: (claim) => store.claimKey(claim),
  releaseKey: (claim) => store.releaseKey(claim),
  accept(batch) {
    const accept = () => store.accept(batch)
    return (spans == null ? accept() : timed(spans, store.system, batch, accept)).then((result) => {
      if (isStored(result)) accepted?.(batch.mails)
      return result
    })
  },
})
