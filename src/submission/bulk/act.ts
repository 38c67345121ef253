/**
 * NAME      act - what a job does to one mail
 * DESCRIPTION
 *   Every action may be done to the same mail twice, since a job that was cut off
 *   looks at some mails again: what is canceled stays so, and a mail is sent again
 *   under a key of the job and the mail.
 */
import type { Clock } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import type {
  EmailRecord,
  EmailRow,
  JobAction,
  JobRow,
  Ledger,
  Queue,
  Schedule,
} from '../../store/port/mail.js'
import type { Operations } from '../../store/port/operations.js'
import { listOfWorkspace, type SuppressDeps, suppress } from '../../tenant/suppression.js'
import { requestFingerprint } from '../idempotency.js'
import type { Submission } from '../submission.js'

export interface ActDeps {
  readonly store: Ledger &
    Schedule &
    Pick<Queue, 'body'> &
    Pick<Operations, 'operate'> &
    SuppressDeps['store']
  readonly submission: Pick<Submission, 'resend'>
  readonly clock: Clock
}

export type Did = 'done' | 'skipped' | 'failed'

interface Act {
  readonly did: Did
  readonly error: string | null
}

const DONE: Act = { did: 'done', error: null }
const SKIPPED: Act = { did: 'skipped', error: null }

type One = (deps: ActDeps, job: JobRow, mail: EmailRow) => Promise<Act>

const order =
  (action: 'retry' | 'release'): One =>
  async ({ store, clock }, { reason }, { accountId, workspaceId, id }) => {
    const scope = { accountId, workspaceId, poolId: null, domain: null, emailId: id }
    const changed = await store.operate({ action, scope, to: null, reason, now: clock.now() })
    return changed > 0 ? DONE : SKIPPED
  }

const recordOf = (
  { store }: ActDeps,
  { accountId, workspaceId, id }: EmailRow,
): Promise<EmailRecord | null> => store.email({ accountId, workspaceId, mode: null }, id)

const ACTIONS: Readonly<Record<JobAction, One>> = {
  retry: order('retry'),
  release: order('release'),
  async cancel({ store, clock }, _, { accountId, workspaceId, id, status }) {
    if (status === 'canceled') return SKIPPED
    const result = await store.cancel({ accountId, workspaceId, mode: null }, id, clock.now())
    return result === 'done' ? DONE : SKIPPED
  },
  async resend(deps, job, mail) {
    const record = await recordOf(deps, mail)
    if (record === null) return SKIPPED
    const key = `${job.id}:${mail.id}`
    // under this key only this job sends: what is there already, a step that was cut off has sent
    await deps.submission.resend(
      { record, store: deps.store, to: null, toAnyone: false },
      {
        idempotency: { key, fingerprint: requestFingerprint('POST', 'job', '', key) },
        render: () => ({ status: 202, body: '' }),
      },
    )
    return DONE
  },
  async suppress(deps, { reason, id }, mail) {
    const record = await recordOf(deps, mail)
    if (record === null) return SKIPPED
    const bounced = record.recipients.filter(({ status }) => status === 'bounced')
    const list = listOfWorkspace({ id: mail.workspaceId, accountId: mail.accountId }, mail.mode)
    let added = 0
    for (const { address } of bounced.length > 0 ? bounced : record.recipients) {
      const made = await suppress(deps, list, { email: address, reason, sourceId: id })
      if (made.added) added++
    }
    return added > 0 ? DONE : SKIPPED
  },
}

/** Throws only what has nothing to do with this mail. */
export const actOn = async (deps: ActDeps, job: JobRow, mail: EmailRow): Promise<Act> => {
  try {
    return await ACTIONS[job.action](deps, job, mail)
  } catch (error) {
    // the lock of a step that was killed while it sent again unlocks by itself: the job waits for it
    const waits = ['service.unavailable', 'idempotency.in_progress']
    if (!(error instanceof Fault) || waits.includes(error.code)) throw error
    return { did: 'failed', error: error.options.reason ?? error.options.detail ?? error.code }
  }
}
