/**
 * NAME      relay-mark - whether what a relay goes by is still the same
 * DESCRIPTION
 *   A digest of all that it reads of pools, domains and return paths is asked for once a second, and the rows only when it
 *   is another one. NOTIFY tells sooner (write/notify.ts), and may be missed.
 */
import { type Asking, first } from '../../sql/query.js'

/** Of whole rows: who adds a column need not think of it. Of a workspace, what a pool that follows another goes by. */
const MARK = `SELECT CAST(sum(hashtextextended(one, 0)) AS TEXT) AS mark FROM (
  SELECT CAST(p AS TEXT) AS one FROM pools p
  UNION ALL SELECT CAST(d AS TEXT) FROM domains d
  UNION ALL SELECT ring FROM return_path
  UNION ALL SELECT account_id || pool_id FROM workspaces WHERE is_default = 1) AS all_of_it`

export function* relayMark(): Asking<string | null> {
  return ((yield* first(MARK))?.mark ?? null) as string | null
}
