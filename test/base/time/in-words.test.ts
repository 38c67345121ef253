import fc from 'fast-check'
import t from 'tap'
import { readTimeInWords } from '../../../src/base/moments.js'

/** A Friday, 10:30 in UTC. */
const NOW = Date.UTC(2026, 10, 20, 10, 30)
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const read = (text: string): string | null => {
  const at = readTimeInWords(text, NOW)
  return at === null ? null : new Date(at).toISOString().slice(0, 16)
}

t.test('after a while', async (t) => {
  for (const [text, at] of [
    ['in 10 min', NOW + 10 * MINUTE],
    ['in 1 minute', NOW + MINUTE],
    ['In 90 Seconds', NOW + 90_000],
    ['in 1 hour', NOW + HOUR],
    ['in an hour', NOW + HOUR],
    ['in a week', NOW + 7 * DAY],
    ['in 2 days', NOW + 2 * DAY],
    ['in 3h', NOW + 3 * HOUR],
    ['  in\t15  mins ', NOW + 15 * MINUTE],
  ] as const) {
    t.equal(readTimeInWords(text, NOW), at, text)
  }
})

t.test('on a day', async (t) => {
  for (const [text, at] of [
    ['tomorrow at 9am', '2026-11-21T09:00'],
    ['Tomorrow at 9:05 PM', '2026-11-21T21:05'],
    ['tomorrow 9am utc', '2026-11-21T09:00'],
    ['tomorrow at 12am', '2026-11-21T00:00'],
    ['tomorrow at 12pm', '2026-11-21T12:00'],
    ['tomorrow at midnight', '2026-11-21T00:00'],
    ['today at noon', '2026-11-20T12:00'],
    ['today at 09:00', '2026-11-20T09:00'],
    ['friday at 10:31', '2026-11-20T10:31'],
    ['friday at 10:30', '2026-11-27T10:30'],
    ['thu at 3pm', '2026-11-26T15:00'],
    ['Saturday at 00:00 GMT', '2026-11-21T00:00'],
  ] as const) {
    t.equal(read(text), at, text)
  }
})

t.test('nothing else', async (t) => {
  for (const text of [
    '',
    'now',
    'tomorrow',
    '9am',
    'at 9am',
    'in 0 min',
    'in -1 min',
    'in 1.5 hours',
    'in 1 month',
    'in 100000 min',
    'in an hours and a half',
    'in ten minutes',
    '10 min',
    'next friday at 9am',
    'friday',
    'fr at 9am',
    'tomorrow at 9',
    'tomorrow at 13pm',
    'tomorrow at 0am',
    'tomorrow at 24:00',
    'tomorrow at 9:60am',
    'tomorrow at 9am ET',
    'tomorrow at 9am +02:00',
    'yesterday at 9am',
    `in ${' '.repeat(100_000)}1 min`,
    'a '.repeat(500_000),
  ]) {
    t.equal(read(text), null, text.slice(0, 40))
  }
})

const moment = fc.integer({ min: 0, max: 4e12 })

t.test('every amount of every unit is that long', async () => {
  const units = { min: MINUTE, minutes: MINUTE, hour: HOUR, hours: HOUR, days: DAY, weeks: 7 * DAY }
  fc.assert(
    fc.property(
      moment,
      fc.integer({ min: 1, max: 99_999 }),
      fc.constantFrom(...Object.entries(units)),
      (now, amount, [unit, ms]) => readTimeInWords(`in ${amount} ${unit}`, now) === now + amount * ms,
    ),
  )
})

t.test('a weekday is the first one to come with that clock', async () => {
  const names = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
  const two = (n: number) => String(n).padStart(2, '0')
  fc.assert(
    fc.property(moment, fc.nat(6), fc.nat(23), fc.nat(59), (now, day, hour, minute) => {
      const at = readTimeInWords(`${names[day]} at ${two(hour)}:${two(minute)}`, now) ?? 0
      const date = new Date(at)
      return (
        at > now &&
        at <= now + 7 * DAY &&
        at % MINUTE === 0 &&
        date.getUTCDay() === day &&
        date.getUTCHours() === hour &&
        date.getUTCMinutes() === minute
      )
    }),
  )
})

t.test('12 hours and 24 say the same; letters and blanks do not matter', async () => {
  fc.assert(
    fc.property(moment, fc.nat(23), fc.nat(59), (now, hour, minute) => {
      const mm = String(minute).padStart(2, '0')
      const half = `${hour % 12 === 0 ? 12 : hour % 12}:${mm}${hour < 12 ? 'am' : 'pm'}`
      const at = readTimeInWords(`tomorrow at ${hour}:${mm}`, now)
      return (
        at !== null &&
        at === readTimeInWords(`TOMORROW   at ${half.toUpperCase()}`, now) &&
        at === readTimeInWords(` tomorrow ${half} utc`, now)
      )
    }),
  )
})

t.test('any text is a moment or none, never an error', async () => {
  const word = fc.constantFrom(
    'in',
    'a',
    '5',
    'min',
    'hour',
    'at',
    'friday',
    'today',
    '9am',
    '14:00',
    'utc',
    '',
  )
  fc.assert(
    fc.property(
      moment,
      fc.oneof(
        fc.string(),
        fc.array(word, { maxLength: 6 }).map((all) => all.join(' ')),
      ),
      (now, text) => {
        const at = readTimeInWords(text, now)
        return at === null || Number.isSafeInteger(at)
      },
    ),
  )
})
