/** Answers from rows: what is told apart, what is one group, and how much may be read. */
import t from 'tap'
import type { Fault } from '../../src/base/fault.js'
import { type AskedWords, readQuestion } from '../../src/statistics/ask.js'
import { ofAccepted, volume } from '../../src/statistics/counters.js'
import { figures } from '../../src/statistics/record.js'
import { report } from '../../src/statistics/report.js'
import type { StatisticsPage, StatisticsQuery, StatisticsRow } from '../../src/store/port/watch.js'
import { HOUR, T0 } from './records.js'

const SCOPE = { accountId: 'acct_1', workspaceId: null, mode: 'live' } as const
const ask = (words: AskedWords) => readQuestion(words, T0 + 5 * HOUR, (field) => `query.${field}`, [])

const row = (value: string, n: number, at = T0): StatisticsRow => ({
  span: 60,
  at,
  workspaceId: 'ws_1',
  mode: 'live',
  dimension: 'recipient_domain',
  value,
  counts: [volume('accepted'), n],
})

/** Pages as a store gives them: two rows each. */
const paged = (rows: readonly StatisticsRow[]) => {
  const asked: StatisticsQuery[] = []
  const statistics = async (query: StatisticsQuery, after: string | null): Promise<StatisticsPage> => {
    asked.push(query)
    const from = Number(after ?? 0)
    return { rows: rows.slice(from, from + 2), next: from + 2 < rows.length ? String(from + 2) : null }
  }
  return { asked, statistics }
}

t.test('busiest first; beyond the limit, and what the store put together, is one group', async (t) => {
  const rows = [row('a.test', 1), row('b.test', 5), row('', 7), row('c.test', 2), row('b.test', 1, T0 + HOUR)]
  const told = await report(paged(rows), SCOPE, ask({ groupBy: 'recipient_domain', limit: 2 }))
  t.same(
    told.groups.map(({ key, total, cells }) => [key, total.get(volume('accepted')), cells.size]),
    [
      ['b.test', 6, 2],
      ['c.test', 2, 1],
      [null, 8, 1],
    ],
  )
  t.equal(told.total.get(volume('accepted')), 16)
})

t.test('while it reads, others run', async (t) => {
  let turns = 0
  const count = setInterval(() => turns++, 0)
  const rows = Array.from({ length: 400 }, (_, i) => row(`d${i}.test`, 1))
  await report(paged(rows), SCOPE, ask({ groupBy: 'recipient_domain' }))
  clearInterval(count)
  t.ok(turns > 0, `${turns} turns of others`)
})

t.test('an answer that would read too much is refused in words', async (t) => {
  const page = Array.from({ length: 1_000 }, (_, i) => row(`d${i}.test`, 1))
  let pages = 0
  const statistics = async (): Promise<StatisticsPage> => ({ rows: page, next: String(++pages) })
  const refused = await report({ statistics }, SCOPE, ask({ groupBy: 'recipient_domain' })).then(
    () => null,
    (fault: Fault) => fault,
  )
  t.match(refused, {
    code: 'validation.request_invalid',
    options: { errors: [{ field: 'query.from', kind: 'range' }] },
  })
  t.ok(pages <= 101, `${pages} pages`)
})

t.test('rates have no base where nobody was tried', async (t) => {
  t.match(figures('none', new Map()).rates, { delivered: null, bounced: null, complained: null })
  const sums = new Map([
    [ofAccepted('accepted'), 10],
    [ofAccepted('suppressed'), 2],
    [ofAccepted('sent'), 7],
    [ofAccepted('bounced_hard'), 1],
    [ofAccepted('complained'), 1],
  ])
  t.match(figures('none', sums), {
    of_accepted: { tried: 8 },
    rates: { bounced: 0.125, bounced_hard: 0.125, bounced_soft: 0, complained: 0.14286 },
  })
  t.match(
    figures('upstream', sums),
    { of_accepted: { tried: 8 }, rates: { bounced: 0.125, delivered: null, complained: null } },
    'no report tells of an upstream',
  )
  const rerouted = new Map([
    [ofAccepted('accepted'), 1],
    [ofAccepted('delivered'), 5],
  ])
  t.match(
    figures('pool', rerouted).rates,
    { delivered: null, bounced: 0 },
    'more than were tried is no share',
  )
})
