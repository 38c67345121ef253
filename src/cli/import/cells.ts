/**
 * NAME      cells - what stands in a row of an export
 * DESCRIPTION
 *   Cells of CSV and members of JSON are asked for by the same names, letters and digits only: `createdat` is
 *   `created_at`, `CreatedAt` and `Created At`. What is nested is joined: `reasoncode`.
 *   Times come in the forms that exports have: seconds (or milliseconds) since 1970, RFC 3339, RFC 2822, and
 *   `2016-01-21 19:08:17`, which is UTC, as is a day.
 */

/** Its text, trimmed; '' where there is none. */
export type Cells = (name: string) => string

const known = new Map<string, string>()

export const plainName = (name: string): string => {
  const found = known.get(name)
  if (found !== undefined) return found
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '')
  if (known.size < 1000) known.set(name, plain)
  return plain
}

const put = (into: Map<string, string>, name: string, value: unknown, depth: number): void => {
  if (value === null || value === undefined || into.size > 100) return
  if (Array.isArray(value)) into.set(name, value.slice(0, 100).map(String).join(','))
  else if (typeof value !== 'object') into.set(name, String(value).trim())
  else if (depth < 2)
    for (const [inner, one] of Object.entries(value)) put(into, name + plainName(inner), one, depth + 1)
}

export const cellsOfObject = (value: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> => {
  const cells = new Map<string, string>()
  for (const [name, one] of Object.entries(value)) put(cells, plainName(name), one, 0)
  return cells
}

const DAY_OR_TIME =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(Z|UTC|[+-]\d\d:?\d\d)?)?$/i
const RFC_2822 =
  /^(?:[a-z]{3}, {0,2})?\d{1,2} [a-z]{3} \d{4} \d\d:\d\d(?::\d\d)? (?:GMT|UTC|UT|[+-]\d{4})(?: \([a-z]{1,5}\))?$/i

/** Epoch milliseconds; NaN when it is none of the forms. */
export const timeIn = (text: string): number => {
  if (/^\d{8,10}(?:\.\d+)?$/.test(text)) return Math.floor(Number(text) * 1000)
  if (/^\d{12,13}$/.test(text)) return Number(text)
  const [, day, time = '00:00', zone = 'Z'] = DAY_OR_TIME.exec(text) ?? []
  if (day !== undefined)
    return Date.parse(`${day}T${time}${/^utc$/i.test(zone) ? 'Z' : zone.replace(/(\d\d)(\d\d)$/, '$1:$2')}`)
  return RFC_2822.test(text) ? Date.parse(text.replace(/ \(.*/, '')) : Number.NaN
}
