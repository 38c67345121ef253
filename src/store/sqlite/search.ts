/**
 * NAME      search - the index of words by FTS5, in parts by the places of mails
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
import type { Page } from '../../lifecycle/page.js'
import type { IndexedMail } from '../port/watch.js'
import { COMPLAINED } from '../sql/log/events.js'
import { EMAIL, SUBMITTED_BY } from '../sql/mails.js'
import { dayStart, type Range, TOP } from '../sql/pages.js'
import { type Asking, all, first, type Row } from '../sql/query.js'
import {
  type Direction,
  type Expression,
  type Lead,
  type Owner,
  offered,
  ownerTokens,
  type SearchFacts,
  TOKENS,
  type Tokens,
  tokensOf,
  type WordIndex,
  way,
} from '../sql/search/tokens.js'
import type { Db } from './connect.js'
import type { WriteContext } from './write/context.js'

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

/** The parts that have places of a range, in this direction. To be asked in the snapshot in which they are searched. */
function* partsIn({ from, to }: Range, direction: Page['direction']): Asking<readonly string[]> {
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
function* partsBegin(): Asking<number> {
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

const createParts = (db: Db): Parts => {
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

// The index of words, as it is searched.

/** Spans of a thousand mails each that the first look into the index goes over; more, while that takes no time. */
const SPANS = 128
const MOST_SPANS = 1e9
const QUICK_MS = 4
const FASTER = 4

const textOf = (sought: Tokens): string => {
  if (typeof sought === 'string') return `"${sought}"`
  return 'all' in sought
    ? `(${sought.all.map(textOf).join(' AND ')})`
    : `(${sought.any.map(textOf).join(' OR ')})`
}

const matchOf = ({ wanted, unwanted }: Expression): string =>
  [textOf({ all: wanted }), ...unwanted.map(textOf)].join(' NOT ')

/** The part of a range that is looked at in one go. */
function* bounded(direction: Direction, { from, to }: Range, spans: number): Asking<Range> {
  const isOlder = direction === 'older'
  const row = yield* first(
    `SELECT first FROM search_spans WHERE first ${isOlder ? '< ?' : '> ?'} ORDER BY first ${way(direction)} LIMIT 1 OFFSET ? + 0`,
    isOlder ? to : from,
    spans,
  )
  const edge = row?.first as number | undefined
  if (edge === undefined) return { from, to }
  return isOlder ? { from: Math.max(from, edge), to } : { from, to: Math.min(to, edge) }
}

/** Mails whose tokens are as the expression says, and those that are in no part of the index. */
function* look(match: string, direction: Direction, { from, to }: Range, limit: number): Asking<number[]> {
  const begin = yield* partsBegin()
  const looks = (yield* partsIn({ from, to }, direction)).map((part) => ({
    text: `SELECT rowid AS ord FROM ${part} WHERE ${part} MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid ${way(direction)} LIMIT ? + 0`,
    params: [match, from, to],
  }))
  const rest = {
    text: `SELECT ord FROM emails WHERE ord >= ? AND ord < ? ORDER BY ord ${way(direction)} LIMIT ? + 0`,
    params: [from, Math.min(to, begin)],
  }
  if (from < begin) looks.splice(direction === 'older' ? looks.length : 0, 0, rest as (typeof looks)[number])
  const ords: number[] = []
  for (const { text, params } of looks)
    if (ords.length < limit)
      for (const { ord } of yield* all(text, ...params, limit - ords.length)) ords.push(ord as number)
  return ords
}

export const indexLead = (expression: Expression): Lead => {
  const match = matchOf(expression)
  let spans = SPANS
  return {
    *take(direction, range, limit) {
      const began = performance.now()
      const looked = yield* bounded(direction, range, spans)
      const ords = yield* look(match, direction, looked, limit)
      if (performance.now() - began < QUICK_MS) spans = Math.min(spans * FASTER, MOST_SPANS)
      return offered(direction, range, looked, ords, limit)
    },
  }
}

function* hasMail(tokens: readonly string[]): Asking<boolean> {
  const match = matchOf({ wanted: tokens, unwanted: [] })
  for (const part of yield* partsIn({ from: 0, to: TOP }, 'older'))
    if ((yield* first(`SELECT 1 FROM ${part} WHERE ${part} MATCH ? LIMIT 1`, match)) !== null) return true
  return false
}

const each = (text: string) =>
  function* (ords: readonly number[]): Asking<readonly Row[]> {
    const rows: Row[] = []
    for (const ord of ords) rows.push(...(yield* all(text, ord)))
    return rows
  }

export const WORDS: WordIndex = {
  lead: indexLead,
  hasMail,
  mailsAt: each(`${EMAIL} WHERE e.ord = ?`),
  recipientsAt: each(
    'SELECT email_ord, address_lc, status, reason, held FROM recipients WHERE email_ord = ?',
  ),
  complainedAt: each(
    `SELECT email AS email_ord FROM events WHERE email = ? AND kind = ${COMPLAINED} AND flags & 1 = 1`,
  ),
  together: 1,
  held: 'recipients',
  asideMs: 8,
}

// What goes into the search index, and what leaves it. A mail that was erased since it was read is left out. What is
// erased leaves the index at once, what is old with its part.

/** Mails of one span. */
const SPAN = 1_000

const OWNER = `SELECT w.account_id AS account, e.workspace, e.pool, e.test, e.ord, e.sender, e.subject, e.lists, ${SUBMITTED_BY}
  FROM emails e JOIN workspaces w ON w.n = e.workspace WHERE e.ord = ? AND e.message_id <> ''`

interface OwnedMail extends Owner, Omit<SearchFacts, 'addresses'> {
  readonly ord: number
}

const prepareWrites = (db: Db) => ({
  place: db.prepare<[], number>('SELECT place FROM search_state').pluck(),
  singly: db.prepare<[], number>('SELECT singly FROM search_state').pluck(),
  find: db.prepare<[number], OwnedMail>(OWNER),
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
  sql: ReturnType<typeof prepareWrites>,
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
  const sql = prepareWrites(db)
  const parts = createParts(db)
  const singly = sql.singly.get() ?? 0

  /** What is indexed of a mail, and where. */
  const indexed = (ord: number): { readonly row: OwnedMail; readonly part: string } | null => {
    const part = ord <= (sql.place.get() ?? 0) ? parts.of(ord) : null
    const row = part === null ? undefined : sql.find.get(ord)
    return part === null || row === undefined ? null : { row, part }
  }
  const tokensAt = (row: OwnedMail): string =>
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
