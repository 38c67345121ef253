/**
 * NAME      write - what goes into the search index, and what leaves it
 * DESCRIPTION
 *   Mails and the place that the index comes to are one verb, and it compares the
 *   place before it moves it: two that index at once add each mail once. A mail
 *   that was erased since it was read is left out. What is erased leaves the index
 *   at once, what is old with its part.
 */

import { SUBMITTED_BY } from '../../sql/mails/lists.js'
import type { IndexedMail } from '../../sql/search/to-index.js'
import { type Facts, type Owner, ownerTokens, TOKENS, tokensOf } from '../../sql/search/tokens.js'
import type { Db } from '../connect.js'
import type { WriteContext } from '../write/context.js'
import { createParts } from './parts.js'

/** Mails of one span. */
const SPAN = 1_000

export interface SearchWrites {
  /** False, and nothing is added, when the index does not end at `from`. */
  addIndexed(from: number, to: number, mails: readonly IndexedMail[]): boolean
}

const OWNER = `SELECT w.account_id AS account, e.workspace, e.pool, e.test, e.ord, e.sender, e.subject, e.lists, ${SUBMITTED_BY}
  FROM emails e JOIN workspaces w ON w.n = e.workspace WHERE e.ord = ? AND e.message_id <> ''`

interface Row extends Owner, Omit<Facts, 'addresses'> {
  readonly ord: number
}

const prepare = (db: Db) => ({
  place: db.prepare<[], number>('SELECT place FROM search_state').pluck(),
  move: db.prepare('UPDATE search_state SET place = ?'),
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

export const createSearchWrites = ({ db, sql: text }: Pick<WriteContext, 'db' | 'sql'>): SearchWrites => {
  const sql = prepare(db)
  const parts = createParts(db)
  const note = (first: number, mails: number): void => {
    const last = sql.lastSpan.get()
    if (last === undefined || last.mails >= SPAN) sql.begin.run(first, mails)
    else sql.grow.run(mails, last.first)
  }
  return {
    addIndexed(from, to, mails) {
      if (sql.place.get() !== from) return false
      let first: number | null = null
      let part = ''
      let added = 0
      for (const [ord, tokens] of mails) {
        const row = sql.find.get(ord)
        if (row === undefined) continue
        if (first === null) part = parts.next(ord)
        first ??= ord
        text(addTo(part)).run(ord, `${ownerTokens(row)} ${tokens}`)
        added++
      }
      if (first !== null) note(first, added)
      sql.move.run(to)
      return true
    },
  }
}

/** What happens to mails that may be in the index already; before it happens. */
export interface Unindex {
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
