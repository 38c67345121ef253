/**
 * NAME      csv - RFC 4180, both ways
 * DESCRIPTION
 *   A spreadsheet runs what begins with `=`, `+`, `-` or `@` as a formula, and addresses may begin
 *   with any of them. `guarded` puts an apostrophe before such a cell, which spreadsheets take for
 *   "this is text", and `unguarded` takes it away again, so that an export imports unchanged.
 */

interface CsvRecord {
  /** The line of the text on which it begins, from 1. */
  readonly line: number
  readonly fields: readonly string[]
}

/** Records of fields. Quoted fields may hold commas, quotes and line ends; empty lines are skipped. */
export const readCsvLines = (text: string): readonly CsvRecord[] => {
  const records: CsvRecord[] = []
  let record: string[] = []
  let line = 1
  let ends = 0
  const field = /[^\S\r\n]*(?:"((?:[^"]|"")*)"[^\S\r\n]*|([^,\r\n]*))(,|\r?\n|\r|$)/y
  const body = text.replace(/^\ufeff/, '')
  while (field.lastIndex < body.length) {
    const [all = '', quoted, plain = '', end] = field.exec(body) ?? []
    if (end === undefined) break
    record.push(quoted?.replace(/""/g, '"') ?? plain.trim())
    ends += all.match(/\r?\n|\r/g)?.length ?? 0
    if (end === ',') continue
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
