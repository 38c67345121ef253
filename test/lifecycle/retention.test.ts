import t from 'tap'
import { expiry, isAged, isOpen, isOverdue, logFloor } from '../../src/lifecycle/schedule.js'
import { emptyCounts, STATUSES } from '../../src/mail/status.js'

t.test('what is old goes, and never what is under way', async (t) => {
  const open = STATUSES.filter((status) => isOpen({ ...emptyCounts(), [status]: 1 }))
  t.same(open, ['scheduled', 'queued', 'deferred'])
  const aged = (createdAt: number, isOpen: boolean) => isAged({ createdAt, isOpen }, 10)
  t.same([aged(9, false), aged(10, false), aged(9, true)], [true, false, false])
})

t.test('deadlines', async (t) => {
  t.same(
    [null, 9, 10, 11].map((deadline) => isOverdue(deadline, 10)),
    [false, true, true, false],
  )
  t.match(expiry('rcpt_1', 10), {
    ...{ recipientId: 'rcpt_1', seen: 'expired', at: 10, source: 'system', reason: 'lifetime' },
    reply: { code: 550, enhanced: '4.4.7' },
  })
})

t.test('the log is kept from what was stored last, when the clock has run ahead', async (t) => {
  t.equal(logFloor(100, 90, 30), 60)
  t.equal(logFloor(100, 110, 30), 70)
})
