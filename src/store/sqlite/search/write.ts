/**
 * NAME      write - what goes into the search index, and what leaves it
 * DESCRIPTION
 *   Mails and the place that the index comes to are one verb, and it compares the
 *   place before it moves it: two that index at once add each mail once. A mail
 *   that was erased since it was read is left out.
 */
import type { Db } from '../connect.js'
import { type Facts, type Owner, ownerTokens, TOKENS, tokensOf } from './tokens.js'

/** Mails of one span. */
const SPAN = 1_000

export type IndexedMail = readonly [ord: number, tokens: string]

export interface SearchWrites {
  /** False, and nothing is added, when the index does not end at `from`. */
  addIndexed(from: number, to: number, mails: readonly IndexedMail[]): boolean
}

const OWNER = `SELECT w.account_id AS account, e.workspace, e.pool, e.test, e.ord, e.sender, e.subject, e.lists
  FROM emails e JOIN workspaces w ON w.n = e.workspace WHERE e.ord = ? AND e.message_id <> ''`

interface Row extends Owner, Omit<Facts, 'addresses'> {
  readonly ord: number
}

const prepare = (db: Db) => ({
  place: db.prepare<[], number>('SELECT place FROM search_state').pluck(),
  move: db.prepare('UPDATE search_state SET place = ?'),
  find: db.prepare<[number], Row>(OWNER),
  addresses: db.prepare<[number], string>('SELECT address_lc FROM recipients WHERE email_ord = ?').pluck(),
  add: db.prepare('INSERT INTO search (rowid, tokens) VALUES (?, ?)'),
  remove: db.prepare("INSERT INTO search (search, rowid, tokens) VALUES ('delete', ?, ?)"),
  lastSpan: db.prepare<[], { first: number; mails: number }>(
    'SELECT first, mails FROM search_spans ORDER BY first DESC LIMIT 1',
  ),
  begin: db.prepare('INSERT INTO search_spans (first, mails) VALUES (?, ?)'),
  grow: db.prepare('UPDATE search_spans SET mails = mails + ? WHERE first = ?'),
  forget: db.prepare(
    `DELETE FROM search_spans WHERE first < (SELECT max(first) FROM search_spans WHERE first <= (SELECT min(ord) FROM emails))`,
  ),
})

export const createSearchWrites = (db: Db): SearchWrites => {
  const sql = prepare(db)
  const note = (first: number, mails: number): void => {
    const last = sql.lastSpan.get()
    if (last === undefined || last.mails >= SPAN) sql.begin.run(first, mails)
    else sql.grow.run(mails, last.first)
  }
  return {
    addIndexed(from, to, mails) {
      if (sql.place.get() !== from) return false
      let added = 0
      for (const [ord, tokens] of mails) {
        const row = sql.find.get(ord)
        if (row === undefined) continue
        sql.add.run(ord, `${ownerTokens(row)} ${tokens}`)
        added++
      }
      const first = mails[0]?.[0]
      if (first !== undefined && added > 0) note(first, added)
      sql.move.run(to)
      return true
    },
  }
}

/** What happens to mails that may be in the index already; before it happens. */
export interface Unindex {
  /** All of it goes. */
  remove(ord: number): void
  /** It is there again, at the same place. */
  restore(ord: number): void
  /** It gets another pool. */
  move(ord: number, pool: number): void
  /** Forgets spans that no mail is in any more. */
  forget(): void
}

export const createUnindex = (db: Db): Unindex => {
  const sql = prepare(db)
  const indexed = (ord: number): Row | undefined =>
    ord <= (sql.place.get() ?? 0) ? sql.find.get(ord) : undefined
  const tokensAt = (row: Row): string =>
    `${ownerTokens(row)} ${tokensOf({ ...row, addresses: sql.addresses.all(row.ord) })}`
  return {
    remove(ord) {
      const row = indexed(ord)
      if (row !== undefined) sql.remove.run(ord, tokensAt(row))
    },
    restore(ord) {
      const row = indexed(ord)
      if (row !== undefined) sql.add.run(ord, tokensAt(row))
    },
    move(ord, pool) {
      const row = indexed(ord)
      if (row === undefined || row.pool === pool) return
      sql.remove.run(ord, TOKENS.pool(row.pool))
      sql.add.run(ord, TOKENS.pool(pool))
    },
    forget: () => void sql.forget.run(),
  }
}
