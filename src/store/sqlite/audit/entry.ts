/**
 * NAME      entry - what a verb leaves in the audit
 * DESCRIPTION
 *   A rule looks before its verb runs, and says afterwards what there is to
 *   write: null where nothing changed. Details name fields as the API does, and
 *   hold plain values only.
 */
import type { AuditDetail, AuditValue } from '../../port/tenants/audit.js'
import type { Db, Row } from '../connect.js'
import type { Verb, WriterVerbs } from '../protocol.js'
import type { Table } from '../schema/record.js'

export interface Entry {
  readonly accountId: string
  readonly action: string
  readonly object: { readonly type: string; readonly id: string | null }
  readonly workspaceId?: string | null
  readonly detail?: AuditDetail
}

/** Rows as they are before the verb runs. */
export type Look = <T>(table: Pick<Table<T>, 'name' | 'columns' | 'decode'>, id: string) => T | null

export type Rule<V extends Verb> = (
  look: Look,
  ...args: Parameters<WriterVerbs[V]>
) => (result: ReturnType<WriterVerbs[V]>) => Entry | null

export type Rules = { readonly [V in Verb]?: Rule<V> }

export const createLook =
  (db: Db): Look =>
  ({ name, columns, decode }, id) => {
    const row = db.prepare<[string], Row>(`SELECT ${columns} FROM ${name} WHERE id = ?`).get(id)
    return row === undefined ? null : decode(row)
  }

const nameOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const plain = (value: unknown): AuditValue => {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value as AuditValue
  return Array.isArray(value)
    ? value.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
    : JSON.stringify(value)
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Of these fields those that a change changes, with what they were. */
export const changed = <T extends object>(
  before: T,
  change: Partial<T>,
  fields: readonly (keyof T & string)[],
): AuditDetail =>
  Object.fromEntries(
    fields
      .filter((field) => change[field] !== undefined && !isSame(change[field], before[field]))
      .map((field) => [nameOf(field), { before: plain(before[field]), after: plain(change[field]) }]),
  )

export const isEmpty = (detail: AuditDetail): boolean => Object.keys(detail).length === 0
