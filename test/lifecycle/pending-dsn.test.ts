import t from 'tap'
import { dsnActionOf, isTold, type SenderWish, toldKey } from '../../src/lifecycle/pending-dsn.js'
import { OBSERVATIONS } from '../../src/mail/status.js'

const HOUR = 3_600_000
const SENT: SenderWish = { mailFrom: 'app@acme.test', notify: null, queuedAt: 0, senderDsn: true }
const of = (seen: (typeof OBSERVATIONS)[number], at = 0, detail = {}) => ({ seen, at, detail })

t.test('what a DSN says of each observation', async (t) => {
  const found = Object.fromEntries(OBSERVATIONS.map((seen) => [seen, dsnActionOf(of(seen))]))
  t.same(found, {
    due: null,
    canceled: null,
    accepted: null,
    postponed: 'delayed',
    rejected: 'failed',
    expired: 'failed',
    suppressed: 'failed',
    purged: null,
    discarded: null,
    moved: null,
    'dsn-delivered': 'delivered',
    'dsn-relayed': 'relayed',
    'dsn-expanded': 'expanded',
    'dsn-delayed': 'delayed',
    'dsn-failed': 'failed',
    complained: null,
    reported: null,
  })
  t.equal(dsnActionOf(of('accepted', 0, { reports: false })), 'relayed')
  t.equal(dsnActionOf(of('accepted', 0, { reports: true })), null)
  t.equal(dsnActionOf(of('rejected', 0, { reports: false })), 'failed')
  t.equal(dsnActionOf({ seen: 'accepted', at: 0, detail: null }), null)
})

t.test('who hears of it', async (t) => {
  const failed = of('rejected')
  t.ok(isTold('failed', failed, SENT))
  t.notOk(isTold('failed', failed, { ...SENT, senderDsn: false }))
  t.notOk(isTold('failed', failed, { ...SENT, mailFrom: null }), 'mail of the API')
  t.notOk(isTold('failed', failed, { ...SENT, mailFrom: '' }), 'a report')
})

t.test('a delay when it is long', async (t) => {
  const isLong = (at: number) => isTold('delayed', of('postponed', at), { ...SENT, queuedAt: HOUR })
  t.same([isLong(5 * HOUR - 1), isLong(5 * HOUR)], [false, true])
  t.ok(isTold('delayed', of('dsn-delayed', 1), SENT), 'one that others report is')
})

t.test('NOTIFY', async (t) => {
  const told = (notify: string | null) =>
    (['failed', 'delayed', 'delivered', 'relayed', 'expanded'] as const).filter((action) =>
      isTold(action, of('dsn-failed'), { ...SENT, notify }),
    )
  t.same(told(null), ['failed', 'delayed'])
  t.same(told('NEVER'), [])
  t.same(told('failure'), ['failed'])
  t.same(told('DELAY'), ['delayed'])
  t.same(told('Success'), ['delivered', 'relayed', 'expanded'])
  t.same(told('SUCCESS,FAILURE'), ['failed', 'delivered', 'relayed', 'expanded'])
})

t.test('once for each recipient and action', async (t) => {
  t.equal(toldKey('rcpt_1', 'failed'), 'sender-dsn:rcpt_1:failed', 'as stored ones are')
})
