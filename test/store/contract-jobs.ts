/** contract-jobs - what is done to many mails at once: place and counts move together */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { JobRow, JobStep } from '../../src/store/port/mail.js'
import type { Store } from '../../src/store/port/store.js'
import { addWorkspace, newAccount, page, T0, type TestAccount } from './fixture.js'

export const jobOf = (at: TestAccount, over: Partial<JobRow> = {}): JobRow => ({
  id: newId('job'),
  accountId: at.accountId,
  workspaceId: at.workspace.id,
  action: 'cancel',
  reason: 'x',
  filter: {
    ...{ workspaceId: at.workspace.id, mode: null, status: null, to: null, tag: null },
    ...{
      createdAfter: null,
      createdBefore: null,
      query: { terms: [], from: null, before: null },
      subjects: true,
    },
  },
  ...{ q: null, matched: 3, isCapped: false, state: 'running', place: 'a' },
  ...{ done: 0, skipped: 0, failed: 0, lastError: null, createdBy: 'tests', createdByName: null },
  ...{ createdAt: T0, updatedAt: T0, finishedAt: null },
  ...over,
})

const stepTo = (place: string, over: Partial<JobStep> = {}): JobStep => ({
  ...{ place, done: 1, skipped: 0, failed: 0, lastError: null, isLast: false, now: T0 + 1 },
  ...over,
})

export const jobsContract = async (t: Test, store: Store): Promise<void> => {
  await t.test('a step counts once, from where the job stands', async (t) => {
    const at = await newAccount(store)
    const job = jobOf(at)
    await store.addJob(job)
    t.same(await store.job(at.accountId, job.id), job)
    t.equal(await store.job((await newAccount(store)).accountId, job.id), null, 'nobody else has it')
    t.ok((await store.runningJobs()).some(({ id }) => id === job.id))
    t.equal(await store.advanceJob(job.id, 'a', stepTo('b', { failed: 1, lastError: 'no' })), true)
    t.equal(await store.advanceJob(job.id, 'a', stepTo('b')), false, 'the same step again')
    t.equal(await store.advanceJob(job.id, 'b', stepTo('c', { skipped: 2, isLast: true })), true)
    t.match(await store.job(at.accountId, job.id), {
      ...{ state: 'done', place: 'c', done: 2, skipped: 2, failed: 1, lastError: 'no', finishedAt: T0 + 1 },
    })
    t.equal(await store.advanceJob(job.id, 'c', stepTo('d')), false, 'it is over')
    t.equal(await store.cancelJob(at.accountId, job.id, T0), false)
    t.notOk((await store.runningJobs()).some(({ id }) => id === job.id))
  })

  await t.test('a step that was under way when it was canceled counts', async (t) => {
    const at = await newAccount(store)
    const job = jobOf(at)
    await store.addJob(job)
    t.equal(await store.cancelJob((await newAccount(store)).accountId, job.id, T0), false)
    t.equal(await store.cancelJob(at.accountId, job.id, T0 + 5), true)
    t.equal(await store.advanceJob(job.id, 'a', stepTo('b', { isLast: true })), true)
    t.match(await store.job(at.accountId, job.id), { state: 'canceled', done: 1, finishedAt: T0 + 5 })
  })

  await t.test('lists, newest first', async (t) => {
    const at = await newAccount(store)
    const other = await addWorkspace(store, at, 'other')
    const [a, b] = [jobOf(at), jobOf(other)]
    for (const job of [a, b]) await store.addJob(job)
    const ids = async (workspaceId: string | null) =>
      (await store.jobs(at.accountId, page(), workspaceId)).rows.map(({ id }) => id)
    t.same(await ids(null), [b.id, a.id])
    t.same(await ids(other.workspace.id), [b.id])
  })
}
