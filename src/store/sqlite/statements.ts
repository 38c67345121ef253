/**
 * NAME      statements - prepared once for each connection, and the tables that they read
 *   Reads are put together from a few clauses; each combination is prepared the first time that it is asked
 *   for and kept for the life of the connection. `LIMIT ? + 0`, everywhere: for a bare parameter SQLite
 *   looks at its value and plans the statement anew at every call, which costs ten times what a page costs.
 */
import { setImmediate } from 'node:timers/promises'
import type { Statement } from 'better-sqlite3'
import type { LogEnds } from '../sql/log/reads.js'
import type { MailTables } from '../sql/mails.js'
import {
  type Ask,
  type Asking,
  type AskLater,
  BEGIN_SNAPSHOT,
  END_SNAPSHOT,
  type Found,
  first,
  isPause,
  NOTHING_FOUND,
  type Row,
  type SqlQuery,
} from '../sql/query.js'
import type { SqliteRow as Columns, Db } from './connect.js'

export interface Statements {
  (sql: string): Statement<unknown[], Columns>
  /** Does what a shared verb asks for, here and now. */
  readonly ask: Ask
  /** The same, with pauses for other work. */
  readonly askLater: AskLater
}

type Find = (sql: string) => Statement<unknown[], Columns>

/** Reads have a snapshot anyhow (read/known.ts). */
const answer = (find: Find, query: SqlQuery): Found => {
  if (query === BEGIN_SNAPSHOT || query === END_SNAPSHOT || isPause(query)) return NOTHING_FOUND
  const { text, values, works } = query
  if (works !== undefined) return { rows: works.map((work) => done(find, work())) as never, changes: 0 }
  const statement = find(text)
  return statement.reader
    ? { rows: statement.all(...values), changes: 0 }
    : { ...NOTHING_FOUND, changes: statement.run(...values).changes }
}

/** The next step of the work. A statement that fails, fails in the verb: it may know what that means. */
const advance = <T>(find: Find, work: Asking<T>, query: SqlQuery): IteratorResult<SqlQuery, T> => {
  let found: Found
  try {
    found = answer(find, query)
  } catch (error) {
    return work.throw(error)
  }
  return work.next(found)
}

const done = <T>(find: Find, work: Asking<T>): T => {
  let step = work.next()
  while (step.done !== true) step = advance(find, work, step.value)
  return step.value
}

export const asking =
  (find: Find): Ask =>
  (work) =>
    done(find, work)

/** Where several works rest, one of them goes on in each turn of the event loop: together they hold up others no longer than one. */
const inTurn = (): (() => Promise<unknown>) => {
  let last: Promise<unknown> = Promise.resolve()
  return () => {
    last = last.then(() => setImmediate())
    return last
  }
}

const askingLater =
  (find: Find, turn = inTurn()): AskLater =>
  async (work) => {
    let step = work.next()
    while (step.done !== true) {
      if (isPause(step.value)) await turn()
      step = advance(find, work, step.value)
    }
    return step.value
  }

/** `enter` is called ahead of each use, where reads have snapshots. */
export const createStatements = (db: Db, enter: () => void = () => {}): Statements => {
  const prepared = new Map<string, Statement<unknown[], Columns>>()
  const find = (sql: string): Statement<unknown[], Columns> => {
    enter()
    let statement = prepared.get(sql)
    if (statement === undefined) {
      statement = db.prepare<unknown[], Columns>(sql)
      prepared.set(sql, statement)
    }
    return statement
  }
  return Object.assign(find, { ask: asking(find), askLater: askingLater(find) })
}

export const MAIL: MailTables = {
  recipients: 'recipients',
  waiting: 'recipients',
  accountOfNotice: "v.more ->> '$.account'",
  mtaOfEvent: "json_extract(e.more, '$[1]')",
  record: 'recipients',
  domainOf: "substr(r.address_lc, instr(r.address_lc, '@') + 1)",
  by: (index) => (index === null ? ' NOT INDEXED' : ` INDEXED BY ${index}`),
  // one writer, and a snapshot has all that it committed
  frontiers: null,
}

export function* logEnds(): Asking<LogEnds> {
  const { floor, last } = (yield* first('SELECT s.floor, o.last FROM log_state s, order_state o')) as Row as {
    readonly floor: number
    readonly last: number
  }
  return { oldest: { ord: floor, n: 0 }, newest: { ord: Math.max(last + 1, floor), n: 0 } }
}

/** What of three entries stands in the list of the workspace, or in that of its account: values are the list, twice, the entries, now. */
export const SUPPRESSED = `SELECT email FROM suppressions
  WHERE workspace_id IN (?, (SELECT account_id FROM workspaces WHERE id = ?)) AND email IN (?, ?, ?)
    AND (expires_at IS NULL OR expires_at > ?)`

export const createPerMailReads = (sql: Statements) => ({
  suppressed: (list: string, emails: readonly string[], now: number): readonly string[] =>
    emails.filter((email) => sql(SUPPRESSED).get(list, list, email, null, null, now) !== undefined),
  usedIn: (bucket: string, window: number): number =>
    Number(sql('SELECT used FROM rate_windows WHERE bucket = ? AND span = ?').get(bucket, window)?.used ?? 0),
})
