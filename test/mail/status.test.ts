import fc from 'fast-check'
import t from 'tap'
import {
  aggregate,
  emptyCounts,
  eventName,
  nextStatus,
  OBSERVATIONS,
  type Observation,
  STATUSES,
  type Status,
} from '../../src/mail/status.js'

const RANK: Record<Status, number> = {
  scheduled: -1,
  canceled: 9,
  queued: 0,
  sent: 1,
  deferred: 2,
  delivered: 3,
  bounced: 4,
}
const reports = OBSERVATIONS.filter((seen) => seen.startsWith('dsn-'))
const fold = (from: Status, seen: readonly Observation[]): Status =>
  seen.reduce((status, one) => nextStatus(status, one) ?? status, from)

t.test('reports in any order end in the same state', async () => {
  const start = fc.constantFrom<Status>('queued', 'sent', 'deferred')
  fc.assert(
    fc.property(
      start,
      fc
        .array(fc.constantFrom(...reports), { maxLength: 8 })
        .chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
      (from, [one, other]) => fold(from, one) === fold(from, other),
    ),
  )
})

t.test('reports only raise the rank; what is final stays', async (t) => {
  for (const from of STATUSES) {
    for (const seen of OBSERVATIONS) {
      const to = nextStatus(from, seen)
      if (to === null) continue
      if (seen.startsWith('dsn-')) t.ok(RANK[to] > RANK[from], `${from} ${seen} ${to}`)
      t.notOk(from === 'bounced' || from === 'canceled', `${from} is final, yet ${seen} moves it`)
      t.equal(nextStatus(to, seen) ?? to, to, `${seen} twice is ${seen} once`)
    }
  }
  t.equal(nextStatus('deferred', 'accepted'), 'sent', 'the one fall')
  t.equal(nextStatus('delivered', 'dsn-failed'), 'bounced')
  t.equal(nextStatus('scheduled', 'dsn-failed'), null)
})

t.test('the status of an email', async (t) => {
  const of = (counts: Partial<Record<Status, number>>) => aggregate({ ...emptyCounts(), ...counts })
  t.equal(of({ delivered: 2 }), 'delivered')
  t.equal(of({ delivered: 1, sent: 1 }), 'sent')
  t.equal(of({ sent: 1, queued: 1 }), 'queued')
  t.equal(of({ delivered: 1, deferred: 1 }), 'deferred')
  t.equal(of({ delivered: 49, bounced: 1 }), 'bounced')
  t.equal(of({ scheduled: 3 }), 'scheduled')
  t.equal(of({ canceled: 3 }), 'canceled')
  t.equal(eventName('deferred'), 'delivery_delayed')
  t.equal(eventName('sent'), 'sent')
})
