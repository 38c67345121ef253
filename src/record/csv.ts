/**
 * NAME      csv - RFC 4180, both ways
 * DESCRIPTION
 *   A spreadsheet runs what begins with `=`, `+`, `-` or `@` as a formula, and addresses may begin
 *   with any of them. `guarded` puts an apostrophe before such a cell, which spreadsheets take for
 *   "this is text", and `unguarded` takes it away again, so that an export imports unchanged.
 *   Where a comma is the decimal sign, spreadsheets write semicolons between cells: a first line that
 *   has some, or tabs, and no comma outside of quotes says so.
 */

interface CsvRecord {
  /** The line of the text on which it begins, from 1. */
  readonly line: number
  readonly fields: readonly string[]
}

const separatorOf = (text: string): ',' | ';' | '\t' => {
  const [first = ''] = text
    .slice(0, 65_536)
    .replace(/"[^"]*"/g, '')
    .split(/[\r\n]/, 1)
  if (first.includes(',')) return ','
  return first.includes(';') ? ';' : first.includes('\t') ? '\t' : ','
}

const fieldBefore = (separator: string): RegExp =>
  new RegExp(
    `[^\\S\\r\\n${separator}]*(?:"((?:[^"]|"")*)"[^\\S\\r\\n${separator}]*|([^${separator}\\r\\n]*))(${separator}|\\r?\\n|\\r|$)`,
    'y',
  )

/** Records of fields. Quoted fields may hold commas, quotes and line ends; empty lines are skipped. */
export const readCsvLines = (text: string): readonly CsvRecord[] => {
  const records: CsvRecord[] = []
  let record: string[] = []
  let line = 1
  let ends = 0
  const body = text.replace(/^\ufeff/, '')
  const separator = separatorOf(body)
  const field = fieldBefore(separator)
  while (field.lastIndex < body.length) {
    const [all = '', quoted, plain = '', end] = field.exec(body) ?? []
    if (end === undefined) break
    record.push(quoted?.replace(/""/g, '"') ?? plain.trim())
    ends += all.match(/\r?\n|\r/g)?.length ?? 0
    if (end === separator) continue
    if (record.some((value) => value !== '')) records.push({ line, fields: record })
    record = []
    line += ends
    ends = 0
  }
  if (record.some((value) => value !== '')) records.push({ line, fields: [...record, ''] })
  return records
}

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
