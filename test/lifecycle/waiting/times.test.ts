import fc from 'fast-check'
import t from 'tap'
import { adjustTimes, SEEN_WITHIN_MS, type Times } from '../../../src/lifecycle/schedule.js'
import { STATUSES } from '../../../src/mail/status.js'

const NOW = 1_000_000
const LONGEST = 8_000
const WAITS: Times = {
  status: 'deferred',
  isLeased: false,
  dueAt: NOW + 500,
  held: null,
  heldDue: null,
  heldAt: null,
  queuedAt: NOW - 9_000,
  leaseUntil: null,
  deadline: null,
  updatedAt: NOW - 9_000,
}
const time = fc.integer({ min: NOW - 50_000, max: NOW + 50_000 })
const maybe = fc.option(time)
const anyTimes: fc.Arbitrary<Times> = fc.record({
  status: fc.constantFrom(...STATUSES),
  isLeased: fc.boolean(),
  dueAt: maybe,
  held: fc.option(fc.constant('hold_1')),
  heldDue: maybe,
  heldAt: maybe,
  queuedAt: time,
  leaseUntil: maybe,
  deadline: maybe,
  updatedAt: time,
})
const by = fc.integer({ min: -40_000, max: 40_000 })

t.test('what is scheduled, final or out of the queue never moves', async () => {
  fc.assert(
    fc.property(anyTimes, by, (one, by) => {
      const isOut = one.dueAt === null && one.held === null && !one.isLeased && one.deadline === null
      fc.pre((one.status !== 'queued' && one.status !== 'deferred') || isOut)
      t.same(adjustTimes(one, { now: NOW, by, longestWait: LONGEST }), one)
    }),
    { numRuns: 50 },
  )
})

t.test('each reason to be in the queue is enough', async (t) => {
  const out = { ...WAITS, dueAt: null }
  for (const over of [{ dueAt: NOW }, { held: 'hold_1' }, { isLeased: true }, { deadline: NOW }]) {
    for (const status of ['queued', 'deferred'] as const) {
      const moved = adjustTimes({ ...out, status, ...over }, { now: NOW, by: -10, longestWait: LONGEST })
      t.equal(moved.queuedAt, WAITS.queuedAt - 10)
    }
  }
})

t.test('a step moves each time by as much', async (t) => {
  const one = { ...WAITS, heldDue: NOW + 1, heldAt: NOW - 1, leaseUntil: NOW + 2, deadline: NOW + 3 }
  const step = { now: NOW, by: -100, longestWait: LONGEST }
  t.same(adjustTimes(one, step), {
    ...one,
    dueAt: NOW + 400,
    heldDue: NOW - 99,
    heldAt: NOW - 101,
    leaseUntil: NOW - 98,
    deadline: NOW - 97,
    queuedAt: NOW - 9_100,
    updatedAt: NOW - 9_100,
  })
  const forth = adjustTimes(WAITS, { now: NOW + 4_000, by: 4_000, longestWait: LONGEST })
  t.same(adjustTimes(forth, { now: NOW, by: -4_000, longestWait: LONGEST }), WAITS, 'and back again')
})

t.test('what the new clock has written stays', async (t) => {
  const stays = (updatedAt: number): boolean =>
    adjustTimes({ ...WAITS, updatedAt }, { now: NOW, by: -7, longestWait: LONGEST }).dueAt === WAITS.dueAt
  t.same([NOW, NOW - SEEN_WITHIN_MS + 1, NOW - SEEN_WITHIN_MS, NOW + 1].map(stays), [
    true,
    true,
    false,
    false,
  ])
})

t.test('at a start', async (t) => {
  const start = { now: NOW, by: 0, longestWait: LONGEST }
  t.same(adjustTimes(WAITS, start), WAITS, 'a clock that is right moves nothing')
  t.equal(adjustTimes({ ...WAITS, dueAt: NOW + LONGEST + 1 }, start).dueAt, NOW + LONGEST)
  t.equal(adjustTimes({ ...WAITS, held: 'h', heldDue: NOW + LONGEST + 1 }, start).heldDue, NOW + LONGEST)
  const future = { ...WAITS, updatedAt: NOW + 5_000, queuedAt: NOW + 4_000, heldAt: NOW + 4_500 }
  t.match(adjustTimes({ ...future, dueAt: NOW + 5_070 }, start), {
    dueAt: NOW + 70,
    queuedAt: NOW,
    heldAt: NOW,
    updatedAt: NOW,
  })
  t.equal(adjustTimes({ ...WAITS, updatedAt: NOW, dueAt: NOW - 5 }, start).dueAt, NOW - 5, 'written just now')
  t.equal(adjustTimes({ ...future, dueAt: NOW + 4_000 }, start).dueAt, NOW, 'it was due when it was written')
  t.equal(adjustTimes({ ...future, dueAt: NOW + 60_000 }, start).dueAt, NOW + LONGEST)
})

t.test('then nothing waits too long, and nothing is from the future', async () => {
  fc.assert(
    fc.property(anyTimes, by, (one, by) => {
      fc.pre((one.status === 'queued' || one.status === 'deferred') && one.dueAt !== null)
      const after = adjustTimes(one, { now: NOW, by, longestWait: LONGEST })
      return (after.dueAt ?? 0) <= NOW + LONGEST && after.queuedAt <= NOW && after.updatedAt <= NOW
    }),
  )
})
