/**
 * NAME      outages - which upstreams were told to be down
 * DESCRIPTION
 *   What was told last of an upstream is stored in the commit of the event, so a
 *   restart neither tells it again nor forgets to tell that it is over.
 */

import type { Notice } from '../../port/log.js'
import type { Writes } from '../../port/verbs.js'
import type { Outage, StandingAlarm, Watch } from '../../port/watch/watch.js'
import type { Db } from '../connect.js'
import type { Statements } from '../read/statements.js'

/** `addNotice` writes in the commit that runs. */
export const createOutageWrites = (
  db: Db,
  addNotice: (notice: Notice) => unknown,
): Pick<Writes<Watch>, 'noteOutage'> => {
  const add = db.prepare('INSERT OR IGNORE INTO outages VALUES (?, ?)')
  const end = db.prepare('DELETE FROM outages WHERE upstream_id = ?')
  return {
    noteOutage(upstreamId, since, notice) {
      const { changes } = since === null ? end.run(upstreamId) : add.run(upstreamId, since)
      if (changes === 1 && notice !== null) addNotice(notice)
      return changes === 1
    },
  }
}

export const createWatchReads = (sql: Statements) => ({
  alarmMark: (): string | null =>
    (sql('SELECT mark FROM alarm_mark').get() as { mark: string } | undefined)?.mark ?? null,
  standingAlarms: (): readonly StandingAlarm[] =>
    sql(
      `SELECT w.id AS workspaceId, a.key AS alarm FROM workspaces w, json_each(w.alarmed) a
       WHERE w.alarmed <> '{}' AND w.deleted_at IS NULL ORDER BY w.ord, a.key`,
    ).all() as unknown as StandingAlarm[],
  outages: (): readonly Outage[] =>
    sql('SELECT upstream_id AS upstreamId, since FROM outages').all() as unknown as Outage[],
})
