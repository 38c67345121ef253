/**
 * NAME      mails - what shared reads of mail ask of this engine
 * DESCRIPTION
 *   Several writers commit side by side, so a place may be filled below one that is seen already: up to the least
 *   frontier of those that live, and no further, everything is there.
 */
import type { LogEnds } from '../sql/log/reads.js'
import type { MailTables } from '../sql/mails/tables.js'
import type { Frontier } from '../sql/pages/frontiers.js'
import { type Asking, all, first } from '../sql/query.js'

/** Nothing comes in below it any more. */
export function* endOfMail(): Asking<number> {
  const least = yield* first(
    'SELECT coalesce(min(frontier) FILTER (WHERE boot IS NOT NULL), max(frontier)) AS least FROM writers',
  )
  return Number(least?.least) + 1
}

function* frontiers(): Asking<readonly Frontier[]> {
  const rows = yield* all('SELECT n, frontier, boot FROM writers WHERE frontier > 0')
  return rows.map(({ n, frontier, boot }) => ({
    n: Number(n),
    frontier: Number(frontier),
    lives: boot !== null,
  }))
}

export const MAIL: MailTables = {
  recipients: 'recipients',
  waiting: 'waiting',
  accountOfNotice: "(CAST(v.more AS JSON) ->> 'account')",
  mtaOfEvent:
    "CASE WHEN json_typeof(CAST(e.more AS JSON) -> 1) = 'number' THEN CAST(CAST(e.more AS JSON) ->> 1 AS BIGINT) END",
  by: () => '',
  frontiers,
}

export function* logEnds(): Asking<LogEnds> {
  const floor = Number((yield* first('SELECT floor FROM log_state'))?.floor ?? 0)
  return { oldest: { ord: floor, n: 0 }, newest: { ord: Math.max(yield* endOfMail(), floor), n: 0 } }
}
