/** What of the log counts for alarms, and where. */
import t from 'tap'
import { tally } from '../../src/alarm/tally.js'
import { ALARM_SPAN_MS } from '../../src/store/port/alarms.js'
import type { LogRow } from '../../src/store/port/log.js'

const T0 = Date.UTC(2026, 10, 20, 10)
const HOUR = 3600_000

const row = (over: Partial<LogRow> = {}): LogRow => ({
  id: 'evt_1',
  mark: '1',
  type: 'email.sent',
  accountId: 'acct_1',
  workspaceId: 'ws_1',
  mode: 'live',
  change: true,
  begunHere: true,
  emailId: 'em_1',
  mail: {
    id: 'em_1',
    poolId: 'pool_1',
    from: 'a@acme.test',
    to: ['b@example.com'],
    subject: 'x',
    messageId: '<x@acme.test>',
    tags: [],
    createdAt: T0 - HOUR,
    scheduledAt: null,
  },
  data: null,
  recipientId: 'rcp_1',
  recipient: 'b@example.com',
  source: 'smtp',
  occurredAt: T0 + 1,
  createdAt: T0 + 1,
  reply: { code: 250, enhanced: null, text: 'Ok' },
  mta: null,
  attempt: 1,
  applied: true,
  reason: null,
  detail: null,
  ...over,
})
const deferred = (text: string, enhanced: string | null = null, over: Partial<LogRow> = {}): LogRow =>
  row({ type: 'email.deferred', reply: { code: 451, enhanced, text }, reason: 'unknown', ...over })
const bounced = (over: Partial<LogRow> = {}): LogRow =>
  row({ type: 'email.bounced', reason: 'unknown_user', detail: { class: 'hard' }, ...over })
const sums = (...rows: readonly LogRow[]) => {
  const [count, ...more] = tally(rows)
  t.same(more, [])
  if (count === undefined) return null
  const { tried, complaints, hardBounces, deferrals } = count
  return [tried, complaints, hardBounces, deferrals]
}

t.test('a recipient is tried once, however it ends', async (t) => {
  t.same(sums(row()), [1, 0, 0, 0])
  t.same(sums(deferred('busy'), row({ attempt: 2 })), [1, 0, 0, 1])
  t.same(sums(bounced()), [1, 0, 1, 0])
  t.same(sums(bounced({ detail: { class: 'soft' }, reason: 'mailbox_full' })), [1, 0, 0, 0])
  t.equal(sums(row({ type: 'email.delivered', source: 'dsn', attempt: null })), null)
  t.equal(sums(row({ type: 'email.queued', source: 'api', attempt: null })), null)
})

t.test('only live mail, only changes, only what is about mail', async (t) => {
  t.same(tally([bounced({ mode: 'test' }), bounced({ change: false }), bounced({ workspaceId: null })]), [])
  t.same(tally([row({ type: 'suppression.added', emailId: null, mail: null })]), [])
})

t.test('greylisting and our own connections are no deferrals', async (t) => {
  const grey = [
    deferred(
      '<b@example.com>: Recipient address rejected: Greylisted, see http://postgrey.schweikert.ch/',
      '4.2.0',
    ),
    deferred('Greylisting in action, please come back in 00:05:00', '4.7.1'),
    deferred('You have been gray-listed', '4.7.1'),
    deferred('Try again later', '4.7.1'),
  ]
  for (const one of grey) t.same(sums(one), [1, 0, 0, 0], String(one.reply?.text))
  t.same(sums(deferred('', null, { reply: null, reason: 'connection' })), [1, 0, 0, 0])
  t.same(sums(deferred('Service shutting down', null, { reason: 'connection' })), [1, 0, 0, 0])
  t.same(sums(deferred('Too many messages, try again later', '4.7.1')), [1, 0, 0, 1])
  t.same(sums(deferred('later', '4.4.1', { source: 'dsn', attempt: null })), null, 'the upstream holds it')
})

t.test('what a report tells counts where its mail was accepted', async (t) => {
  const report = { source: 'dsn', attempt: null, createdAt: T0 + 3 * HOUR } as const
  const complaint = row({ ...report, source: 'arf', type: 'email.complained', reason: 'abuse' })
  t.same(tally([bounced(report), complaint]), [
    { workspaceId: 'ws_1', span: T0 - HOUR, tried: 0, complaints: 1, hardBounces: 1, deferrals: 0 },
  ])
  const spans = tally([row({ createdAt: T0 + ALARM_SPAN_MS - 1 }), row({ createdAt: T0 + ALARM_SPAN_MS })])
  t.same(
    spans.map(({ span, tried }) => [span, tried]),
    [
      [T0, 1],
      [T0 + ALARM_SPAN_MS, 1],
    ],
  )
  t.equal(tally([row(), row({ workspaceId: 'ws_2' })]).length, 2)
})
