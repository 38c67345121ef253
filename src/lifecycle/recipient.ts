/**
 * NAME      recipient - the state of one recipient, and what must always hold of it
 *   A recipient that waits is in one place: it is due at a time, leased to a boot, held, or deferred by a server that
 *   has the mail by now (then a deadline says until when we believe it). One that waits no more is at rest; only an
 *   attempt that may be past the final dot keeps its lease until it ends.
 */
import { invariant } from '../base/fault.js'
import type { Status } from '../mail/status.js'

/** Held because a broken connection hides whether the mail was taken. Else `held` names a hold. */
export const AMBIGUOUS = 'ambiguous'

export interface RecipientState {
  readonly status: Status
  /** Attempts that have ended. */
  readonly attempts: number
  readonly dueAt: number | null
  /** The boot that has it under lease. */
  readonly boot: number | null
  readonly leaseGen: number
  /** The number of the attempt that may be past the final dot. */
  readonly attempting: number | null
  readonly held: string | null
  /** When a mail that another server reported as delayed counts as expired. */
  readonly deadline: number | null
  readonly lastResponse: string | null
  readonly reason: string | null
}

export const isWaiting = (status: Status): boolean =>
  status === 'scheduled' || status === 'queued' || status === 'deferred'

/** Answers with the state itself, when it can be one. */
export const checked = <State extends RecipientState>(state: State): State => {
  const { status, dueAt, boot, held, attempting, deadline } = state
  const places = (dueAt === null ? 0 : 1) + (boot === null ? 0 : 1) + (held === null ? 0 : 1)
  invariant(places <= 1, 'a recipient is due, leased or held, and only one')
  invariant(attempting === null || boot !== null, 'only who has the lease attempts')
  if (isWaiting(status)) {
    const elsewhere = status === 'deferred' && deadline !== null
    invariant(places === 1 || elsewhere, `a ${status} recipient waits somewhere`)
  } else {
    invariant(dueAt === null && held === null, `a ${status} recipient is not due and not held`)
    invariant(boot === null || attempting !== null, `a ${status} recipient is leased for its attempt only`)
    invariant(deadline === null, `a ${status} recipient has no deadline`)
  }
  return state
}
