/** What a lease allows, and what a dead boot leaves. */
import t from 'tap'
import { attempting, freed, hasRunOut, isLeasedTo, leased, recovered } from '../../../src/lifecycle/lease.js'
import type { RecipientState } from '../../../src/lifecycle/recipient.js'

const NOW = 1_000
const DUE: RecipientState = {
  status: 'deferred',
  attempts: 2,
  dueAt: 900,
  boot: null,
  leaseGen: 4,
  attempting: null,
  held: null,
  deadline: null,
  lastResponse: '451',
  reason: 'full',
}
const LEASED: RecipientState = { ...DUE, dueAt: null, boot: 7, leaseGen: 5 }
const PAST: RecipientState = { ...LEASED, attempting: 3 }

t.test('leased, and begun', async (t) => {
  t.same(leased(DUE, 7), LEASED)
  t.throws(() => leased(LEASED, 8), /due/)
  t.throws(() => leased({ ...DUE, status: 'scheduled' }, 8), /queued/)
  t.same(attempting(LEASED, 3), PAST)
  t.throws(() => attempting(DUE, 3), /attempts/)
  t.ok(isLeasedTo(LEASED, { leaseGen: 5 }, 7))
  t.notOk(isLeasedTo(LEASED, { leaseGen: 4 }, 7))
  t.notOk(isLeasedTo(LEASED, { leaseGen: 5 }, 8))
  t.notOk(isLeasedTo({ ...DUE, leaseGen: 5 }, { leaseGen: 5 }, 7))
})

t.test('time ends a lease that was not used', async (t) => {
  t.ok(hasRunOut(LEASED, NOW, NOW))
  t.notOk(hasRunOut(LEASED, NOW + 1, NOW))
  t.notOk(hasRunOut(PAST, NOW, NOW), 'its message may be past the dot')
  t.notOk(hasRunOut(DUE, NOW, NOW))
})

t.test('freed', async (t) => {
  t.same(freed(LEASED, NOW), { ...DUE, dueAt: NOW, leaseGen: 6 })
  t.same(freed({ ...PAST, status: 'queued' }, NOW), { ...DUE, status: 'queued', dueAt: NOW, leaseGen: 6 })
  const over = { ...DUE, status: 'delivered', dueAt: null, leaseGen: 6 }
  t.same(freed({ ...PAST, status: 'delivered' }, NOW), over, 'nothing is sent that has arrived')
})

t.test('recovered', async (t) => {
  const free = { ...DUE, dueAt: NOW, leaseGen: 6 }
  t.same(recovered(LEASED, 'hold', NOW), { recipient: free, ambiguous: null }, 'it had not begun')
  t.same(recovered(PAST, 'retry', NOW), { recipient: { ...free, attempts: 3 }, ambiguous: 3 })
  t.same(recovered({ ...PAST, attempts: 5 }, 'retry', NOW).recipient.attempts, 5, 'attempts never fall')
  t.same(recovered(PAST, 'hold', NOW), {
    recipient: { ...free, attempts: 3, dueAt: null, held: 'ambiguous', reason: 'ambiguous' },
    ambiguous: 3,
  })
  const told = recovered({ ...PAST, status: 'sent' }, 'hold', NOW)
  t.match(told, { ambiguous: null, recipient: { status: 'sent', dueAt: null, held: null, attempts: 2 } })
  t.throws(() => recovered(DUE, 'retry', NOW), /leased/)
})
