/**
 * NAME      write - a verb, and the entry of who called it
 * DESCRIPTION
 *   Both are in one transaction. Calls that share an entry are one order: the
 *   first of them writes it, the others add what they changed to `changed`.
 */
import { newId } from '../../../base/id.js'
import type { AuditDetail } from '../../port/identity.js'
import {
  type Acting,
  countOf,
  type Entry,
  type Look,
  type Looked,
  RULES,
  type Rules,
} from '../../rules/audit.js'
import type { Places } from '../insert.js'
import { type Asking, first, run } from '../query.js'
import type { Table } from '../table.js'
import { insertEntry } from './entries.js'

type AnyRules = Readonly<Record<string, (...args: unknown[]) => (result: unknown) => Entry | null>>

/** Where the rows stand that rules look at. */
export type LookedTables = {
  readonly [Name in keyof Looked]: Pick<Table<Looked[Name]>, 'name' | 'columns' | 'decode'>
}

interface Written {
  readonly places: Places
  readonly now: () => number
}

export const writeEntry = ({ places, now }: Written) => {
  const insert = insertEntry(places)
  return ({ actor, entry: id }: Acting, { workspaceId = null, detail, ...entry }: Entry): Asking<number> => {
    const at = now()
    const said = { ...(actor.reason && { reason: actor.reason }), ...detail }
    return insert({ ...entry, id: id ?? newId('aud', at), at, actor, workspaceId, detail: said })
  }
}

const createLooking = (tables: LookedTables) => {
  const found = new Map<string, unknown>()
  let wanted: (readonly [table: keyof Looked, id: string])[] = []
  const look = (table: keyof Looked, id: string): unknown => {
    if (!found.has(`${table} ${id}`)) wanted.push([table, id])
    return found.get(`${table} ${id}`) ?? null
  }
  /** Asks again as often as it has looked at a row that was not found before. */
  function* until<T>(decide: () => T): Asking<T> {
    for (;;) {
      wanted = []
      const decided = decide()
      if (wanted.length === 0) return decided
      for (const [table, id] of wanted) {
        const { name, columns, decode } = tables[table]
        const row = yield* first(`SELECT ${columns} FROM ${name} WHERE id = ?`, id)
        found.set(`${table} ${id}`, row === null ? null : decode(row))
      }
    }
  }
  return { look: look as Look, until }
}

function* nothing(): Asking<void> {}

function* addChanged(id: string, changed: number): Asking<void> {
  const row = yield* first('SELECT detail FROM audit WHERE id = ?', id)
  const detail = JSON.parse(String(row?.detail)) as AuditDetail
  const sum = { ...detail, changed: Number(detail.changed ?? 0) + changed }
  yield* run('UPDATE audit SET detail = ? WHERE id = ?', JSON.stringify(sum), id)
}

/** To be asked before the verb; what it answers, after it and with its result. */
export const audited = (tables: LookedTables, written: Written) => {
  const write = writeEntry(written)
  return function* (verb: string, args: readonly unknown[], acting: Acting) {
    const { entry: order } = acting
    if (order !== null && (yield* first('SELECT 1 AS begun FROM audit WHERE id = ?', order)) !== null)
      return (result: unknown) => addChanged(order, countOf(result))
    const rule = (RULES as Rules & AnyRules)[verb]
    if (rule === undefined) return nothing
    const { look, until } = createLooking(tables)
    const tell = yield* until(() => rule(look, ...args))
    return function* (result: unknown): Asking<void> {
      const entry = yield* until(() => tell(result))
      if (entry !== null) yield* write(acting, entry)
    }
  }
}
