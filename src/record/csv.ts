/**
 * NAME      csv - RFC 4180, both ways
 *   A spreadsheet runs what begins with `=`, `+`, `-` or `@` as a formula, and addresses may begin with any of them.
 *   `guarded` puts an apostrophe before such a cell, which spreadsheets take for "this is text", and `unguarded` takes
 *   it away again, so that an export imports unchanged.
 *   Where a comma is the decimal sign, spreadsheets write semicolons between cells: a first line that has some, or
 *   tabs, and no comma outside of quotes says so.
 */

interface CsvRecord {
  /** The line of the text on which it begins, from 1. */
  readonly line: number
  /** Null: it is longer than allowed, and passed over. */
  readonly fields: readonly string[] | null
}

/** Its first line is looked for in as much. */
const FIRST = 65_536

const separatorOf = (text: string): ',' | ';' | '\t' => {
  const [first = ''] = text
    .slice(0, FIRST)
    .replace(/"[^"]*"/g, '')
    .split(/[\r\n]/, 1)
  if (first.includes(',')) return ','
  return first.includes(';') ? ';' : first.includes('\t') ? '\t' : ','
}

const [TAB, LF, CR, SPACE, QUOTE] = [9, 10, 13, 32, 34]

/** Behind a quoted field from `at`; -1: it is not closed, 0: more text must tell. */
const closeOf = (text: string, at: number): number => {
  let close = at
  do {
    close = text.indexOf('"', close + 1)
    if (close < 0) return -1
    if (close + 1 === text.length) return 0
  } while (text.charCodeAt(close + 1) === QUOTE && ++close)
  return close + 1
}

interface CsvField {
  readonly value: string
  /** Where its separator or its line end stands, or the text ends. */
  readonly end: number
}

const pastBlanks = (text: string, at: number, separator: number): number => {
  let to = at
  for (let c = text.charCodeAt(to); (c === SPACE || c === TAB) && c !== separator; c = text.charCodeAt(++to));
  return to
}

const isEnd = (c: number, separator: number): boolean => c === separator || c === LF || c === CR

/** Null: the text goes on, and what follows may belong to it. */
const fieldAt = (text: string, at: number, separator: number, isLast: boolean): CsvField | null => {
  const from = pastBlanks(text, at, separator)
  if (text.charCodeAt(from) === QUOTE) {
    const found = closeOf(text, from)
    const close = found === 0 ? text.length : found
    if (!isLast && found <= 0) return null
    const end = close < 0 ? -1 : pastBlanks(text, close, separator)
    if (!isLast && end === text.length) return null
    if (end === text.length || (end > 0 && isEnd(text.charCodeAt(end), separator)))
      return { value: text.slice(from + 1, close - 1).replaceAll('""', '"'), end }
  }
  let end = at
  while (end < text.length && !isEnd(text.charCodeAt(end), separator)) end++
  return end === text.length && !isLast ? null : { value: text.slice(at, end).trim(), end }
}

const lineEnds = (text: string, from: number, to: number): number => {
  let n = 0
  for (let at = from; at < to; at++) {
    const c = text.charCodeAt(at)
    if (c === LF || (c === CR && text.charCodeAt(at + 1) !== LF)) n++
  }
  return n
}

/** Behind the line end at `at`; null: it may be the first half of one. */
const pastEnd = (text: string, at: number, isLast: boolean): number | null => {
  if (text.charCodeAt(at) !== CR) return at + 1
  if (at + 1 === text.length && !isLast) return null
  return text.charCodeAt(at + 1) === LF ? at + 2 : at + 1
}

interface Cut {
  readonly fields: readonly string[]
  readonly end: number
}

const recordAt = (text: string, from: number, separator: number, isLast: boolean): Cut | null => {
  const fields: string[] = []
  for (let at = from; ; at++) {
    const field = fieldAt(text, at, separator, isLast)
    if (field === null) return null
    fields.push(field.value)
    at = field.end
    if (at === text.length) return { fields, end: at }
    if (text.charCodeAt(at) === separator) continue
    const end = pastEnd(text, at, isLast)
    return end === null ? null : { fields, end }
  }
}

/**
 * Records of fields of a text that comes in pieces. Quoted fields may hold separators, quotes and line ends; empty lines
 * are skipped. A record of more than `longest` characters is passed over: up to the end of its first line where it
 * is not known where it ends, as behind a quote that nobody closes.
 */
export class CsvReader {
  readonly #longest: number
  #separator: number | null = null
  #rest = ''
  #line = 1
  #isSkipping = false

  constructor(longest = Number.POSITIVE_INFINITY) {
    this.#longest = longest
  }

  *push(text: string, isLast: boolean): Generator<CsvRecord> {
    this.#rest += text
    if (this.#separator === null) {
      if (!isLast && this.#rest.length < FIRST) return
      this.#rest = this.#rest.replace(/^\ufeff/, '')
      this.#separator = separatorOf(this.#rest).charCodeAt(0)
    }
    let at = 0
    while (at < this.#rest.length) {
      const cut = this.#isSkipping ? null : recordAt(this.#rest, at, this.#separator, isLast)
      if (cut === null) {
        if (!this.#isSkipping && this.#rest.length - at <= this.#longest) break
        if (!this.#isSkipping) yield { line: this.#line, fields: null }
        at = this.#skipLine(at)
        continue
      }
      const isLong = cut.end - at > this.#longest + 2
      if (isLong) yield { line: this.#line, fields: null }
      else if (cut.fields.some((value) => value !== '')) yield { line: this.#line, fields: cut.fields }
      this.#line += lineEnds(this.#rest, at, cut.end)
      at = cut.end
    }
    this.#rest = this.#rest.slice(at)
  }

  /** Goes on behind the next line end, now or with the next piece. */
  #skipLine(from: number): number {
    const found = this.#rest.slice(from).search(/[\r\n]/)
    this.#isSkipping = found < 0
    if (found < 0) return this.#rest.length
    this.#line++
    return pastEnd(this.#rest, from + found, true) ?? from
  }
}

export const readCsvLines = (text: string) =>
  [...new CsvReader().push(text, true)].map(({ line, fields }) => ({ line, fields: fields ?? [] }))

export const readCsv = (text: string): readonly (readonly string[])[] =>
  readCsvLines(text).map(({ fields }) => fields)

export const writeCsv = (records: readonly (readonly (string | number | null)[])[]): string =>
  records
    .map((record) =>
      record
        .map((value) =>
          value === null
            ? ''
            : /[",\r\n]/.test(String(value))
              ? `"${String(value).replace(/"/g, '""')}"`
              : String(value),
        )
        .join(','),
    )
    .join('\r\n')

const RISKY = /^'*[=+\-@\t\r]/

export const guarded = (cell: string): string => (RISKY.test(cell) ? `'${cell}` : cell)

export const unguarded = (cell: string): string =>
  cell.startsWith("'") && RISKY.test(cell) ? cell.slice(1) : cell

/* A list of suppressed addresses: email, reason, origin, created_at, expires_at; only the first column is needed, and a header line
   names the others, also in the words that other providers use in their exports. Nothing is judged here. */

const SUPPRESSION_COLUMNS = [
  'email',
  'reason',
  'origin',
  'created_at',
  'expires_at',
  'source_id',
  'list',
] as const

export interface ListLine {
  readonly at: number
  readonly email: string
  readonly reason: string | null
  /** As it stands in the file. */
  readonly expires: string
  /** Empty where it is not said; the same of the two that follow. */
  readonly origin: string
  readonly created: string
  readonly source: string
  /** The mailing list of which mail it is about; of lists with our own columns. */
  readonly list: string
}

/** What other providers call our columns, letters and digits only, the best first. */
const ALSO = {
  email: ['email', 'emailaddress', 'address', 'recipient', 'recipientemail', 'mail'],
  reason: ['reason', 'suppressionreason', 'type', 'description', 'error', 'cause', 'status'],
  expires_at: ['expiresat', 'expires', 'expiry'],
  origin: ['origin'],
  created_at: ['createdat'],
  source_id: ['sourceid'],
  list: ['list'],
} as const
type Column = keyof typeof ALSO

/** Where each column stands: by header when there is one, else by the order above. */
const placesIn = (first: readonly string[]): Record<Column, number> | null => {
  const names = first.map((name) => name.toLowerCase().replace(/[^a-z0-9]/g, ''))
  const place = (column: Column): number =>
    names.indexOf(ALSO[column].find((name) => names.includes(name)) ?? '?')
  const found = {
    ...{ email: place('email'), reason: place('reason'), expires_at: place('expires_at') },
    ...{ origin: place('origin'), created_at: place('created_at'), source_id: place('source_id') },
    // others mean something else by it
    list: names.includes('origin') && names.includes('createdat') ? place('list') : -1,
  }
  return found.email < 0 || first.some((name) => name.includes('@')) ? null : found
}

export const readSuppressionList = (text: string): readonly ListLine[] => {
  const records = readCsvLines(text)
  const places = placesIn(records[0]?.fields ?? [])
  const cell = (record: readonly string[], name: Column) =>
    unguarded(record[places?.[name] ?? SUPPRESSION_COLUMNS.indexOf(name)] ?? '')
  return records.slice(places === null ? 0 : 1).map(({ line, fields }) => ({
    at: line,
    email: cell(fields, 'email'),
    reason: cell(fields, 'reason') || null,
    expires: cell(fields, 'expires_at'),
    origin: cell(fields, 'origin'),
    created: cell(fields, 'created_at'),
    source: cell(fields, 'source_id'),
    list: places === null ? '' : cell(fields, 'list'),
  }))
}
