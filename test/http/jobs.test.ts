/** Many mails at once: counted, frozen, carried out once each, ended, and told of. */
import t from 'tap'
import { Fault } from '../../src/base/fault.js'
import { newId } from '../../src/base/id.js'
import { silentLog } from '../../src/base/log.js'
import { requestFingerprint } from '../../src/submission/idempotency.js'
import { Count, createJobRunner, Pace, type RunnerParts, stepOf } from '../../src/submission/job-runner.js'
import { eventually } from '../parts/eventually.js'
import { indexMails, outcome } from '../store/fixture.js'
import { fieldsOf, MAIL, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())
const parts: RunnerParts = {
  store: kit.store,
  submission: kit.submission,
  clock: kit.clock,
  log: silentLog(),
}
const everywhere = { accountId: kit.accountId, workspaceId: null, mode: null }

const send = async (over: object = {}): Promise<string> =>
  (await kit.ask('/v1/emails', { body: { ...MAIL, ...over } })).json.id
const index = async (): Promise<void> => {
  while ((await indexMails(kit.store, 100)) > 0) {}
}
const bulk = (body: object, key = kit.session) => kit.ask('/v1/emails/bulk', { body, key })
const jobOf = async (id: string) => (await kit.ask(`/v1/jobs/${id}`, { key: kit.session })).json

/** As the daemon does it, to the end. */
const carryOut = async (): Promise<void> => {
  const runner = createJobRunner(parts)
  await runner.start()
  await eventually('no job runs', async () => (await kit.store.runningJobs()).length === 0)
  await runner.stop()
}
const bounce = async (id: string): Promise<void> => {
  const record = await kit.store.email(everywhere, id)
  await kit.store.settle(
    (record?.recipients ?? []).map((one) => outcome(one.id, { seen: 'rejected', at: kit.clock.now() })),
  )
}

t.test('a job that waits for a lock keeps no other waiting', async (t) => {
  const [locked, other] = [await send({ subject: 'Locked one' }), await send({ subject: 'Other one' })]
  for (const id of [locked, other]) await bounce(id)
  await index()
  const order = { action: 'resend', reason: 'again' }
  const waits = (await bulk({ ...order, q: 'other' })).json.id
  const goes = (await bulk({ ...order, q: 'locked' })).json.id
  let isLocked = true
  const resend: RunnerParts['submission']['resend'] = (wish, how) => {
    if (isLocked && wish.record.id === other) throw new Fault('idempotency.in_progress')
    return kit.submission.resend(wish, how)
  }
  const runner = createJobRunner({ ...parts, submission: { resend } })
  await runner.start()
  await eventually('the other job ends', async () => (await jobOf(goes)).state === 'done')
  t.match(await jobOf(waits), { state: 'running', done: 0 })
  isLocked = false
  kit.clock.advance(5_000)
  await eventually('then this one', async () => (await jobOf(waits)).state === 'done')
  await runner.stop()
})

t.test('scheduled mail is taken back, and nothing that comes later', async (t) => {
  const at = new Date(kit.clock.now() + 3_600_000).toISOString()
  const ids = [await send({ subject: 'Campaign one', scheduled_at: at })]
  for (let i = 0; i < 30; i++) ids.push(await send({ subject: `Campaign ${i}`, scheduled_at: at }))
  const other = await send({ subject: 'Else', scheduled_at: at })
  await index()
  const order = { action: 'cancel', q: 'campaign', reason: 'wrong price' }
  t.match(await bulk({ ...order, dry_run: true }), {
    status: 200,
    json: { object: 'job_preview', matched: 31 },
  })
  const made = await bulk(order)
  t.equal(made.status, 202)
  t.match(made.json, { action: 'cancel', matched: 31, state: 'running', done: 0, q: 'campaign' })
  t.equal(made.headers.get('location'), `/v1/jobs/${made.json.id}`)
  const late = await send({ subject: 'Campaign late', scheduled_at: at })
  await index()
  await carryOut()
  t.match(await jobOf(made.json.id), { state: 'done', done: 31, skipped: 0, failed: 0, last_error: null })
  const statusOf = async (id: string) => (await kit.ask(`/v1/emails/${id}`)).json.status
  for (const id of ids) t.equal(await statusOf(id), 'canceled')
  for (const id of [other, late]) t.equal(await statusOf(id), 'scheduled')
})

t.test('what bounced goes once more, once, whatever is cut off', async (t) => {
  const ids = [await send({ subject: 'Bill 1' }), await send({ subject: 'Bill 2' })]
  for (const id of ids) await bounce(id)
  await index()
  const { json } = await bulk({ action: 'resend', q: 'bill status:bounced', reason: 'again' }, kit.key)
  t.equal(json.matched, 2)
  const [job] = await kit.store.runningJobs()
  t.ok(job)
  if (job === undefined) return
  // killed after the mails were sent, and before that was stored
  const forgets = { ...kit.store, advanceJob: async () => Promise.reject(new Error('killed')) }
  await t.rejects(stepOf({ ...parts, store: forgets }, job))
  await carryOut()
  t.match(await jobOf(job.id), { state: 'done', done: 2, skipped: 0 })
  await index()
  const again = await kit.ask('/v1/emails?q=bill+is:resent')
  t.same(again.json.data.map((mail: { resent_from: string }) => mail.resent_from).sort(), [...ids].sort())
})

t.test('addresses are suppressed; what cannot be done is counted', async (t) => {
  const id = await send({ subject: 'Nobody there', to: ['gone@example.com'] })
  await bounce(id)
  await send({ subject: 'Nobody there yet', to: ['waits@example.com'] })
  await index()
  await bulk({ action: 'suppress', q: '"nobody there"', status: 'bounced', reason: 'left' })
  await carryOut()
  const listed = await kit.ask('/v1/suppressions')
  t.match(listed.json.data, [{ email: 'gone@example.com', reason: 'left' }])
  const { json } = await bulk({ action: 'resend', q: '"nobody there yet"', reason: 'x' })
  await carryOut()
  t.match(await jobOf(json.id), { state: 'done', failed: 1, last_error: /under_way/ })
})

t.test('a job waits for the lock that a killed process has left', async (t) => {
  const id = await send({ subject: 'Locked bill' })
  await bounce(id)
  await index()
  const { json } = await bulk({ action: 'resend', q: '"locked bill"', reason: 'again' }, kit.key)
  const job = (await kit.store.runningJobs()).find((one) => one.id === json.id)
  t.ok(job)
  if (job === undefined) return
  const key = `${job.id}:${id}`
  const now = kit.clock.now()
  await kit.store.claimKey({
    ...{ workspaceId: kit.workspaceId, mode: 'live', key, token: 'of the killed one', now },
    fingerprint: requestFingerprint('POST', 'job', '', key),
    lockedUntil: now + 60_000,
  })
  await t.rejects(stepOf(parts, job), { code: 'idempotency.in_progress' })
  kit.clock.advance(60_001)
  await carryOut()
  t.match(await jobOf(job.id), { state: 'done', done: 1, failed: 0 })
})

t.test('what a step did while the job was canceled is counted', async (t) => {
  const at = new Date(kit.clock.now() + 3_600_000).toISOString()
  for (let i = 0; i < 3; i++) await send({ subject: `Halfway ${i}`, scheduled_at: at })
  await index()
  const { json } = await bulk({ action: 'cancel', q: 'halfway', reason: 'x' }, kit.key)
  const job = (await kit.store.runningJobs()).find(({ id }) => id === json.id)
  t.ok(job)
  if (job === undefined) return
  const cancelsFirst = {
    ...kit.store,
    advanceJob: async (...args: Parameters<typeof kit.store.advanceJob>) => {
      await kit.ask(`/v1/jobs/${json.id}/cancel`, { method: 'POST', key: kit.key })
      return kit.store.advanceJob(...args)
    },
  }
  await stepOf({ ...parts, store: cancelsFirst }, job)
  t.match(await jobOf(json.id), { state: 'canceled', done: 3, skipped: 0 })
})

t.test('a job is ended, and tells whose it is', async (t) => {
  await index()
  const { json } = await bulk({ action: 'retry', all: true, reason: 'x' }, kit.key)
  t.equal(json.workspace_id, kit.workspaceId)
  const ended = await kit.ask(`/v1/jobs/${json.id}/cancel`, { method: 'POST', key: kit.key })
  t.match(ended, { status: 200, json: { state: 'canceled', done: 0 } })
  await carryOut()
  t.match(await jobOf(json.id), { state: 'canceled', done: 0 })
  t.equal((await kit.ask('/v1/jobs', { key: kit.platform })).json.data[0].id, json.id)
  t.equal((await kit.ask('/v1/jobs/job_01k9f3r0tz8x4w2v0s8q6n4m2m', { key: kit.session })).status, 404)
  const audit = await kit.store.audit(
    kit.accountId,
    { action: 'job', actorId: null, objectId: json.id, workspaceId: null, since: null, until: null },
    { limit: 10, direction: 'older', anchor: null, countUpTo: 0 },
  )
  t.same(
    audit.rows.map(({ action }) => action),
    ['job.canceled', 'job.created'],
  )
})

t.test('refusals', async (t) => {
  const fields = async (body: object, key?: string) => fieldsOf(await bulk(body, key))
  t.same(await fields({ action: 'retry', reason: 'x' }), ['body.q missing'])
  t.same(await fields({ action: 'retry', q: 'form:x', reason: 'x' }), ['body.q unsupported'])
  t.same(await fields({ action: 'retry', q: 'a' }), ['body.reason missing'])
  t.same(await fields({ action: 'explode', q: 'a', reason: 'x' }), ['body.action unsupported'])
  t.equal((await bulk({ action: 'release', q: 'a', reason: 'x' }, kit.key)).status, 403)
  const { secret: test } = await kit.tenants.createKey(kit.accountId, { name: 't', mode: 'test' })
  t.equal((await bulk({ action: 'retry', q: 'a', reason: 'x' }, test)).status, 403)
})

t.test('a job tells how fast it is, how long it takes, and who made it', async (t) => {
  const at = new Date(kit.clock.now() + 3_600_000).toISOString()
  for (let i = 0; i < 60; i++) await send({ subject: `Quick ${i}`, scheduled_at: at })
  await index()
  const { json } = await bulk({ action: 'cancel', q: 'quick', reason: 'x' }, kit.key)
  const { row } = (await kit.tenants.createKey(kit.accountId, { name: 'not it' })) as { row: { id: string } }
  t.match(json, { matched: 60, per_second: null, seconds_left: null, created_by: /^key_/ })
  t.type(json.created_by_name, 'string')
  t.not(json.created_by, row.id)
  const job = (await kit.store.runningJobs()).find(({ id }) => id === json.id)
  t.ok(job)
  if (job === undefined) return
  kit.clock.advance(5_000)
  t.ok(await stepOf(parts, job))
  const { done, per_second, seconds_left } = await jobOf(job.id)
  t.equal(done, 25)
  t.ok(per_second > 0 && per_second <= 5, `${per_second}`)
  t.equal(seconds_left, Math.ceil(35 / per_second))
  await carryOut()
  t.match(await jobOf(job.id), { state: 'done', done: 60, matched: 60, seconds_left: null })
})

t.test('a number that was not counted to its end is "at least", until it is known', async (t) => {
  const at = new Date(kit.clock.now() + 3_600_000).toISOString()
  for (let i = 0; i < 60; i++) await send({ subject: `Many ${i}`, scheduled_at: at })
  await index()
  const { json } = await bulk({ action: 'cancel', q: 'many', reason: 'x' })
  const [job] = (await kit.store.runningJobs()).filter(({ id }) => id === json.id)
  t.ok(job)
  if (job === undefined) return
  const capped = { ...job, id: newId('job', kit.clock.now()), matched: 10, isCapped: true }
  await kit.store.cancelJob(kit.accountId, job.id, kit.clock.now())
  await kit.store.addJob(capped)
  t.match(await jobOf(capped.id), { matched: { at_least: 10 }, seconds_left: null })
  t.ok(await stepOf(parts, capped))
  t.match(await jobOf(capped.id), { matched: { at_least: 25 }, done: 25 }, 'never less than it has met')
  const [later] = (await kit.store.runningJobs()).filter(({ id }) => id === capped.id)
  t.ok(later)
  if (later === undefined) return
  t.ok(await stepOf(parts, later, { count: new Count(later) }))
  t.match(await jobOf(capped.id), { matched: 60, done: 50, seconds_left: Number })
  await carryOut()
  t.match(await jobOf(capped.id), { state: 'done', matched: 60, done: 60 })
})

t.test('a step has more mails while it is short, and less when it is long', (t) => {
  const pace = new Pace()
  t.equal(pace.size, 25)
  pace.took(5, 10)
  t.equal(pace.size, 25, 'a step that was not full says nothing')
  for (let i = 0; i < 10; i++) pace.took(5, pace.size)
  t.equal(pace.size, 400)
  pace.took(50, 400)
  t.equal(pace.size, 400)
  pace.took(200, 400)
  t.equal(pace.size, 200)
  t.end()
})
