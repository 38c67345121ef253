/**
 * NAME      suppression-list - suppressed addresses as CSV
 * DESCRIPTION
 *   email, reason, origin, created_at, expires_at; only the first column is needed, and a header line names the others,
 *   also in the words that other providers use in their exports. Nothing is judged here.
 */
import { readCsvLines, unguarded } from '../csv.js'

export const SUPPRESSION_COLUMNS = ['email', 'reason', 'origin', 'created_at', 'expires_at'] as const

export interface ListLine {
  /** Which line of the text. */
  readonly at: number
  readonly email: string
  readonly reason: string | null
  /** As it stands in the file. */
  readonly expires: string
}

/** What other providers call our columns, letters and digits only, the best first. */
const ALSO = {
  email: ['email', 'emailaddress', 'address', 'recipient', 'recipientemail', 'mail'],
  reason: ['reason', 'suppressionreason', 'type', 'description', 'error', 'cause', 'status'],
  expires_at: ['expiresat', 'expires', 'expiry'],
} as const
type Column = keyof typeof ALSO

/** Where each column stands: by header when there is one, else by the order above. */
const placesIn = (first: readonly string[]): Record<Column, number> | null => {
  const names = first.map((name) => name.toLowerCase().replace(/[^a-z0-9]/g, ''))
  const place = (column: Column): number =>
    names.indexOf(ALSO[column].find((name) => names.includes(name)) ?? '?')
  const found = { email: place('email'), reason: place('reason'), expires_at: place('expires_at') }
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
  }))
}
