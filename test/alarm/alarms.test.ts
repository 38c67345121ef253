/** Alarms over a real log: each crossing told once, over restarts and with two that follow at a time. */
import t from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { createReader } from '../../src/followers/reader.js'
import type { Mode } from '../../src/lifecycle/page.js'
import type { WorkspaceRow } from '../../src/store/port/tenants.js'
import { eventually } from '../parts/eventually.js'
import { openStoreIn } from '../parts/store.js'
import {
  accepted,
  addWorkspace,
  follow,
  HOUR,
  newAccount,
  ofLease,
  outcome,
  page,
  type TestAccount,
  toOne,
} from '../store/fixture.js'

const store = await openStoreIn(t.testdir())
await store.open()
await store.migrate()
t.teardown(() => store.close())
const first = await newAccount(store)

const lines: string[] = []
const note = (_: unknown, line?: string) => void lines.push(line ?? '')
const begin = async () => {
  const service = createReader({ store, clock: systemClock, log: { info: note, warn: note, error: note } })
  await service.start()
  return service
}

/** So many recipients in one mail, each with the same end. */
const send = async (
  at: TestAccount,
  n: number,
  end: Parameters<typeof ofLease>[1],
  mode: Mode = 'live',
): Promise<readonly string[]> => {
  const createdAt = systemClock.now()
  const recipients = Array.from({ length: n }, (_, i) => toOne(`r${i}@example.com`))
  await accepted(store, at, { mode, recipients, createdAt })
  const leases = await store.claim(at.poolId, n, createdAt + HOUR, createdAt)
  await store.settle(leases.map((one) => ofLease(one, { at: createdAt, ...end })))
  return leases.map(({ recipientId }) => recipientId)
}
const HARD = {
  seen: 'rejected',
  reply: { code: 550, enhanced: '5.1.1', text: 'no such user' },
  reason: 'unknown_user',
  detail: { stage: 'rcpt', class: 'hard', fault: 'recipient' },
} as const
const later = (text: string) =>
  ({
    seen: 'postponed',
    reply: { code: 451, enhanced: null, text },
    reason: 'unknown',
    detail: { stage: 'rcpt' },
    retryAt: systemClock.now() + HOUR,
  }) as const

const alarms = async (at: TestAccount) => {
  const { rows } = await store.log(
    {
      accountId: at.accountId,
      workspaceId: at.workspace.id,
      accountWide: false,
      mode: null,
      types: ['workspace.rate_alarm'],
      emailId: null,
      recipient: null,
      change: null,
      createdAfter: null,
      createdBefore: null,
    },
    page({ limit: 50 }),
  )
  return rows
}
/** All that is in the log by now is counted. */
const counted = async () => {
  const { newest } = await store.logEnds()
  await eventually('all is counted', async () => {
    const { alarms: mark } = await store.readPlaces()
    return mark !== null && (await follow(store, null, mark, 1)) !== 'gone' && (await isPast(mark, newest))
  })
}
const isPast = async (mark: string, wanted: string): Promise<boolean> => {
  if (mark === wanted) return true
  const left = await follow(store, null, mark, 1_000)
  return left !== 'gone' && left.rows.length === 0
}
const workspace = (slug: string, change: Partial<WorkspaceRow> = {}) =>
  addWorkspace(store, first, slug, change)

t.test('hard bounces: one alarm, then silence; the neighbour hears nothing', async (t) => {
  const service = await begin()
  await eventually('it follows', async () => (await store.readPlaces()).alarms)
  const at = await workspace('hard')
  const beside = await workspace('beside')
  await send(beside, 30, {})
  await send(at, 60, {})
  await send(at, 19, HARD)
  await counted()
  t.same(await alarms(at), [], '19 are too few, whatever their share')
  await send(at, 1, HARD)
  const found = await eventually('an alarm', async () => {
    const rows = await alarms(at)
    return rows.length > 0 && rows
  })
  t.match(found, [{ data: { alarm: 'hard_bounces', count: 20, tried: 80, rate: 0.25, hold_id: null } }])
  t.same(found[0]?.data?.cause, {
    reason: 'unknown_user',
    title: 'No such mailbox',
    count: 20,
    of: 20,
    domain: 'example.com',
  })
  await send(at, 20, HARD)
  await counted()
  t.equal((await alarms(at)).length, 1)
  t.same(await alarms(beside), [])
  t.match(lines, ['alarm raised'])
  await service.stop()
})

t.test('deferrals: greylisting is none', async (t) => {
  const service = await begin()
  const at = await workspace('deferred')
  await send(at, 80, later('Greylisted, please come back later'))
  await send(at, 49, later('too busy'))
  await counted()
  t.same(await alarms(at), [])
  await send(at, 1, later('too busy'))
  await eventually('an alarm', async () => (await alarms(at)).length === 1)
  const cause = { reason: 'unknown', title: 'No reason that we know', count: 50, of: 50 }
  t.match(await alarms(at), [{ data: { alarm: 'deferrals', count: 50, tried: 130, cause } }])
  await service.stop()
})

t.test('complaints', async (t) => {
  const service = await begin()
  const at = await workspace('complained')
  const ids = await send(at, 60, {})
  const complaint = (id: string) =>
    outcome(id, { seen: 'complained', source: 'arf', at: systemClock.now(), reason: 'abuse' })
  await store.settle(ids.slice(0, 4).map(complaint))
  await counted()
  t.same(await alarms(at), [])
  await store.settle(ids.slice(4, 5).map(complaint))
  await eventually('an alarm', async () => (await alarms(at)).length === 1)
  const cause = { reason: 'abuse', title: 'Called spam', count: 5, of: 5 }
  t.match(await alarms(at), [{ data: { alarm: 'complaints', count: 5, tried: 60, cause } }])
  await service.stop()
})

t.test('a flood in test mode alarms nobody', async (t) => {
  const service = await begin()
  const at = await workspace('testing', { onAlarm: 'hold' })
  await send(at, 200, HARD, 'test')
  await counted()
  t.same(await alarms(at), [])
  t.match(await store.workspace(at.accountId, at.workspace.id), { alarmed: {} })
  await service.stop()
})

t.test('counted exactly once: stopped and started in the middle, and two at a time', async (t) => {
  const at = await workspace('exact', { alarms: { hard_bounces: { rate: 0.0001, atLeast: 500 } } })
  for (let n = 0; n < 10; n++) {
    const services = [await begin(), await begin()]
    await send(at, 49, HARD)
    for (const service of services) await service.stop()
  }
  const service = await begin()
  await send(at, 9, HARD)
  await counted()
  t.same(await alarms(at), [], '499')
  await send(at, 1, HARD)
  await eventually('an alarm', async () => (await alarms(at)).length > 0)
  t.match(await alarms(at), [{ data: { count: 500, tried: 500 } }])
  await service.stop()
  const again = await begin()
  await send(at, 1, HARD)
  await counted()
  t.equal((await alarms(at)).length, 1, 'after a restart, too')
  await again.stop()
})

t.test('what happened while nobody followed is judged when somebody does', async (t) => {
  const at = await workspace('late', { onAlarm: 'hold' })
  await send(at, 40, HARD)
  const service = await begin()
  await eventually('an alarm', async () => (await alarms(at)).length > 0)
  const holds = (await store.holds(at.accountId)).filter(({ workspaceId }) => workspaceId === at.workspace.id)
  t.match(holds, [
    {
      reason:
        'alarm: 40 of 40 recipients bounced hard within an hour (100 %), mostly: No such mailbox (40 of 40), most at example.com',
    },
  ])
  await service.stop()
})
