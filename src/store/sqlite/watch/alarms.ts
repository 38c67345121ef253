/**
 * NAME      alarms - counting what goes wrong, and telling each crossing once
 * DESCRIPTION
 *   A fold adds counts, moves the mark of the log up to which they are told, and
 *   judges (rules/turns.ts), all in one commit with the event of an alarm
 *   and with its hold. So whoever dies and counts again from the stored mark
 *   counts nothing twice and tells nothing twice.
 *   Judged are the workspaces that were counted now, and those whose alarms stand,
 *   since these end by time alone.
 */
import type { Notice } from '../../port/log.js'
import type { HoldRow } from '../../port/operations.js'
import type { WorkspaceRow } from '../../port/tenants/tenants.js'
import type { Writes } from '../../port/verbs.js'
import { ALARMS, type Alarm, type Rate } from '../../port/watch/alarms.js'
import type { AlarmTurn, Watch } from '../../port/watch/watch.js'
import { forgottenBefore, judgeWorkspace, windowOf } from '../../rules/turns.js'
import type { Db, Row } from '../connect.js'
import { WORKSPACES } from '../schema/tables.js'

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

  const judgeAll = (row: WorkspaceRow, now: number): readonly AlarmTurn[] => {
    const rateOf = (alarm: Alarm): Rate =>
      sql.rate[alarm]?.get(row.id, ...windowOf(alarm, now)) ?? { count: 0, tried: 0 }
    const facts = { rateOf, holdId: sql.holdOf.get(row.id) ?? null }
    const { alarmed, turns, notices } = judgeWorkspace(row, facts, now)
    for (const { hold } of turns) if (hold !== null) addHold(hold)
    for (const notice of notices) addNotice(notice)
    const text = JSON.stringify(alarmed)
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
        sql.forget.run(id, forgottenBefore(now))
        const row = sql.workspace.get(id)
        return row === undefined ? [] : judgeAll(WORKSPACES.decode(row), now)
      })
    },
  }
}
