/**
 * Counting by the fold, against counting record by record in another way; and
 * what each record counts as.
 */
import fc from 'fast-check'
import t from 'tap'
import { CATEGORIES } from '../../src/mail/report/category.js'
import {
  bouncedAs,
  categoriesOf,
  deliveredAfter,
  FACTS,
  type Fact,
  factsOf,
  ofAccepted,
  sentAfter,
  sumOf,
  timesToDelivered,
  timesToSent,
  volume,
} from '../../src/statistics/counters.js'
import { type FoldRules, fold } from '../../src/statistics/fold.js'
import type { LogRow } from '../../src/store/port/log.js'
import { BY_MINUTE, SPANS, type StatisticsRow } from '../../src/store/port/watch.js'
import { HOUR, MINUTE, record, T0 } from './records.js'

const RULES: FoldRules = {
  tagsOf: (workspaceId) => (workspaceId === 'ws_1' ? ['kind', 'plan'] : []),
  providerOf: (domain) => (domain === 'gmail.test' ? 'google' : ''),
}

const TYPES = [
  'email.queued',
  'email.scheduled',
  'email.sent',
  'email.deferred',
  'email.delivered',
  'email.bounced',
  'email.canceled',
  'email.complained',
  'email.reported',
  'email.held',
  'suppression.added',
] as const

const anyRecord: fc.Arbitrary<LogRow> = fc
  .record({
    type: fc.constantFrom(...TYPES),
    workspaceId: fc.constantFrom('ws_1', 'ws_2'),
    mode: fc.constantFrom('live', 'test'),
    change: fc.boolean(),
    isMail: fc.boolean(),
    recipient: fc.constantFrom('a@example.com', 'B@Gmail.test', 'c@EXAMPLE.com'),
    source: fc.constantFrom('api', 'smtp', 'dsn', 'operator', 'system'),
    after: fc.constantFrom(0, 1, 999, 61_000, 16 * MINUTE, 26 * HOUR),
    accepted: fc.constantFrom(T0, T0 + 1, T0 + 59 * MINUTE, T0 + 3 * HOUR),
    scheduledAt: fc.constantFrom(null, T0 + 30 * MINUTE),
    pool: fc.constantFrom('pool_1', 'pool_2'),
    upstreamId: fc.constantFrom(null, 'up_1', 'up_2'),
    reason: fc.constantFrom(null, 'suppressed', 'lifetime', 'spam', 'unknown_user', 'odd'),
    hard: fc.boolean(),
    text: fc.constantFrom('greylisted, come again', 'no'),
    tags: fc.subarray([
      { name: 'kind', value: 'receipt' },
      { name: 'kind', value: 'other' },
      { name: 'plan', value: '' },
      { name: 'secret', value: 'x' },
    ]),
  })
  .map((r) => {
    const made = record(
      {
        type: r.type,
        workspaceId: r.workspaceId,
        mode: r.mode as 'live' | 'test',
        change: r.change,
        recipient: r.recipient,
        source: r.source as LogRow['source'],
        occurredAt: r.accepted + r.after,
        reply: { code: 450, enhanced: '4.2.0', text: r.text },
        mta: r.upstreamId === null ? null : { poolId: r.pool, upstreamId: r.upstreamId, host: null },
        reason: r.reason,
        detail: { class: r.hard ? 'hard' : 'soft' },
      },
      { createdAt: r.accepted, scheduledAt: r.scheduledAt, tags: r.tags, poolId: r.pool },
    )
    return r.isMail || r.type.startsWith('email') ? made : { ...made, mail: null, emailId: null }
  })

/** By a key without its counts: what was added to it, by counter. */
const added = (rows: readonly StatisticsRow[]): Record<string, Record<number, number>> => {
  const sums: Record<string, Record<number, number>> = {}
  for (const { counts, ...row } of rows) {
    const key = JSON.stringify(row)
    sums[key] ??= {}
    for (const [counter, n] of sumOf([{ counts }])) sums[key][counter] = (sums[key][counter] ?? 0) + n
  }
  return Object.fromEntries(Object.entries(sums).sort(([a], [b]) => (a < b ? -1 : 1)))
}

const cut = <T>(all: readonly T[], sizes: readonly number[]): T[][] => {
  const left = [...all]
  const batches = sizes.map((size) => left.splice(0, size))
  return [...batches, left]
}

t.test('any batches, in any order, add up to the same', async (t) => {
  const inBatches = fc.property(
    fc.array(anyRecord, { maxLength: 40 }),
    fc.array(fc.nat({ max: 9 }), { maxLength: 9 }),
    fc.infiniteStream(fc.nat()),
    (records, sizes, order) => {
      const batches = cut(records, sizes)
        .map((batch) => ({ batch, at: order.next().value as number }))
        .sort((a, b) => a.at - b.at)
        .map(({ batch }) => [...batch].reverse())
      const whole = added(fold(records, RULES))
      t.strictSame(added(batches.flatMap((batch) => fold(batch, RULES))), whole)
      t.strictSame(added(records.flatMap((one) => fold([one], RULES))), whole)
    },
  )
  fc.assert(inBatches, { numRuns: 200 })
})

/** The number of records for which something holds, counted from the records themselves. */
const counted = (
  records: readonly LogRow[],
  holds: (row: LogRow, mail: NonNullable<LogRow['mail']>) => boolean,
) => records.filter((row) => row.change && row.mail !== null && holds(row, row.mail)).length

t.test('what the rows say is what the records say', async (t) => {
  const VOLUMES: Partial<Record<Fact, (row: LogRow) => boolean>> = {
    sent: ({ type }) => type === 'email.sent',
    delivered: ({ type }) => type === 'email.delivered',
    deferred: ({ type }) => type === 'email.deferred',
    complained: ({ type }) => type === 'email.complained',
    suppressed: ({ type, reason }) => type === 'email.bounced' && reason === 'suppressed',
    canceled: ({ type, source }) => type === 'email.canceled' && source !== 'operator',
    bounced_hard: ({ type, reason, source, detail }) =>
      type === 'email.bounced' &&
      reason !== 'suppressed' &&
      source !== 'operator' &&
      detail?.class === 'hard',
  }
  const asSaid = fc.property(fc.array(anyRecord, { maxLength: 60 }), (records) => {
    const rows = fold(records, RULES)
    for (const span of SPANS)
      for (const at of new Set(rows.filter((row) => row.span === span).map((row) => row.at))) {
        const width = span * MINUTE
        const found = (dimension: string) =>
          sumOf(
            rows.filter(
              (row) =>
                row.span === span && row.at === at && row.dimension === dimension && row.mode === 'live',
            ),
          )
        const isIn = (time: number): boolean => time >= at && time < at + width
        for (const [fact, holds] of Object.entries(VOLUMES) as [Fact, (row: LogRow) => boolean][]) {
          const own = counted(records, (row) => row.mode === 'live' && holds(row) && isIn(row.occurredAt))
          const of = counted(
            records,
            (row, mail) => row.mode === 'live' && holds(row) && isIn(mail.createdAt),
          )
          for (const dimension of span === 1
            ? ['none', 'pool']
            : ['none', 'pool', 'recipient_domain', 'provider']) {
            t.equal(found(dimension).get(volume(fact)) ?? 0, own, `${fact}, of its own time, by ${dimension}`)
            t.equal(found(dimension).get(ofAccepted(fact)) ?? 0, of, `${fact}, of accepted, by ${dimension}`)
          }
        }
        const sums = found('none')
        const bounces = Object.values(categoriesOf(sums)).reduce((all, n) => all + n, 0)
        const facts = factsOf(sums, volume)
        t.equal(bounces, facts.bounced_hard + facts.bounced_soft, 'each bounce has one category')
        t.equal(timesToSent(sums).count, factsOf(sums, ofAccepted).sent)
        t.equal(timesToDelivered(sums).count, factsOf(sums, ofAccepted).delivered)
      }
    for (const row of rows) {
      t.equal(row.at % (row.span * MINUTE), 0)
      t.ok(row.span !== 1 || BY_MINUTE.includes(row.dimension))
    }
  })
  fc.assert(asSaid, { numRuns: 60 })
})

const factsFor = (row: LogRow): Partial<Record<Fact, number>> => {
  const sums = sumOf(fold([row], RULES).filter(({ dimension, span }) => dimension === 'none' && span === 60))
  return Object.fromEntries(Object.entries(factsOf(sums, volume)).filter(([, n]) => n > 0))
}

t.test('what each record counts as', async (t) => {
  const later = { occurredAt: T0 + 5_000 }
  t.same(factsFor(record()), { accepted: 1 })
  t.same(factsFor(record({ type: 'email.scheduled' }, { scheduledAt: T0 + HOUR })), { accepted: 1 })
  t.same(
    factsFor(record({ ...later, source: 'system' }, { scheduledAt: T0 + 5_000 })),
    {},
    'its time has come',
  )
  t.same(
    factsFor(record({ type: 'email.bounced', reason: 'suppressed', source: 'system', begunHere: false })),
    { accepted: 1, suppressed: 1 },
    'suppressed when it was accepted',
  )
  t.same(factsFor(record({ ...later, type: 'email.bounced', reason: 'suppressed' })), { suppressed: 1 })
  t.same(
    factsFor(record({ type: 'email.bounced', detail: { class: 'hard' } })),
    { bounced_hard: 1 },
    'at once',
  )
  t.same(factsFor(record({ ...later, type: 'email.bounced', source: 'operator' })), { dropped: 1 })
  t.same(factsFor(record({ ...later, type: 'email.canceled', source: 'operator' })), { dropped: 1 })
  t.same(factsFor(record({ ...later, type: 'email.bounced', reason: 'lifetime' })), { bounced_soft: 1 })
  const reply = { code: 451, enhanced: '4.7.1', text: 'Greylisted, see http://postgrey.example' }
  t.same(factsFor(record({ ...later, type: 'email.deferred', reply })), { deferred: 1, greylisted: 1 })
  const rspamd = { code: 451, enhanced: '4.7.1', text: 'Try again later' }
  t.same(factsFor(record({ ...later, type: 'email.deferred', reply: rspamd })), {
    deferred: 1,
    greylisted: 1,
  })
  t.same(factsFor(record({ ...later, type: 'email.deferred', change: false })), {}, 'a note')
  t.same(factsFor(record({ ...later, type: 'email.held' })), {})
  const hard = record({
    type: 'email.bounced',
    ...later,
    reason: 'x',
    detail: { class: 'hard', category: 'moved' },
  })
  t.same(
    categoriesOf(sumOf(fold([hard], RULES).filter((row) => row.span === 1 && row.dimension === 'none'))),
    {
      moved: 1,
    },
  )
})

t.test(
  'what happens late is a volume of its own hour, and a share of the hour of its acceptance',
  async (t) => {
    const bounce = record({ type: 'email.bounced', occurredAt: T0 + 30 * HOUR, detail: { class: 'hard' } })
    const hours = fold([bounce], RULES).filter((row) => row.span === 60 && row.dimension === 'none')
    const at = (time: number) => sumOf(hours.filter((row) => row.at === time))
    t.same([...at(T0).keys()], [ofAccepted('bounced_hard')])
    t.same([...at(T0 + 30 * HOUR).keys()], [volume('bounced_hard'), bouncedAs('unknown')])
  },
)

t.test('what came with its history was not accepted here', async (t) => {
  const sums = sumOf(fold([record({ type: 'email.sent', occurredAt: T0 + 800, begunHere: false })], RULES))
  t.same(new Set(sums.keys()), new Set([volume('sent')]), 'sent, and no share of anything')
})

t.test('time counts from the acceptance, or from the appointment', async (t) => {
  const keysOf = (mail: Partial<LogRow['mail']>) => [
    ...sumOf(fold([record({ type: 'email.sent', occurredAt: T0 + HOUR + 800 }, mail)], RULES)).keys(),
  ]
  t.ok(keysOf({ createdAt: T0 }).includes(sentAfter(HOUR + 800)))
  t.ok(keysOf({ scheduledAt: T0 + HOUR }).includes(sentAfter(800)))
})

t.test('percentiles of the histogram', async (t) => {
  const counts = Array.from({ length: 100 }, (_, i) => deliveredAfter(i < 90 ? 900 : i < 98 ? 4_000 : 50_000))
  const times = timesToDelivered(sumOf(counts.map((counter) => ({ counts: [counter, 1] }))))
  t.equal(times.count, 100)
  t.ok((times.p50 ?? 0) > 0.75 && (times.p50 ?? 0) <= 1)
  t.ok((times.p95 ?? 0) > 3 && (times.p95 ?? 0) <= 5)
  t.ok((times.p99 ?? 0) > 45 && (times.p99 ?? 0) <= 60)
  t.same(timesToSent(new Map()), { count: 0, p50: null, p95: null, p99: null })
  t.equal(timesToSent(new Map([[sentAfter(9e9), 1]])).p50, 432_000, 'beyond the last bound')
})

t.test('no two counters share a number, and every category has one', async (t) => {
  const numbers = [
    ...FACTS.map(volume),
    ...FACTS.map(ofAccepted),
    ...Object.keys(CATEGORIES).map(bouncedAs),
    ...[0, 70, 9e9].flatMap((ms) => [sentAfter(ms), deliveredAfter(ms)]),
  ]
  t.equal(new Set(numbers).size, numbers.length)
  t.ok(numbers.every((n) => n >= 0))
})
