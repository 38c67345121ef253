/**
 * NAME      store-mails - what is made of a send, into the queue
 * DESCRIPTION
 *   The last step of every door. Where rows are at hand nothing is waited for before the store has the mail. It is
 *   stored only under the rules by which it was decided: if these are others by then, it is decided again, and not
 *   prepared again; nor is a rate counted or a lock taken a second time.
 *   An answer that is kept for its key must be written before the mail is, so lists of suppressions are asked first; if
 *   they say something else by then, it is written anew. Any other is written once it is known who was on a list.
 */
import { Fault } from '../base/fault.js'
import type { IdempotentAnswer, NewEmail } from '../lifecycle/facts.js'
import { suppressionList } from '../lifecycle/suppress.js'
import type { WorkspaceRow } from '../store/port/tenants.js'
import type { Listed } from './addresses.js'
import { demand, demandSender, type Standing, type SubmissionDeps } from './deps.js'
import type { Answer, IdempotencyWish, Rendered } from './draft.js'
import { once } from './idempotency.js'
import { type Owner, type Prepared, toEmail } from './prepare.js'

export interface Job extends Owner {
  /** Whether its workspace and whoever sends may send now. */
  readonly decide: () => Standing | Fault | Promise<Standing | Fault>
  /** As decided just now, senders and all; null: not yet. With a key it is decided once that is claimed. */
  readonly standing: Standing | null
  readonly idempotency: IdempotencyWish | null
  readonly make: () => readonly Prepared[] | Promise<readonly Prepared[]>
  /** In place of that of the workspace. */
  readonly poolId?: string | undefined
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
  mails: readonly Prepared[],
): Promise<void> => {
  if (!workspace.restrictSenders) return
  for (const { senders } of mails) for (const one of senders) await demandSender(deps, workspace, one)
}

/** Which recipients are on a list; live and test mail have lists of their own. */
const listedIn = async (
  { store }: SubmissionDeps,
  { workspace, mode }: Job,
  mails: readonly Prepared[],
  now: number,
): Promise<Listed> => {
  const minded = mails.filter(({ ignoreSuppressions }) => !ignoreSuppressions)
  const normals = minded.flatMap(({ recipients }) => recipients.map(({ normal }) => normal))
  return new Set(await store.suppressed(suppressionList(workspace.id, mode), normals, now))
}

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
  const now = clock.now()
  let prepared: readonly Prepared[] | null = null
  for (let tries = 0; tries < MOST; tries++) {
    const given = tries === 0 && ticket === null ? job.standing : null
    const decided = given ?? job.decide()
    const { workspace, rules } = demand(decided instanceof Promise ? await decided : decided)
    const made: ReturnType<Job['make']> = prepared ?? job.make()
    prepared = made instanceof Promise ? await made : made
    if (given === null && workspace.restrictSenders) await demandSenders(deps, workspace, prepared)
    const listed: Listed = ticket === null ? NONE : await listedIn(deps, job, prepared, now)
    const route = deps.route(workspace, job.mode)
    const routed = route instanceof Promise ? await route : route
    const routing = job.poolId === undefined ? routed : { poolId: job.poolId, routes: routed.routes }
    const mails = prepared.map((one) => toEmail(one, job, routing, listed, now))
    const early = ticket === null ? null : job.render(mails)
    const idempotency = ticket && early && { ...ticket, status: early.status, body: early.body }
    const result = await store.accept({ mails, idempotency, rules: tries < COMPARED - 1 ? rules : null, now })
    if (result === 'lock_lost') return null
    if (result !== 'stale') {
      const stored = result === 'accepted' ? mails : mails.map((mail) => found(mail, result.suppressed))
      return { replayed: false, ...(early ?? job.render(stored)) }
    }
    store.known?.look()
  }
  throw new Fault('service.unavailable', { retryAfter: 1 })
}

/** Resolves when all of them are on disk, or with the first answer under the same key. Throws the Fault to answer with. */
export const storeMails = (deps: SubmissionDeps, job: Job): Promise<Answer> => {
  const { mode, idempotency: wish } = job
  const place = { workspaceId: job.workspace.id, mode }
  return deps.inTurn(mode, () =>
    wish === null
      ? (attempt(deps, job, null) as Promise<Answer>) // none has a lock to lose
      : once(deps.store, wish, place, deps.clock.now, (ticket) => attempt(deps, job, ticket)),
  )
}
