/** Rules of jobs, posts, bounces, carried mail and alarms, each by itself. */
import t from 'tap'
import type { Outcome } from '../../../src/lifecycle/facts.js'
import { freshWorkspace } from '../../../src/store/pools.js'
import type { Alarm } from '../../../src/store/port/alarms.js'
import type { EndpointState } from '../../../src/store/port/hooks.js'
import type { JobRow, JobStep } from '../../../src/store/port/mail.js'
import { advanced, canceled, comesBack, mayLeave } from '../../../src/store/rules/operations.js'
import { afresh, isLost, isReplayed } from '../../../src/store/rules/tenants.js'
import { isTooMuch, judgeWorkspace, softLimitOf } from '../../../src/store/rules/watch.js'

const DAY = 86_400_000

t.test('a job goes on only from where it stands, and stays canceled', async (t) => {
  const job = {
    ...{ place: 'a', state: 'running', done: 1, skipped: 0, failed: 0, lastError: 'x', finishedAt: null },
  } as JobRow
  const step: JobStep = { place: 'b', done: 2, skipped: 1, failed: 0, lastError: null, isLast: true, now: 9 }
  t.match(advanced(job, 'a', step), { place: 'b', state: 'done', done: 3, lastError: 'x', finishedAt: 9 })
  t.match(advanced(job, 'a', { ...step, isLast: false }), { state: 'running', finishedAt: null })
  t.equal(advanced(job, 'b', step), null)
  const ended = canceled(job, 5)
  t.match(ended, { state: 'canceled', finishedAt: 5 })
  t.match(advanced(ended as JobRow, 'a', step), { state: 'canceled', finishedAt: 5, done: 3 })
  t.equal(canceled(ended as JobRow, 6), null)
  t.equal(advanced({ ...job, state: 'done' }, 'a', step), null)
})

t.test('an endpoint that is enabled again', async (t) => {
  const state = {
    generation: 3,
    mark: 'm',
    health: 'failing',
    failures: 4,
    told: 2,
    givenUp: 7,
  } as EndpointState
  t.match(afresh(state, null), {
    generation: 4,
    mark: 'm',
    health: 'healthy',
    failures: 0,
    told: 0,
    givenUp: 7,
  })
  t.equal(afresh(state, 'n').mark, 'n')
  t.equal(isReplayed({ kind: 'replay', state: 'waiting' }), true)
  t.equal(isReplayed({ kind: 'replay', state: 'failed' }), false)
  const lost = { kind: 'event', state: 'failed', eventAt: 5 } as const
  t.same([isLost(lost, 5, 5), isLost(lost, 6, 9), isLost(lost, null, 4)], [true, false, false])
})

t.test('soft bounces: so many of a kind with a limit, over so long', async (t) => {
  const outcome = { reason: 'mailbox_full', detail: { class: 'soft' } } as unknown as Outcome
  const limit = { bounces: 2, days: 3 }
  t.same(softLimitOf(outcome, { mailbox_full: limit }), limit)
  t.equal(softLimitOf({ ...outcome, detail: { class: 'hard' } }, { mailbox_full: limit }), null)
  t.equal(softLimitOf({ ...outcome, reason: null }, { mailbox_full: limit }), null)
  t.equal(isTooMuch(limit, { bounces: 2, first: 0 }, 3 * DAY), true)
  t.equal(isTooMuch(limit, { bounces: 1, first: 0 }, 3 * DAY), false)
  t.equal(isTooMuch(limit, { bounces: 2, first: 1 }, 3 * DAY), false)
})

t.test('mail leaves whole, and comes back when all of it had left', async (t) => {
  t.equal(
    mayLeave(
      [
        { isLeased: false, held: null },
        { isLeased: false, held: 'lot_1' },
      ],
      'lot_1',
    ),
    true,
  )
  t.equal(mayLeave([{ isLeased: true, held: null }], 'lot_1'), false)
  t.equal(mayLeave([{ isLeased: false, held: 'hold_1' }], 'lot_1'), false)
  const carried = [
    { id: 'a', held: 'exported' },
    { id: 'b', held: null },
  ]
  const forgotten = { status: 'canceled', held: null, reason: 'moved' }
  t.equal(
    comesBack(carried, () => forgotten),
    true,
  )
  t.equal(
    comesBack(carried, () => ({ ...forgotten, held: 'lot_1', status: 'queued' })),
    true,
  )
  t.equal(
    comesBack(carried, () => ({ ...forgotten, reason: null })),
    false,
  )
  t.equal(
    comesBack(carried, () => null),
    false,
  )
  t.equal(
    comesBack([{ id: 'b', held: null }], () => forgotten),
    false,
    'nothing of it is to be sent',
  )
})

t.test('alarms: one hold for those that are raised together, each told once', async (t) => {
  const facts = { name: 'x', slug: 'x', isDefault: true, poolId: 'p' }
  const row = { ...freshWorkspace('acct', 0, facts), onAlarm: 'hold' as const }
  const bad = { rateOf: (_: Alarm) => ({ count: 100, tried: 100 }), causeOf: () => null, holdId: null }
  const first = judgeWorkspace(row, bad, 5)
  t.equal(first.turns.length, 3)
  t.equal(first.turns.filter(({ hold }) => hold !== null).length, 1)
  const holdId = first.turns[0]?.hold?.id
  t.ok(first.notices.every(({ data }) => data?.hold_id === holdId))
  const again = judgeWorkspace({ ...row, alarmed: first.alarmed }, bad, 6)
  t.same([again.turns, again.notices], [[], []])
  const fewer = { ...bad, rateOf: (_: Alarm) => ({ count: 1, tried: 200 }) }
  const calm = judgeWorkspace({ ...row, alarmed: first.alarmed }, fewer, 7)
  t.same([calm.turns, calm.notices], [[], []], 'it stands for an hour more')
  t.match(calm.alarmed, { complaints: { since: 5, count: 1, tried: 200 } }, 'with the figures of now')
  const over = judgeWorkspace({ ...row, alarmed: calm.alarmed }, fewer, 5 + 3_600_000)
  t.same(over.alarmed, {})
  t.match(
    over.notices.map(({ type, data }) => [type, data?.alarm, data?.count, data?.seconds]),
    ['complaints', 'hard_bounces', 'deferrals'].map((a) => ['workspace.rate_alarm_ended', a, 1, 3_600]),
  )
  const off = { complaints: 'off', hard_bounces: 'off', deferrals: 'off' } as const
  t.equal(judgeWorkspace({ ...row, alarmed: first.alarmed, alarms: off }, bad, 6).notices.length, 3)
  const held = judgeWorkspace(row, { ...bad, holdId: 'hold_1' }, 5)
  t.ok(held.turns.every(({ hold }) => hold === null))
  t.equal(held.notices[0]?.data?.hold_id, 'hold_1')
})
