/**
 * NAME      mails - what shared reads of mail ask of this engine
 *   Several writers commit side by side, so a place may be filled below one that is seen already: up to the least
 *   frontier of those that live, and no further, everything is there.
 */
import type { LogEnds } from '../sql/log/reads.js'
import type { MailTables } from '../sql/mails.js'
import type { Frontier } from '../sql/pages.js'
import { type Asking, all, first } from '../sql/query.js'

/** The place below which nothing comes in any more, nor at it. */
export const LEAST =
  'SELECT coalesce(min(frontier) FILTER (WHERE boot IS NOT NULL), max(frontier)) AS least FROM writers'

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
  record: 'recipient_rows',
  domainOf: "substr(r.address_lc, strpos(r.address_lc, '@') + 1)",
  by: () => '',
  frontiers,
}

/** Behind the last record of which none comes in below: who follows a log at rest finds it where it was, and writes nothing. */
const ENDS = `WITH all_of AS MATERIALIZED (${LEAST})
  SELECT s.floor, (SELECT v.ord FROM events v WHERE v.ord <= a.least ORDER BY v.ord DESC LIMIT 1) AS event,
    (SELECT e.ord FROM emails e WHERE e.ord <= a.least ORDER BY e.ord DESC LIMIT 1) AS email
  FROM log_state s, all_of a`

export function* logEnds(): Asking<LogEnds> {
  const row = yield* first(ENDS)
  const [floor, event, email] = [row?.floor, row?.event, row?.email].map((ord) => Number(ord ?? 0)) as [
    number,
    number,
    number,
  ]
  return { oldest: { ord: floor, n: 0 }, newest: { ord: Math.max(event + 1, email + 1, floor), n: 0 } }
}
