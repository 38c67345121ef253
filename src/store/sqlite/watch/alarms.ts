/**
 * NAME      alarms - counting what goes wrong, and telling each crossing once
 * DESCRIPTION
 *   A fold adds counts, moves the mark of the log up to which they are told, and
 *   judges (port/watch/alarms.ts), all in one commit with the event of an alarm
 *   and with its hold. So whoever dies and counts again from the stored mark
 *   counts nothing twice and tells nothing twice.
 *   Judged are the workspaces that were counted now, and those whose alarms stand,
 *   since these end by time alone.
 */
import { newId } from '../../../base/id.js'
import type { Notice } from '../../port/log.js'
import type { HoldRow } from '../../port/operations.js'
import type { WorkspaceRow } from '../../port/tenants/tenants.js'
import type { Writes } from '../../port/verbs.js'
import {
  ALARM_HOLD,
  ALARM_SPAN_MS,
  ALARM_WINDOW_MS,
  ALARMS,
  type Alarm,
  alarmText,
  judge,
  limitOf,
  type Raised,
  type Rate,
  shareOf,
} from '../../port/watch/alarms.js'
import type { AlarmTurn, Watch } from '../../port/watch/watch.js'
import type { Db, Row } from '../connect.js'
import { WORKSPACES } from '../schema/tables.js'

const LONGEST_MS = Math.max(...Object.values(ALARM_WINDOW_MS))

export interface AlarmParts {
  readonly addHold: (hold: HoldRow) => void
  /** In the commit that runs. */
  readonly addNotice: (notice: Notice) => unknown
}

const prepare = (db: Db) => ({
  mark: db.prepare<[], string>('SELECT mark FROM alarm_mark').pluck(),
  forgetMark: db.prepare('DELETE FROM alarm_mark'),
  keepMark: db.prepare('INSERT INTO alarm_mark VALUES (?)'),
  // of a workspace that is gone nothing is counted
  add: db.prepare(
    `INSERT INTO alarm_counts SELECT n, @span, @tried, @complaints, @hardBounces, @deferrals
       FROM workspaces WHERE id = @workspaceId AND deleted_at IS NULL
     ON CONFLICT DO UPDATE SET tried = tried + excluded.tried, complaints = complaints + excluded.complaints,
       hard_bounces = hard_bounces + excluded.hard_bounces, deferrals = deferrals + excluded.deferrals`,
  ),
  forget: db.prepare(
    'DELETE FROM alarm_counts WHERE workspace = (SELECT n FROM workspaces WHERE id = ?) AND span < ?',
  ),
  workspace: db.prepare<[string], Row>(
    `SELECT ${WORKSPACES.columns} FROM workspaces WHERE id = ? AND deleted_at IS NULL`,
  ),
  standing: db
    .prepare<[], string>("SELECT id FROM workspaces WHERE alarmed <> '{}' AND deleted_at IS NULL")
    .pluck(),
  keep: db.prepare('UPDATE workspaces SET alarmed = ? WHERE id = ?'),
  rate: Object.fromEntries(
    ALARMS.map((alarm) => [
      alarm,
      db.prepare<[string, number, number], Rate>(
        `SELECT coalesce(sum(${alarm}), 0) AS count, coalesce(sum(tried), 0) AS tried FROM alarm_counts
         WHERE workspace = (SELECT n FROM workspaces WHERE id = ?) AND span > ? AND span <= ?`,
      ),
    ]),
  ),
  holdOf: db
    .prepare<[string], string>(
      `SELECT id FROM holds WHERE workspace_id = ? AND pool_id IS NULL AND domain IS NULL AND email_id IS NULL`,
    )
    .pluck(),
})

export const createAlarmWrites = (
  db: Db,
  { addHold, addNotice }: AlarmParts,
): Pick<Writes<Watch>, 'foldAlarms'> => {
  const sql = prepare(db)

  const rateOf = (id: string, alarm: Alarm, now: number): Rate =>
    sql.rate[alarm]?.get(id, now - ALARM_WINDOW_MS[alarm] - ALARM_SPAN_MS, now) ?? { count: 0, tried: 0 }

  /** One hold is enough; a person lifts it, and no later look makes it again for the same alarm. */
  const hold = (row: WorkspaceRow, alarm: Alarm, raised: Raised): HoldRow | null => {
    if (row.onAlarm !== 'hold' || sql.holdOf.get(row.id) !== undefined) return null
    const made: HoldRow = {
      id: newId('hold', raised.since),
      accountId: row.accountId,
      workspaceId: row.id,
      poolId: null,
      domain: null,
      emailId: null,
      owner: 'operator',
      reason: `${ALARM_HOLD}${alarmText(alarm, raised)}`,
      createdAt: raised.since,
    }
    addHold(made)
    return made
  }

  const tell = (row: WorkspaceRow, alarm: Alarm, raised: Raised, held: string | null): void => {
    const limit = limitOf(row.alarms, alarm)
    addNotice({
      type: 'workspace.rate_alarm',
      accountId: row.accountId,
      workspaceId: row.id,
      mode: 'live',
      now: raised.since,
      data: {
        workspace_id: row.id,
        alarm,
        rate: shareOf(raised),
        count: raised.count,
        tried: raised.tried,
        limit: limit === 'off' ? null : { rate: limit.rate, at_least: limit.atLeast },
        window_seconds: ALARM_WINDOW_MS[alarm] / 1_000,
        hold_id: held,
      },
    })
  }

  const judgeAll = (row: WorkspaceRow, now: number): readonly AlarmTurn[] => {
    const turns: AlarmTurn[] = []
    const after: Partial<Record<Alarm, Raised>> = {}
    for (const alarm of ALARMS) {
      const before = row.alarmed[alarm] ?? null
      const raised = judge(limitOf(row.alarms, alarm), rateOf(row.id, alarm, now), before, now)
      if (raised !== null) after[alarm] = raised
      if ((raised === null) === (before === null)) continue
      const made = raised === null ? null : hold(row, alarm, raised)
      if (raised !== null) tell(row, alarm, raised, sql.holdOf.get(row.id) ?? null)
      turns.push({ accountId: row.accountId, workspaceId: row.id, alarm, raised, hold: made })
    }
    const text = JSON.stringify(after)
    if (text !== JSON.stringify(row.alarmed)) sql.keep.run(text, row.id)
    return turns
  }

  return {
    foldAlarms({ from, to, counts, now }) {
      if ((sql.mark.get() ?? null) !== from) return []
      sql.forgetMark.run()
      sql.keepMark.run(to)
      for (const count of counts) sql.add.run(count)
      const counted = new Set(counts.map(({ workspaceId }) => workspaceId))
      const touched = new Set([...counted, ...sql.standing.all()])
      return [...touched].flatMap((id) => {
        sql.forget.run(id, now - LONGEST_MS - 2 * ALARM_SPAN_MS)
        const row = sql.workspace.get(id)
        return row === undefined ? [] : judgeAll(WORKSPACES.decode(row), now)
      })
    },
  }
}
