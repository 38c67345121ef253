/**
 * NAME      parts - the index in parts, by the places of mails
 * DESCRIPTION
 *   `search_<first>` has the mails from one place up to where the next part begins.
 *   To take a mail out of a part costs the writer a quarter of a millisecond, so
 *   retention leaves it there, and the whole part goes when next to nothing of it is
 *   left: what is removed has left the index an eighth of the time that mail is kept
 *   later, or a week. Until then the index offers places where no mail is any more.
 *   Mail that stays behind, as it is held, is offered whatever is looked for. While too
 *   much of it stays, no part goes, and what is removed meanwhile leaves singly.
 * NOTES
 *   To drop a table with all that is in it would take long: it is emptied before, and
 *   to be whole meanwhile it gets the structure of an empty one (row 10 of its data,
 *   https://sqlite.org/fts5.html, "Data Format").
 */
import type { Page } from '../../../lifecycle/page.js'
import { dayStart, type Range } from '../../sql/pages.js'
import { type Asking, all, first } from '../../sql/query.js'
import type { Db } from '../connect.js'

const LONGEST = dayStart(7)
const SHORTEST = dayStart(1) / 24
const SHARE = 1 / 8

/** Mails that may stay behind a part. */
const LEFT = 250
/** Pages that are freed in one step: a millisecond. */
const PAGES = 64

const nameOf = (first: number): string => `search_${first}`

/** It keeps no text and no positions, and what is deleted of it singly is gone from its pages at once. */
const CREATE = (name: string): string => `
CREATE VIRTUAL TABLE ${name} USING fts5(
  tokens, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '@.-_+:='"
);
INSERT INTO ${name} (${name}, rank) VALUES ('secure-delete', 1);
`

/** The one that was the whole index becomes the first part; mails that are in it go on leaving it one by one. */
export const SEARCH_PARTS_STEP = (db: Db): void => {
  db.exec(`
    CREATE TABLE search_parts (first INTEGER PRIMARY KEY, gone INTEGER NOT NULL DEFAULT 0);
    ALTER TABLE search_state ADD COLUMN singly INTEGER NOT NULL DEFAULT 0;
    UPDATE search_state SET singly = place;
  `)
  if (db.prepare('SELECT place FROM search_state').pluck().get() === 0) db.exec('DROP TABLE search')
  else db.exec(`ALTER TABLE search RENAME TO ${nameOf(0)}; INSERT INTO search_parts (first) VALUES (0);`)
}

/** The parts that have places of a range, in this direction. To be asked in the snapshot in which they are searched. */
export function* partsIn({ from, to }: Range, direction: Page['direction']): Asking<readonly string[]> {
  const rows = yield* all(
    `SELECT first FROM search_parts WHERE gone = 0 AND first < ?
       AND first >= coalesce((SELECT max(first) FROM search_parts WHERE first <= ?), 0)
     ORDER BY first ${direction === 'older' ? 'DESC' : 'ASC'}`,
    to,
    from,
  )
  return rows.map((row) => nameOf(row.first as number))
}

/** Places below it are in no part. */
export function* partsBegin(): Asking<number> {
  return Number((yield* first('SELECT min(first) AS first FROM search_parts WHERE gone = 0'))?.first ?? 0)
}

const prepare = (db: Db) => ({
  last: db.prepare<[], number>('SELECT max(first) FROM search_parts').pluck(),
  kept: db
    .prepare<[], number>('SELECT last - coalesce((SELECT min(ord) FROM emails), last) FROM order_state')
    .pluck(),
  begin: db.prepare('INSERT INTO search_parts (first) VALUES (?)'),
  of: db.prepare<[number], { first: number; gone: number }>(
    'SELECT first, gone FROM search_parts WHERE first <= ? ORDER BY first DESC LIMIT 1',
  ),
  oldest: db.prepare<[], { first: number; gone: number }>(
    'SELECT first, gone FROM search_parts ORDER BY first LIMIT 2',
  ),
  left: db
    .prepare<[number], number>(`SELECT count(*) FROM (SELECT 1 FROM emails WHERE ord < ? LIMIT ${LEFT + 1})`)
    .pluck(),
  leave: db.prepare('UPDATE search_parts SET gone = 1 WHERE first = ?'),
  forget: db.prepare('DELETE FROM search_parts WHERE first = ?'),
})

interface Parts {
  /** Where the next mail belongs, which has this place. */
  next(ord: number): string
  /** Where a mail is; null: in none any more. */
  of(ord: number): string | null
  /** One step of dropping a part all of whose places are below; 0: there is none, or too much of it is left. */
  drop(below: number): number
  /** The oldest part can not go, as too many mails in it or before it are still there. */
  readonly isKept: boolean
}

/** Tables of the index are written to by nothing else than the index, unless it is said. */
const inside = <T>(db: Db, write: () => T): T => {
  db.unsafeMode(true)
  try {
    return write()
  } finally {
    db.unsafeMode(false)
  }
}

/** Frees some pages of a part that has the structure of an empty one; how many. */
const empty = (db: Db, first: number): number => {
  const data = `${nameOf(first)}_data`
  const pages = `SELECT id FROM ${data} WHERE id > 10 ORDER BY id LIMIT ${PAGES}`
  return inside(db, () => db.prepare(`DELETE FROM ${data} WHERE id IN (${pages})`).run().changes)
}

export const createParts = (db: Db): Parts => {
  const sql = prepare(db)
  let isKept = false

  const leave = (first: number): void => {
    sql.leave.run(first)
    inside(db, () =>
      db.exec(`UPDATE ${nameOf(first)}_data SET block = substr(block, 1, 4) || x'000000' WHERE id = 10`),
    )
  }

  return {
    get isKept() {
      return isKept
    },

    next(ord) {
      const last = sql.last.get() ?? null
      const longest = Math.max(SHORTEST, Math.min(LONGEST, (sql.kept.get() ?? 0) * SHARE))
      if (last !== null && ord - last < longest) return nameOf(last)
      db.exec(CREATE(nameOf(ord)))
      sql.begin.run(ord)
      return nameOf(ord)
    },

    of(ord) {
      const part = sql.of.get(ord)
      return part === undefined || part.gone === 1 ? null : nameOf(part.first)
    },

    drop(below) {
      const [oldest, second] = sql.oldest.all()
      if (oldest === undefined) return 0
      const { first, gone } = oldest
      if (gone === 0) {
        isKept = second !== undefined && second.first <= below && (sql.left.get(second.first) ?? 0) > LEFT
        if (second === undefined || second.first > below || isKept) return 0
        leave(first)
        return 1
      }
      const emptied = empty(db, first)
      if (emptied > 0) return emptied
      db.exec(`DROP TABLE ${nameOf(first)}`)
      sql.forget.run(first)
      return 1
    },
  }
}
