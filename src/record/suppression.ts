/**
 * NAME      suppression - a suppressed address as the wire has it, and a list of them as CSV
 * DESCRIPTION
 *   email, reason, origin, created_at, expires_at; only the first column is needed, and a header line names
 *   the others, also in the words that other providers use in their exports. Nothing is judged here.
 */
import { toRfc3339 } from '../base/clock.js'
import type { SuppressionRow } from '../store/port/tenants.js'
import type { PendingSuppression } from '../store/port/watch.js'
import { readCsvLines, unguarded } from './csv.js'

/** True for a row that counts in every workspace of its account. */
const isAccountWide = ({ list, accountId }: SuppressionRow): boolean => list === accountId

export const suppressionRecord = (row: SuppressionRow | PendingSuppression) => ({
  id: row.id,
  object: 'suppression' as const,
  email: row.email,
  origin: row.origin,
  source_id: row.sourceId,
  ...(row.reason !== null && { reason: row.reason }),
  ...(row.expiresAt !== null && { expires_at: toRfc3339(row.expiresAt) }),
  ...(isAccountWide(row) && { scope: 'account' as const }),
  ...('incidentId' in row && { status: 'pending' as const, incident_id: row.incidentId }),
  created_at: toRfc3339(row.createdAt),
})

const SUPPRESSION_COLUMNS = ['email', 'reason', 'origin', 'created_at', 'expires_at', 'source_id'] as const

export interface ListLine {
  /** Which line of the text. */
  readonly at: number
  readonly email: string
  readonly reason: string | null
  /** As it stands in the file. */
  readonly expires: string
  /** Empty where it is not said; the same of the two that follow. */
  readonly origin: string
  readonly created: string
  readonly source: string
}

/** What other providers call our columns, letters and digits only, the best first. */
const ALSO = {
  email: ['email', 'emailaddress', 'address', 'recipient', 'recipientemail', 'mail'],
  reason: ['reason', 'suppressionreason', 'type', 'description', 'error', 'cause', 'status'],
  expires_at: ['expiresat', 'expires', 'expiry'],
  origin: ['origin'],
  created_at: ['createdat'],
  source_id: ['sourceid'],
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
  }))
}
