/**
 * NAME      statements - SQL text to prepared statement, once
 * DESCRIPTION
 *   Reads are put together from a few clauses; each combination is prepared the
 *   first time that it is asked for and kept for the life of the connection.
 *   `LIMIT ? + 0`, everywhere: for a bare parameter SQLite looks at its value and plans the
 *   statement anew at every call, which costs ten times what a page costs.
 */
import type { Statement } from 'better-sqlite3'
import { type Ask, BEGIN_SNAPSHOT, END_SNAPSHOT, type Found, type Query } from '../../sql/query.js'
import type { Db, Row } from '../connect.js'

export interface Statements {
  (sql: string): Statement<unknown[], Row>
  /** Does what a shared verb asks for, here and now. */
  readonly ask: Ask
}

const NO_ROWS: readonly Row[] = []

const NOTHING: Found = { rows: NO_ROWS, changes: 0 }

/** A statement that fails, fails in the verb: it may know what that means. Reads have a snapshot anyhow (snapshot.ts). */
export const asking =
  (find: (sql: string) => Statement<unknown[], Row>): Ask =>
  (work) => {
    const answer = (query: Query): Found => {
      if (query === BEGIN_SNAPSHOT || query === END_SNAPSHOT) return NOTHING
      const { text, values } = query
      const statement = find(text)
      return statement.reader
        ? { rows: statement.all(...values), changes: 0 }
        : { rows: NO_ROWS, changes: statement.run(...values).changes }
    }
    let step = work.next()
    while (step.done !== true) {
      let found: Found
      try {
        found = answer(step.value)
      } catch (error) {
        step = work.throw(error)
        continue
      }
      step = work.next(found)
    }
    return step.value
  }

/** `enter` is called ahead of each use, where reads have snapshots. */
export const createStatements = (db: Db, enter: () => void = () => {}): Statements => {
  const prepared = new Map<string, Statement<unknown[], Row>>()
  const find = (sql: string): Statement<unknown[], Row> => {
    enter()
    let statement = prepared.get(sql)
    if (statement === undefined) {
      statement = db.prepare<unknown[], Row>(sql)
      prepared.set(sql, statement)
    }
    return statement
  }
  return Object.assign(find, { ask: asking(find) })
}
