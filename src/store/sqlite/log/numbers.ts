/**
 * NAME      numbers - the numbers of what events name again and again
 * DESCRIPTION
 *   A server that was tried is a row of `mtas`, the detail of an attempt one of `attempt_details`.
 */
import type { RunResult } from 'better-sqlite3'
import type { Numbers } from '../../sql/log/codec.js'
import type { WriteContext } from '../write/context.js'

export const createNumbers = ({ db, onRollback }: Pick<WriteContext, 'db' | 'onRollback'>): Numbers => {
  const sql = {
    mta: db
      .prepare<[string, string, string | null], number>(
        'SELECT n FROM mtas WHERE pool_id = ? AND upstream_id = ? AND host IS ?',
      )
      .pluck(),
    addMta: db.prepare('INSERT INTO mtas (pool_id, upstream_id, host) VALUES (?, ?, ?)'),
    detail: db.prepare<[string], number>('SELECT n FROM attempt_details WHERE detail = ?').pluck(),
    addDetail: db.prepare('INSERT INTO attempt_details (detail) VALUES (?)'),
  }
  const known = new Map<string, number>()
  onRollback(() => known.clear())
  const numberOf = (key: string, find: () => number | undefined, add: () => RunResult): number => {
    const n = known.get(key) ?? find() ?? Number(add().lastInsertRowid)
    known.set(key, n)
    return n
  }
  return {
    // servers that others name are as many as they like
    mta: ({ poolId, upstreamId, host }) =>
      upstreamId === null
        ? 0
        : numberOf(
            `${poolId} ${upstreamId} ${host}`,
            () => sql.mta.get(poolId, upstreamId, host),
            () => sql.addMta.run(poolId, upstreamId, host),
          ),
    detail: (shape) =>
      numberOf(
        shape,
        () => sql.detail.get(shape),
        () => sql.addDetail.run(shape),
      ),
  }
}
