/**
 * NAME      tally - what the log says about live mail, as counts
 *   Pure: records of the log in, counts by workspace and span out. A recipient is tried once, by the attempt that ended
 *   first, however it ended; so the same recipient, deferred and later sent, is one. What an upstream answers counts
 *   where it was said; what a report tells counts where its mail was accepted, so that the late bounces and complaints
 *   of a large mailing are not measured against a quiet hour.
 *   A connection that failed says nothing about the workspace's mail and is no deferral here: upstream.down tells that.
 */
import {
  ALARM_COUNTS,
  ALARM_EVENTS,
  ALARM_SPAN_MS,
  ALARMS,
  type Alarm,
  countsFor,
} from '../store/port/alarms.js'
import type { LogRow } from '../store/port/log.js'
import type { AlarmCount } from '../store/port/watch.js'

type Kind = 'tried' | (typeof ALARM_COUNTS)[Alarm]

const ATTEMPTED = new Set<LogRow['type']>(['email.sent', 'email.deferred', 'email.bounced'])

const ALARM_OF: ReadonlyMap<string, Alarm> = new Map(ALARMS.map((alarm) => [ALARM_EVENTS[alarm], alarm]))

const kindsOf = (row: LogRow): readonly Kind[] => {
  const kinds: Kind[] = []
  if (row.source === 'smtp' && row.attempt === 1 && ATTEMPTED.has(row.type)) kinds.push('tried')
  const alarm = ALARM_OF.get(row.type)
  if (alarm !== undefined && countsFor(alarm, row)) kinds.push(ALARM_COUNTS[alarm])
  return kinds
}

const spanOf = (at: number): number => at - (at % ALARM_SPAN_MS)

/** Of live mail and of changes only; everything else is passed over. */
export const tally = (rows: readonly LogRow[]): readonly AlarmCount[] => {
  const counts = new Map<string, Record<Kind, number> & { workspaceId: string; span: number }>()
  for (const row of rows) {
    const { workspaceId, mail } = row
    if (row.mode !== 'live' || !row.change || workspaceId === null || mail === null) continue
    const span = spanOf(row.source === 'smtp' ? row.createdAt : mail.createdAt)
    for (const kind of kindsOf(row)) {
      const key = `${workspaceId} ${span}`
      const count = counts.get(key) ?? {
        workspaceId,
        span,
        tried: 0,
        complaints: 0,
        hardBounces: 0,
        deferrals: 0,
      }
      count[kind]++
      counts.set(key, count)
    }
  }
  return [...counts.values()]
}
