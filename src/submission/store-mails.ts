/**
 * NAME      store-mails - what is made of a send, into the queue
 * DESCRIPTION
 *   The last step of both doors. Where rows are at hand nothing is waited for before the store has the mail. It is
 *   stored only under the rules by which it was decided: if these are others by then, it is decided again, and not made
 *   again; nor is a rate counted or a lock taken a second time.
 *   An answer that is kept for its key must be written before the mail is, so lists of suppressions are asked first; if
 *   they say something else by then, it is written anew. Any other is written once it is known who was on a list.
 */
import { Fault } from '../base/fault.js'
import type { IdempotentAnswer, NewEmail } from '../lifecycle/facts.js'
import type { Routing } from '../store/port/tenants/routes.js'
import type { WorkspaceRow } from '../store/port/tenants/tenants.js'
import type { Principal } from '../tenant/principal.js'
import type { Listed } from './addresses.js'
import { decide, demand, demandSender, listedOf, type Standing, type SubmissionDeps } from './deps.js'
import type { Answer, IdempotencyWish, Rendered } from './draft.js'
import { once } from './idempotency.js'
import { routed } from './route.js'

export interface Job {
  readonly principal: Principal
  readonly workspace: WorkspaceRow
  /** As decided just now; null: not yet. With a key it is decided once that is claimed. */
  readonly standing: Standing | null
  readonly idempotency: IdempotencyWish | null
  /** Normal addresses for which lists are asked. */
  readonly asked: readonly string[]
  readonly senders: readonly string[]
  make(routing: Routing, listed: Listed, now: number): readonly NewEmail[] | Promise<readonly NewEmail[]>
  readonly render: (mails: readonly NewEmail[]) => Rendered & Pick<Answer, 'records'>
}

type Ticket = Omit<IdempotentAnswer, keyof Rendered>

const NONE: Listed = new Set()
/** Tries that are compared, and all of them: lists of suppressions may move under each. */
const COMPARED = 3
const MOST = 10

/** Throws email.sender_not_allowed. */
export const demandSenders = async (
  deps: SubmissionDeps,
  workspace: WorkspaceRow,
  senders: readonly string[],
): Promise<void> => {
  if (workspace.restrictSenders) for (const one of senders) await demandSender(deps, workspace, one)
}

/** The same mail in another pool, or with other recipients on lists. */
const anew = (mail: NewEmail, routing: Routing, listed: Listed): NewEmail => ({
  ...mail,
  ...routed(
    routing,
    mail.recipients.map(({ poolId: _, ...one }) =>
      one.normal === undefined ? one : { ...one, suppressed: listed.has(one.normal) },
    ),
  ),
})

/** As it was stored. */
const found = (mail: NewEmail, suppressed: readonly string[]): NewEmail => ({
  ...mail,
  recipients: mail.recipients.map((one) =>
    suppressed.includes(one.id) ? { ...one, suppressed: true } : one,
  ),
})

/** Null when its lock was lost. */
const attempt = async (deps: SubmissionDeps, job: Job, ticket: Ticket | null): Promise<Answer | null> => {
  const { store, clock } = deps
  const { principal, workspace: at } = job
  const now = clock.now()
  let before: readonly NewEmail[] | null = null
  for (let tries = 0; tries < MOST; tries++) {
    const given = tries === 0 && ticket === null ? job.standing : null
    const decided = given ?? decide(deps, principal, at)
    const { workspace, rules } = demand(decided instanceof Promise ? await decided : decided)
    if (given === null && workspace.restrictSenders) await demandSenders(deps, workspace, job.senders)
    const place = { workspaceId: at.id, mode: principal.mode }
    const listed: Listed = ticket === null ? NONE : await listedOf(deps, place, job.asked, now)
    const route = deps.route(workspace, principal.mode)
    const routing = route instanceof Promise ? await route : route
    const made: ReturnType<Job['make']> =
      before?.map((mail) => anew(mail, routing, listed)) ?? job.make(routing, listed, now)
    const mails: readonly NewEmail[] = made instanceof Promise ? await made : made
    const early = ticket === null ? null : job.render(mails)
    const idempotency = ticket && early && { ...ticket, status: early.status, body: early.body }
    const result = await store.accept({ mails, idempotency, rules: tries < COMPARED - 1 ? rules : null, now })
    if (result === 'lock_lost') return null
    if (result !== 'stale') {
      const stored = result === 'accepted' ? mails : mails.map((mail) => found(mail, result.suppressed))
      return { replayed: false, ...(early ?? job.render(stored)) }
    }
    before = mails
    store.known?.look()
  }
  throw new Fault('service.unavailable', { retryAfter: 1 })
}

/** Resolves when all of them are on disk, or with the first answer under the same key. Throws the Fault to answer with. */
export const storeMails = (deps: SubmissionDeps, job: Job): Promise<Answer> => {
  const { mode } = job.principal
  const place = { workspaceId: job.workspace.id, mode }
  return deps.inTurn(mode, () =>
    once(deps.store, job.idempotency, place, deps.clock.now, (ticket) => attempt(deps, job, ticket)),
  )
}
