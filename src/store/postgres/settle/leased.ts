/**
 * NAME      leased - what is known of recipients that this writer has leased
 * DESCRIPTION
 *   As a claim has read them, or their accept has stored them, and as they are marked since: nobody else is to change them
 *   until they are settled, so the outcome of an attempt is decided on without another look. That is an assumption and no
 *   more. The statement which applies it has it as its condition (apply.ts), and where others have been at work it is all
 *   read anew.
 *   Only what needs no more than that is decided so: mails of one recipient, whose attempt was taken or is put off. What
 *   a workspace may have changed meanwhile, such as who is told of a failure, is looked up.
 */
import type { AttemptMark, Outcome } from '../../../lifecycle/facts.js'
import { dsnActionOf, isTold } from '../../../lifecycle/pending-dsn.js'
import type { LoadedRecipient } from './load.js'

/** The oldest go: many more than are ever under way. */
const MOST = 20_000

export interface Leased {
  note(recipient: LoadedRecipient): void
  marked(mark: AttemptMark): void
  /** Those of these outcomes that can do without a look. They are forgotten: their leases end. */
  take(outcomes: readonly Outcome[]): ReadonlyMap<string, LoadedRecipient>
  clear(): void
}

const isPlain = (outcome: Outcome, { state, mail, notify, queuedAt }: LoadedRecipient): boolean => {
  const { seen, leaseGen, dedupe, report } = outcome
  if (leaseGen !== state.leaseGen || dedupe !== null || report !== undefined) return false
  if (seen !== 'accepted' && seen !== 'postponed') return false
  const action = dsnActionOf(outcome)
  const submitted = { mailFrom: mail.mailFrom, notify, queuedAt, senderDsn: true }
  return action === null || !isTold(action, outcome, submitted)
}

export const createLeased = (): Leased => {
  const known = new Map<string, LoadedRecipient>()
  return {
    note(recipient) {
      if (recipient.mail.total !== 1) return
      known.delete(recipient.id)
      known.set(recipient.id, recipient)
      // a Map has its keys in the order in which they came
      const oldest = known.size > MOST ? known.keys().next().value : undefined
      if (oldest !== undefined) known.delete(oldest)
    },
    marked({ recipientId, leaseGen, attempt }) {
      const found = known.get(recipientId)
      if (found?.state.leaseGen !== leaseGen) return
      known.set(recipientId, { ...found, state: { ...found.state, attempting: attempt } })
    },
    take(outcomes) {
      const taken = new Map<string, LoadedRecipient>()
      const unsure = new Set<string>()
      for (const outcome of outcomes) {
        const id = outcome.recipientId
        const found = known.get(id)
        // so a second outcome of it finds nothing, and both go with a look
        known.delete(id)
        if (found !== undefined && isPlain(outcome, found)) taken.set(id, found)
        else unsure.add(id)
      }
      for (const id of unsure) taken.delete(id)
      return taken
    },
    clear: () => known.clear(),
  }
}
