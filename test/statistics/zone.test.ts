/** Days, hours and minutes as the clocks of their zones show them. */
import t from 'tap'
import type { FieldError } from '../../src/base/fault.js'
import {
  type AskedWords,
  DAY,
  dayIn,
  HOUR,
  readQuestion,
  startOf,
  startsIn,
  zoneNamed,
} from '../../src/statistics/ask.js'

const utc = (text: string): number => Date.parse(`${text}Z`)
const iso = (all: readonly number[]): string[] => all.map((at) => new Date(at).toISOString().slice(0, 16))

t.test('days', async (t) => {
  const days = (zone: string, from: string, to: string) => iso(startsIn('day', zone, utc(from), utc(to), 99))
  t.same(days('Asia/Tashkent', '2026-11-20T10:00', '2026-11-21T10:00'), [
    '2026-11-19T19:00',
    '2026-11-20T19:00',
    '2026-11-21T19:00',
  ])
  t.same(days('Asia/Kolkata', '2026-11-20T18:29', '2026-11-20T18:31'), [
    '2026-11-19T18:30',
    '2026-11-20T18:30',
    '2026-11-21T18:30',
  ])
  t.same(days('Asia/Kathmandu', '2026-11-20T18:15', '2026-11-20T18:16'), [
    '2026-11-20T18:15',
    '2026-11-21T18:15',
  ])
  const [before, changed, after] = startsIn(
    'day',
    'Europe/Berlin',
    utc('2026-03-28T12:00'),
    utc('2026-03-30T00:00'),
    9,
  )
  t.equal((after as number) - (changed as number), 23 * HOUR, 'the day on which summer begins')
  t.equal((changed as number) - (before as number), DAY)
  const [fall, next] = startsIn(
    'day',
    'America/New_York',
    utc('2026-11-01T12:00'),
    utc('2026-11-02T00:00'),
    9,
  )
  t.equal((next as number) - (fall as number), 25 * HOUR, 'the day on which it ends')
})

t.test('a midnight that is skipped, and one that comes twice', async (t) => {
  // Chile goes from 23:59:59 to 01:00 in September, Cuba from 00:59:59 to 00:00 in November
  t.equal(startOf('day', 'America/Santiago', utc('2026-09-06T12:00')), utc('2026-09-06T04:00'))
  t.equal(startOf('day', 'America/Havana', utc('2026-11-01T12:00')), utc('2026-11-01T04:00'))
})

t.test('hours begin when the clock on the wall is full', async (t) => {
  t.equal(startOf('hour', 'Asia/Kolkata', utc('2026-11-20T10:29')), utc('2026-11-20T09:30'))
  t.equal(startOf('hour', 'UTC', utc('2026-11-20T10:29')), utc('2026-11-20T10:00'))
  const hours = startsIn('hour', 'Australia/Lord_Howe', utc('2026-04-04T12:00'), utc('2026-04-05T00:00'), 99)
  t.ok(
    hours.every((at, i) => i === 0 || at > (hours[i - 1] as number)),
    'half an hour back and still forward',
  )
})

t.test('names of zones', async (t) => {
  t.equal(zoneNamed('asia/tashkent'), 'Asia/Tashkent')
  for (const wrong of ['', 'Mars/Base', '+05:00', 'x'.repeat(99), '../etc'])
    t.equal(zoneNamed(wrong), null, wrong)
  t.equal(dayIn('Asia/Kolkata', '2026-11-20'), utc('2026-11-19T18:30'))
  for (const wrong of ['2026-02-30', '2026-13-01', '20261120']) t.equal(dayIn('UTC', wrong), null, wrong)
})

t.test('questions: usual spans, rows that answer them, and what cannot be had', async (t) => {
  const NOW = utc('2026-11-20T10:20')
  const ask = (words: AskedWords) => {
    const errors: FieldError[] = []
    const question = readQuestion(words, NOW, (field) => `query.${field}`, errors)
    return { ...question, errors: errors.map(({ field, kind }) => `${field} ${kind}`) }
  }
  t.match(ask({}), { errors: [], span: 60, interval: 'hour', limit: 10, zone: 'UTC' })
  t.same(iso(ask({}).starts.slice(0, 1)), ['2026-11-19T10:00'])
  t.equal(ask({ interval: 'minute' }).starts.length, 61)
  t.match(ask({ interval: 'day', tz: 'Asia/Tashkent' }), { errors: [], span: 60 })
  t.match(ask({ interval: 'day', tz: 'Asia/Kolkata' }), { errors: [], span: 15 })
  const wrong = (words: AskedWords, ...errors: string[]) =>
    t.same(ask(words).errors, errors, JSON.stringify(words))
  wrong({ from: '2026-11-20T11:00Z' }, 'query.from range')
  wrong({ from: 'yesterday', to: '2026-02-30' }, 'query.to format', 'query.from format')
  wrong({ from: '2026-11-20T11:00' }, 'query.from format')
  wrong({ tz: 'Mars/Base' }, 'query.tz unknown')
  wrong({ from: '2026-10-01' }, 'query.from too_many')
  wrong({ interval: 'day', from: '2025-01-01', to: '2025-02-01' }, 'query.from past')
  wrong({ interval: 'day', from: '2026-10-01', tz: 'Asia/Kolkata' }, 'query.from past')
  wrong({ interval: 'day', from: '2026-10-01', tz: 'Asia/Tashkent' })
  wrong({ interval: 'minute', from: '2026-11-18T09:00Z', to: '2026-11-18T10:00Z' }, 'query.from past')
  wrong({ interval: 'minute', groupBy: 'recipient_domain' }, 'query.group_by unsupported')
  wrong({ tag: 'kind' }, 'query.tag unsupported')
  wrong({ groupBy: 'tag', tag: 'kind' })
  wrong({ groupBy: 'pool', from: '2026-10-25', limit: 100 }, 'query.limit range')
})
