/**
 * NAME      moments - ISO 8601 times with their zone, and "in 10 min" and "tomorrow at 9am"
 *   A day and a time to the minute or finer, and where on earth: without its zone a time means another moment to
 *   everybody. A leap second is the one before it.
 *     A small grammar, the same for every door, in any letters and with any blanks:
 *       in AMOUNT UNIT      AMOUNT: 1 to 99999, `a` or `an`; UNIT: minute, min, m, hour,
 *                           hr, h, day, d, week or w, also in the plural, and seconds
 *       DAY [at] CLOCK      DAY: today, tomorrow, or the English name of a weekday, in full
 *                           or by its first three letters; CLOCK: 9am, 9:30 pm, 14:00, noon
 *                           or midnight; after it `UTC`, `GMT` or `Z` may stand
 *     All is in UTC, since nobody tells us where a client lives; a day of 24 hours and
 *     a week of seven such days. A weekday is the next one whose clock is still to
 *     come: today, or within a week. `12am` and `midnight` begin their day.
 *   NOTES
 *     A time without a day, a day without a time, months and other zones are no part of
 *     it: each has more than one meaning, and a mail at the wrong time cannot be taken back.
 */
const ISO =
  /^(\d{4})-(\d\d)-(\d\d)[Tt ]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d|60)(?:[.,]\d{1,9})?)?(?:[Zz]|[+-]([01]\d|2[0-3]):?[0-5]\d)$/

/** Epoch milliseconds, or null when the text is no time with a zone, or no day of the calendar. */
export const parseTime = (text: string): number | null => {
  const parts = ISO.exec(text.trim())
  if (parts === null) return null
  const [, year, month, day] = parts.map(Number)
  const date = new Date(Date.UTC(year ?? 0, (month ?? 0) - 1, day))
  if (date.getUTCMonth() !== (month ?? 0) - 1 || date.getUTCDate() !== day) return null
  const plain = text
    .trim()
    .toUpperCase()
    .replace(' ', 'T')
    .replace(',', '.')
    .replace(/([+-]\d\d)(\d\d)$/, '$1:$2')
    .replace(/:60(?=[.Z+-])/, ':59')
  const time = Date.parse(plain)
  return Number.isNaN(time) ? null : time
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** How refusals and documents name the grammar. */
export const TIME_FORMS = '"in 10 min", "in 2 hours", "in 3 days", "tomorrow at 9am", "friday at 14:00" (UTC)'

const UNITS: readonly (readonly [words: RegExp, ms: number])[] = [
  [/^(?:s|secs?|seconds?)$/, SECOND],
  [/^(?:m|mins?|minutes?)$/, MINUTE],
  [/^(?:h|hrs?|hours?)$/, HOUR],
  [/^(?:d|days?)$/, DAY],
  [/^(?:w|weeks?)$/, 7 * DAY],
]

const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']

const LONGEST = 64
const AFTER = /^in (?:(\d{1,5}) ?|an? )([a-z]+)$/
const ON = /^([a-z]+) (?:at )?(.+?)(?: ?(?:utc|gmt|z))?$/
const OF_12 = /^(1[0-2]|0?[1-9])(?::([0-5]\d))? ?([ap])m$/
const OF_24 = /^([01]?\d|2[0-3]):([0-5]\d)$/

/** Milliseconds since midnight, or null. */
const clockOf = (text: string): number | null => {
  if (text === 'noon') return 12 * HOUR
  if (text === 'midnight') return 0
  const of12 = OF_12.exec(text)
  if (of12 !== null) {
    const [, hour, minute = '0', half] = of12
    return ((Number(hour) % 12) + (half === 'p' ? 12 : 0)) * HOUR + Number(minute) * MINUTE
  }
  const of24 = OF_24.exec(text)
  return of24 === null ? null : Number(of24[1]) * HOUR + Number(of24[2]) * MINUTE
}

const weekdayOf = (word: string): number =>
  WEEKDAYS.findIndex((name) => word === name || word === name.slice(0, 3))

/** The moment on the day that a word means, or null. */
const onDay = (word: string, clock: number, now: number): number | null => {
  const midnight = now - (now % DAY)
  if (word === 'today') return midnight + clock
  if (word === 'tomorrow') return midnight + DAY + clock
  const weekday = weekdayOf(word)
  if (weekday < 0) return null
  const ahead = (weekday - new Date(midnight).getUTCDay() + 7) % 7
  const at = midnight + ahead * DAY + clock
  return at > now ? at : at + 7 * DAY
}

/** Epoch milliseconds of a time in these words as it is said at `now`, or null when it is none. */
export const readTimeInWords = (text: string, now: number): number | null => {
  if (text.length > LONGEST) return null
  const words = text.trim().toLowerCase().replace(/\s+/g, ' ')
  const after = AFTER.exec(words)
  if (after !== null) {
    const [, amount = '1', unit = ''] = after
    const ms = UNITS.find(([names]) => names.test(unit))?.[1]
    return ms === undefined || Number(amount) === 0 ? null : now + Number(amount) * ms
  }
  const [, day = '', time = ''] = ON.exec(words) ?? []
  const clock = clockOf(time)
  return clock === null ? null : onDay(day, clock, now)
}
