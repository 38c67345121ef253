/**
 * NAME      iso - ISO 8601 times with their zone
 * DESCRIPTION
 *   A day and a time to the minute or finer, and where on earth: without its zone
 *   a time means another moment to everybody. A leap second is the one before it.
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
