/** How a mail begins. */
import t from 'tap'
import { firstCounts, firstState, firstStatus } from '../../../src/lifecycle/accept.js'
import { movedCounts, statusAfter, sumOf } from '../../../src/lifecycle/settle.js'
import { emptyCounts } from '../../../src/mail/status.js'

const ok = { suppressed: false }
const not = { suppressed: true }

t.test('statuses and counts', async (t) => {
  t.equal(firstStatus(ok, null), 'queued')
  t.equal(firstStatus(ok, 0), 'scheduled')
  t.equal(firstStatus(not, null), 'bounced')
  t.equal(firstStatus(not, 5), 'bounced')
  t.same(firstCounts([ok, not, ok], null), { ...emptyCounts(), queued: 2, bounced: 1 })
  t.same(firstCounts([ok, not], 5), { ...emptyCounts(), scheduled: 1, bounced: 1 })
})

t.test('states', async (t) => {
  const fresh = { attempts: 0, attempting: null, held: null, deadline: null, lastResponse: null }
  t.same(firstState('queued', 5, null), {
    ...{ ...fresh, status: 'queued', dueAt: 5, boot: null, leaseGen: 0, reason: null },
  })
  t.same(firstState('queued', 5, 7), {
    ...{ ...fresh, status: 'queued', dueAt: null, boot: 7, leaseGen: 1, reason: null },
  })
  t.same(firstState('scheduled', 5, null), {
    ...{ ...fresh, status: 'scheduled', dueAt: 5, boot: null, leaseGen: 0, reason: null },
  })
  t.same(firstState('bounced', 5, null), {
    ...{ ...fresh, status: 'bounced', dueAt: null, boot: null, leaseGen: 0, reason: 'suppressed' },
  })
  t.throws(() => firstState('bounced', 5, 7), /leased/)
})

t.test('counts move together with the status of the mail', async (t) => {
  const counts = { ...emptyCounts(), queued: 2, sent: 1 }
  t.same(movedCounts(counts, 'queued', 'sent'), { ...emptyCounts(), queued: 1, sent: 2 })
  t.same(movedCounts(counts, 'queued', 'queued'), counts)
  t.throws(() => movedCounts(counts, 'deferred', 'sent'), /nobody is deferred/)
  t.equal(sumOf(counts), 3)
  t.equal(statusAfter({ status: 'queued', total: 3, counts }, 'queued', 'deferred'), 'deferred')
  t.equal(statusAfter({ status: 'delivered', total: 3, counts }, 'sent', 'sent'), 'delivered')
  t.equal(statusAfter({ status: 'queued', total: 1, counts: null }, 'queued', 'sent'), 'sent')
})
