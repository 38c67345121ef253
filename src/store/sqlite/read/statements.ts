/**
 * NAME      statements - SQL text to prepared statement, once
 * DESCRIPTION
 *   Reads are put together from a few clauses; each combination is prepared the
 *   first time that it is asked for and kept for the life of the connection.
 */
import type { Statement } from 'better-sqlite3'
import type { Db, Row } from '../connect.js'

export type Statements = (sql: string) => Statement<unknown[], Row>

export const createStatements = (db: Db): Statements => {
  const prepared = new Map<string, Statement<unknown[], Row>>()
  return (sql) => {
    let statement = prepared.get(sql)
    if (statement === undefined) {
      statement = db.prepare<unknown[], Row>(sql)
      prepared.set(sql, statement)
    }
    return statement
  }
}
