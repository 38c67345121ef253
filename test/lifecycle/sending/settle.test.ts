/**
 * What one outcome changes: a table of cases, and what holds of every outcome in every state.
 */
import fc from 'fast-check'
import t from 'tap'
import { type Outcome, observed } from '../../../src/lifecycle/facts.js'
import { checked, isWaiting, type RecipientState } from '../../../src/lifecycle/recipient.js'
import { factKey, type SettleFacts, settle, sumOf } from '../../../src/lifecycle/settle.js'
import { emptyCounts, OBSERVATIONS, type Status } from '../../../src/mail/status.js'

const NOW = 1_000_000
const AT = NOW - 5
const LATER = NOW + 60_000

const QUEUED: RecipientState = {
  status: 'queued',
  attempts: 2,
  dueAt: NOW,
  boot: null,
  leaseGen: 7,
  attempting: null,
  held: null,
  deadline: null,
  lastResponse: '451 before',
  reason: 'before',
}
const LEASED: RecipientState = { ...QUEUED, dueAt: null, boot: 3 }
const PAST: RecipientState = { ...LEASED, attempting: 3 }
const AT_REST: RecipientState = { ...QUEUED, dueAt: null }

const factsOf = (recipient: RecipientState, over: Partial<SettleFacts> = {}): SettleFacts => ({
  recipient,
  email: { status: recipient.status, total: 1, counts: null },
  mode: 'live',
  known: false,
  ...over,
})

const outcome = (over: Partial<Outcome>): Outcome =>
  observed({ recipientId: 'r1', seen: 'accepted', at: AT, source: 'smtp', ...over })
const ours = (over: Partial<Outcome>): Outcome => outcome({ leaseGen: 7, attempt: 3, ...over })
const reply = { code: 421, enhanced: '4.2.1', text: 'later' }

t.test('our own attempt', async (t) => {
  const run = (over: Partial<Outcome>, from = PAST) => settle(factsOf(from), ours(over), NOW)
  t.match(run({ reply, reason: 'ok' }), {
    recipient: {
      ...{ status: 'sent', attempts: 3, dueAt: null, boot: null, leaseGen: 7, attempting: null },
      ...{ held: null, deadline: null, lastResponse: '421 4.2.1 later', reason: 'ok' },
    },
    ...{ writtenAt: AT, from: 'queued', to: 'sent', emailStatus: 'sent', applied: true },
    ...{ bounced: false, event: { kind: 'sent', change: true, applied: true, dedupe: null, detail: null } },
  })
  t.match(run({ reply: { ...reply, enhanced: null, text: '' } }).recipient, { lastResponse: '421' })
  t.match(run({ seen: 'postponed', retryAt: LATER, deadline: LATER, reason: 'full' }), {
    recipient: { status: 'deferred', dueAt: LATER, deadline: LATER, held: null, lastResponse: '451 before' },
    event: { kind: 'deferred', change: true },
  })
  t.match(run({ seen: 'postponed', retryAt: null }).recipient, { status: 'deferred', held: 'ambiguous' })
  t.match(run({ seen: 'rejected' }), { to: 'bounced', bounced: true, recipient: { dueAt: null } })
  t.match(run({ attempt: null }).recipient, { attempts: 2 }, 'a purge is no attempt')
  t.match(run({ seen: 'postponed', retryAt: LATER }, { ...PAST, status: 'deferred' }), {
    event: { kind: 'deferred', change: false, applied: true },
  })
})

t.test('our own attempt, when a report was there before', async (t) => {
  const run = (status: Status, over: Partial<Outcome>, deadline: number | null = null) =>
    settle(factsOf({ ...PAST, status, deadline }), ours({ reason: 'new', ...over }), NOW)
  t.match(run('delivered', { reply }), {
    recipient: {
      status: 'delivered',
      boot: null,
      attempts: 3,
      reason: 'before',
      lastResponse: '421 4.2.1 later',
    },
    event: { kind: 'sent', applied: false, change: false, detail: { unapplied: 'already_delivered' } },
    ...{ applied: false, to: 'delivered', writtenAt: AT },
  })
  t.match(run('delivered', { seen: 'postponed' }).recipient, { held: null, dueAt: null }, 'nothing is held')
  t.match(run('delivered', { seen: 'postponed', retryAt: LATER }).recipient, { dueAt: null })
  t.match(run('deferred', {}, LATER), { to: 'deferred', recipient: { deadline: LATER, boot: null } })
  t.match(run('deferred', { seen: 'rejected' }, LATER), { to: 'bounced', recipient: { deadline: null } })
  t.match(run('deferred', { deadline: 5 }, null), { to: 'sent', recipient: { deadline: null } })
  t.equal(run('queued', {}, LATER).to, 'sent', 'only what is deferred is elsewhere')
  const again = ours({ seen: 'postponed', retryAt: LATER, deadline: 5 })
  t.match(settle(factsOf({ ...PAST, status: 'deferred', deadline: 9 }), again, NOW).recipient, {
    deadline: 9,
  })
})

t.test('a repeat and a stale attempt', async (t) => {
  const nothing = { recipient: null, event: null, applied: false, bounced: false }
  t.match(settle(factsOf({ ...AT_REST, status: 'sent' }), ours({}), NOW), { ...nothing, to: 'sent' })
  t.match(settle(factsOf(LEASED, { known: true }), outcome({ dedupe: 'k' }), NOW), nothing)
  const stale = outcome({ leaseGen: 6 })
  t.match(settle(factsOf(LEASED), stale, NOW), {
    ...{ recipient: null, applied: false, to: 'queued', deadline: null },
    event: {
      kind: 'sent',
      applied: false,
      dedupe: 'stale:r1:6:accepted',
      detail: { unapplied: 'stale_attempt' },
    },
  })
  t.equal(factKey(stale, LEASED), 'stale:r1:6:accepted')
  t.equal(factKey(outcome({ leaseGen: 6, dedupe: 'own' }), LEASED), 'own')
  t.equal(factKey(ours({}), LEASED), null)
  t.equal(factKey(outcome({}), LEASED), null)
})

t.test('reports', async (t) => {
  const run = (from: RecipientState, over: Partial<Outcome>, facts: Partial<SettleFacts> = {}) =>
    settle(factsOf(from, facts), outcome({ source: 'dsn', ...over }), NOW)
  t.match(run({ ...AT_REST, status: 'sent' }, { seen: 'dsn-failed', reason: 'gone', reply }), {
    recipient: { status: 'bounced', reason: 'gone', attempts: 2, lastResponse: '421 4.2.1 later' },
    ...{ writtenAt: NOW, bounced: true, event: { change: true } },
  })
  t.match(run(LEASED, { seen: 'purged' }).recipient, { boot: null, leaseGen: 8, dueAt: null }, 'revoked')
  t.match(
    run(PAST, { seen: 'dsn-failed' }).recipient,
    { boot: 3, leaseGen: 7, attempting: 3 },
    'past the dot',
  )
  t.match(run(QUEUED, { seen: 'purged' }).recipient, { leaseGen: 7, dueAt: null }, 'no lease, none revoked')
  t.match(run(PAST, { seen: 'dsn-delayed', deadline: LATER }).recipient, {
    boot: 3,
    leaseGen: 7,
    deadline: LATER,
  })
  t.match(run(LEASED, { seen: 'dsn-delayed', deadline: LATER }).recipient, { boot: 3, leaseGen: 7 })
  t.match(run(QUEUED, { seen: 'dsn-delayed', deadline: LATER }).recipient, {
    dueAt: null,
    status: 'deferred',
  })
  const held = { ...AT_REST, held: 'hold_1' }
  t.match(run(held, { seen: 'dsn-delayed', deadline: LATER }).recipient, { held: 'hold_1' })
  t.match(run(held, { seen: 'dsn-delivered' }).recipient, { held: null })
  t.match(run({ ...QUEUED, status: 'scheduled' }, { seen: 'due' }).recipient, {
    status: 'queued',
    dueAt: NOW,
  })
  const known = { ...AT_REST, status: 'deferred', deadline: 4 } as const
  t.equal(run(known, { seen: 'dsn-delayed', deadline: LATER }).deadline, null, 'the first deadline stays')
  t.match(run({ ...QUEUED, status: 'deferred' }, { seen: 'dsn-delayed', deadline: LATER }), {
    ...{ recipient: null, deadline: LATER, applied: false, event: { kind: 'deferred', applied: false } },
  })
  const bounced = { ...AT_REST, status: 'bounced' } as const
  t.match(run(bounced, { seen: 'dsn-failed' }), { applied: false, bounced: false, to: 'bounced' })
  t.equal(run(bounced, { seen: 'dsn-delayed', deadline: LATER }).deadline, null)
  const again = run({ ...QUEUED, status: 'deferred', deadline: 4 }, { seen: 'postponed', deadline: LATER })
  t.match(again.recipient, { deadline: 4, dueAt: NOW })
  const untrusted = { seen: 'dsn-delayed', deadline: LATER, trusted: false } as const
  t.match(run({ ...QUEUED, status: 'deferred' }, untrusted), {
    ...{ recipient: null, deadline: null, event: { detail: { unapplied: 'unverified' } } },
  })
  t.match(run(QUEUED, { seen: 'dsn-failed', trusted: false, detail: { unapplied: 'age', a: 1 } }), {
    ...{ applied: false, to: 'queued', event: { kind: 'bounced', detail: { unapplied: 'age', a: 1 } } },
  })
  t.match(run(QUEUED, { seen: 'dsn-failed' }, { mode: 'test' }), {
    applied: true,
    bounced: false,
  })
})

t.test('remarks', async (t) => {
  const run = (over: Partial<Outcome>) => settle(factsOf(QUEUED), outcome(over), NOW)
  const remark = { recipient: null, applied: false, to: 'queued' }
  t.match(run({ seen: 'complained' }), {
    ...remark,
    event: { kind: 'complained', change: true, applied: true },
  })
  t.match(run({ seen: 'reported' }), { ...remark, event: { kind: 'reported', change: false, applied: true } })
  t.match(run({ seen: 'complained', trusted: false }), {
    ...remark,
    event: { applied: false, change: false },
  })
})

t.test('a mail of many', async (t) => {
  const counts = { ...emptyCounts(), queued: 1, sent: 1 }
  const email = { status: 'queued' as const, total: 2, counts }
  t.equal(settle(factsOf(PAST, { email }), ours({}), NOW).emailStatus, 'sent')
  t.equal(settle(factsOf(PAST, { email }), ours({ seen: 'rejected' }), NOW).emailStatus, 'bounced')
  t.equal(settle(factsOf(PAST, { email }), outcome({ trusted: false }), NOW).emailStatus, 'queued')
  t.throws(() => settle(factsOf(PAST, { email: { ...email, total: 3 } }), ours({}), NOW), /add up/)
  t.throws(() => settle(factsOf(PAST, { email: { ...email, counts: null } }), ours({}), NOW), /counts/)
  const nobody = { ...email, counts: { ...emptyCounts(), sent: 2 } }
  t.throws(() => settle(factsOf(PAST, { email: nobody }), ours({}), NOW), /nobody is queued/)
})

t.test('what can not be is a bug', async (t) => {
  const cases: readonly [Partial<RecipientState>, RegExp | null][] = [
    [{}, null],
    [{ boot: 3 }, /only one/],
    [{ held: 'h' }, /only one/],
    [{ dueAt: null, boot: 3, held: 'h' }, /only one/],
    [{ attempting: 1 }, /attempts/],
    [{ dueAt: null }, /waits somewhere/],
    [{ dueAt: null, deadline: 1 }, /waits somewhere/],
    [{ dueAt: null, deadline: 1, status: 'deferred' }, null],
    [{ status: 'sent' }, /not due/],
    [{ status: 'bounced', dueAt: null, held: 'h' }, /not held/],
    [{ status: 'sent', dueAt: null }, null],
    [{ status: 'bounced', dueAt: null, boot: 3 }, /leased/],
    [{ status: 'bounced', dueAt: null, boot: 3, attempting: 1 }, null],
    [{ status: 'canceled', dueAt: null, deadline: 1 }, /deadline/],
  ]
  for (const [over, error] of cases) {
    const state = { ...QUEUED, ...over }
    if (error === null) t.equal(checked(state), state)
    else t.throws(() => checked(state), error)
  }
  t.throws(() => settle(factsOf(PAST), ours({ seen: 'reported' }), NOW), /waits somewhere/)
})

const STATES: readonly RecipientState[] = [
  QUEUED,
  LEASED,
  PAST,
  { ...AT_REST, held: 'hold_1' },
  ...[QUEUED, LEASED, PAST].map((state) => ({ ...state, status: 'deferred' as const })),
  { ...AT_REST, status: 'deferred', deadline: LATER },
  { ...PAST, status: 'deferred', deadline: LATER },
  { ...QUEUED, status: 'scheduled' },
  ...(['sent', 'delivered', 'bounced', 'canceled'] as const).map((status) => ({ ...AT_REST, status })),
  { ...PAST, status: 'delivered' },
  { ...PAST, status: 'bounced' },
]

t.test('of any outcome in any state', async (t) => {
  const reports = OBSERVATIONS.filter((seen) => seen !== 'postponed')
  const any = fc.record({
    attempt: fc.boolean(),
    recipient: fc.constantFrom(...STATES),
    end: fc.constantFrom('accepted' as const, 'postponed' as const, 'rejected' as const, 'expired' as const),
    seen: fc.constantFrom(...reports),
    retryAt: fc.constantFrom(LATER, null),
    trusted: fc.boolean(),
    others: fc.array(fc.constantFrom('sent' as const, 'queued' as const, 'bounced' as const), {
      maxLength: 3,
    }),
  })
  fc.assert(
    fc.property(any, ({ attempt, recipient, end, seen, retryAt, trusted, others }) => {
      const one = attempt
        ? ours({ seen: end, retryAt: end === 'postponed' ? retryAt : null })
        : outcome({ seen, trusted, deadline: seen === 'dsn-delayed' ? LATER : null })
      const counts = emptyCounts()
      for (const status of [recipient.status, ...others]) counts[status]++
      const email = { status: recipient.status, total: sumOf(counts), counts }
      const changes = settle(factsOf(recipient, { email }), one, NOW)
      const after = changes.recipient ?? recipient
      checked(after)
      if (changes.to !== changes.from && changes.recipient === null) return false
      if (after.status !== changes.to) return false
      if (attempt && recipient.boot !== null && after.boot !== null) return false
      if (!trusted && !attempt && changes.recipient !== null) return false
      const isOver = recipient.status === 'bounced' || recipient.status === 'canceled'
      if (isOver && after.status !== recipient.status) return false
      const again = settle(factsOf(after, { email: { ...email, counts: null, total: 1 } }), one, NOW)
      return !attempt || (!again.applied && again.recipient === null) || isWaiting(after.status)
    }),
    { numRuns: 2_000 },
  )
  t.pass('2,000 outcomes')
})
