/**
 * NAME      write - what goes into the search index, and what leaves it
 * DESCRIPTION
 *   A mail that was erased since it was read is left out. What is erased leaves the
 *   index at once, what is old with its part.
 */

import type { IndexedMail } from '../../port/watch.js'
import { SUBMITTED_BY } from '../../sql/mails.js'
import { type Facts, type Owner, ownerTokens, TOKENS, tokensOf } from '../../sql/search/tokens.js'
import type { Db } from '../connect.js'
import type { WriteContext } from '../write/context.js'
import { createParts } from './parts.js'

/** Mails of one span. */
const SPAN = 1_000

const OWNER = `SELECT w.account_id AS account, e.workspace, e.pool, e.test, e.ord, e.sender, e.subject, e.lists, ${SUBMITTED_BY}
  FROM emails e JOIN workspaces w ON w.n = e.workspace WHERE e.ord = ? AND e.message_id <> ''`

interface Row extends Owner, Omit<Facts, 'addresses'> {
  readonly ord: number
}

const prepare = (db: Db) => ({
  place: db.prepare<[], number>('SELECT place FROM search_state').pluck(),
  singly: db.prepare<[], number>('SELECT singly FROM search_state').pluck(),
  find: db.prepare<[number], Row>(OWNER),
  addresses: db.prepare<[number], string>('SELECT address_lc FROM recipients WHERE email_ord = ?').pluck(),
  lastSpan: db.prepare<[], { first: number; mails: number }>(
    'SELECT first, mails FROM search_spans ORDER BY first DESC LIMIT 1',
  ),
  begin: db.prepare('INSERT INTO search_spans (first, mails) VALUES (?, ?)'),
  grow: db.prepare('UPDATE search_spans SET mails = mails + ? WHERE first = ?'),
  forget: db.prepare(
    `DELETE FROM search_spans WHERE first < (SELECT max(first) FROM search_spans WHERE first <= (SELECT min(ord) FROM emails))`,
  ),
})

const addTo = (part: string): string => `INSERT INTO ${part} (rowid, tokens) VALUES (?, ?)`
const removeFrom = (part: string): string =>
  `INSERT INTO ${part} (${part}, rowid, tokens) VALUES ('delete', ?, ?)`

/** What happens to mails that may be in the index already; before it happens. */
export interface Unindex {
  /** They are in it from now on. */
  add(mails: readonly IndexedMail[]): void
  /** All of it goes, at once. */
  remove(ord: number): void
  /** It is old: it leaves the index with its part, or now, when that part can not go. */
  age(ord: number): void
  /** It is there again, at the same place. */
  restore(ord: number): void
  /** It gets another pool. */
  move(ord: number, pool: number): void
  /** One step of forgetting what is below a place: parts, and spans; 0 when nothing is left to do. */
  drop(below: number): number
}

/** Adds mails, with the place that the index comes to. */
const createAdd = (
  sql: ReturnType<typeof prepare>,
  parts: ReturnType<typeof createParts>,
  text: WriteContext['sql'],
) => {
  const note = (first: number, mails: number): void => {
    const last = sql.lastSpan.get()
    if (last === undefined || last.mails >= SPAN) sql.begin.run(first, mails)
    else sql.grow.run(mails, last.first)
  }
  return (mails: readonly IndexedMail[]): void => {
    let part: string | null = null
    let first = 0
    let added = 0
    for (const [ord, tokens] of mails) {
      const row = sql.find.get(ord)
      if (row === undefined) continue
      part ??= parts.next(ord)
      text(addTo(part)).run(ord, `${ownerTokens(row)} ${tokens}`)
      if (added++ === 0) first = ord
    }
    if (added > 0) note(first, added)
  }
}

export const createUnindex = ({ db, sql: text }: Pick<WriteContext, 'db' | 'sql'>): Unindex => {
  const sql = prepare(db)
  const parts = createParts(db)
  const singly = sql.singly.get() ?? 0

  /** What is indexed of a mail, and where. */
  const indexed = (ord: number): { readonly row: Row; readonly part: string } | null => {
    const part = ord <= (sql.place.get() ?? 0) ? parts.of(ord) : null
    const row = part === null ? undefined : sql.find.get(ord)
    return part === null || row === undefined ? null : { row, part }
  }
  const tokensAt = (row: Row): string =>
    `${ownerTokens(row)} ${tokensOf({ ...row, addresses: sql.addresses.all(row.ord) })}`

  const remove = (ord: number): void => {
    const found = indexed(ord)
    if (found !== null) text(removeFrom(found.part)).run(ord, tokensAt(found.row))
  }
  return {
    remove,
    add: createAdd(sql, parts, text),
    age(ord) {
      if (ord <= singly || parts.isKept) remove(ord)
    },
    restore(ord) {
      const found = indexed(ord)
      if (found !== null) text(addTo(found.part)).run(ord, tokensAt(found.row))
    },
    move(ord, pool) {
      const found = indexed(ord)
      if (found === null || found.row.pool === pool) return
      text(removeFrom(found.part)).run(ord, TOKENS.pool(found.row.pool))
      text(addTo(found.part)).run(ord, TOKENS.pool(pool))
    },
    drop(below) {
      const dropped = parts.drop(below)
      if (dropped > 0) sql.forget.run()
      return dropped
    },
  }
}
