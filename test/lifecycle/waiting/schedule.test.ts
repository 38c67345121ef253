import t from 'tap'
import {
  cancelAnswer,
  isVisible,
  leaveSchedule,
  mayReschedule,
  rescheduled,
} from '../../../src/lifecycle/schedule.js'

const MAIL = { accountId: 'acc_1', workspaceId: 'ws_1', mode: 'live' } as const

t.test('who sees a mail', async (t) => {
  t.ok(isVisible(MAIL, MAIL))
  t.ok(isVisible({ ...MAIL, workspaceId: null, mode: null }, MAIL))
  t.notOk(isVisible({ accountId: 'acc_2', workspaceId: null, mode: null }, MAIL))
  t.notOk(isVisible({ ...MAIL, workspaceId: 'ws_2' }, MAIL))
  t.notOk(isVisible({ ...MAIL, mode: 'test' }, MAIL))
})

t.test('what is answered', async (t) => {
  const counts = [
    { scheduled: 0, canceled: 0 },
    { scheduled: 0, canceled: 1 },
    { scheduled: 1, canceled: 0 },
    { scheduled: 2, canceled: 1 },
  ]
  t.same(
    counts.map((one) => cancelAnswer(one, false)),
    ['not_scheduled', 'done', 'cancel', 'cancel'],
  )
  t.same(
    counts.map((one) => cancelAnswer(one, true)),
    ['not_scheduled', 'done', 'not_scheduled', 'not_scheduled'],
  )
  t.same(
    counts.map((one) => mayReschedule(one, false)),
    [false, false, true, true],
  )
  t.notOk(counts.some((one) => mayReschedule(one, true)))
})

t.test('what follows', async (t) => {
  const waits = { dueAt: 5, held: null, heldDue: null }
  const held = { dueAt: null, held: 'lot_1', heldDue: 5 }
  t.same(leaveSchedule(waits, 'due'), { ...waits, status: 'queued', queuedAt: 5 })
  t.same(leaveSchedule(held, 'due'), { ...held, status: 'queued', queuedAt: null })
  const canceled = { status: 'canceled', queuedAt: null, dueAt: null, held: null, heldDue: null }
  t.same(leaveSchedule(waits, 'canceled'), canceled)
  t.same(leaveSchedule(held, 'canceled'), canceled)
  t.same(rescheduled(waits, 9), { ...waits, dueAt: 9 })
  t.same(rescheduled(held, 9), { ...held, heldDue: 9 })
})
