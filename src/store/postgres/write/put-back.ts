/**
 * NAME      put-back - a database that is as it was at an earlier time
 * DESCRIPTION
 *   Seen by a writer that runs (held.ts). What was acknowledged in the time that is gone may be gone with it, and what was
 *   sent then may be sent again; nothing here can mend that. So that nobody overlooks it, the last time is kept in the
 *   database, for whoever looks at it later. A restore while nothing runs is move/rewound.ts.
 */
import { systemClock } from '../../../base/clock.js'
import type { Log } from '../../../base/log.js'
import type { NotedPutBack } from '../../port/cluster.js'
import { timeOf } from '../../sql/pages.js'
import { type Asking, first, run } from '../../sql/query.js'

export interface PutBack {
  readonly writer: number
  /** The last place that was committed. */
  readonly from: number
  /** The last one that is there. */
  readonly to: number
}

const ROW = 'SELECT epoch, frontier FROM writers WHERE n = ?'

/** Of a row that is not this writer's any more. Whoever takes one over makes its epoch greater. */
export function* putBackBy(own: { readonly n: number; readonly epoch: number; readonly frontier: number }) {
  const row = yield* first(ROW, own.n)
  if (row === null || Number(row.epoch) > own.epoch) return null
  return { writer: own.n, from: own.frontier, to: Number(row.frontier) } satisfies PutBack
}

const lostMs = ({ from, to }: PutBack): number => Math.max(0, timeOf(from) - timeOf(to))

/** All writers see it; the one that misses most is kept. */
export function* notePutBack(found: PutBack): Asking<void> {
  const at = systemClock.now()
  const noted: NotedPutBack = { at, lostMs: lostMs(found) }
  yield* run(
    `INSERT INTO settings AS s (name, value) VALUES ('put_back', ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value
       WHERE CAST(CAST(s.value AS JSON) ->> 'at' AS BIGINT) < CAST(? AS BIGINT)
         OR CAST(CAST(s.value AS JSON) ->> 'lostMs' AS BIGINT) <= CAST(? AS BIGINT)`,
    ...[JSON.stringify(noted), at - TOGETHER_MS, noted.lostMs],
  )
}

/** Within it they tell of the same. */
const TOGETHER_MS = 60_000

export const logPutBack =
  (log: Log | undefined) =>
  (found: PutBack): void =>
    log?.fatal({ writer: found.writer, lost_ms: lostMs(found) }, 'the database was put back')
