/**
 * NAME      alarms - counting what goes wrong, and telling each crossing once
 * DESCRIPTION
 *   A fold adds counts and judges (rules/watch.ts), in one transaction with the
 *   mark of the log up to which they are told, with the event of an alarm and with
 *   its hold. So whoever dies and counts again from the stored mark counts
 *   nothing twice and tells nothing twice.
 *   The cause of an alarm is found in the newest events of its kind, when it is raised and then once a minute.
 *   Judged are the workspaces that were counted now, and those whose alarms stand,
 *   since these end by time alone.
 */

import {
  ALARM_EVENTS,
  ALARMS,
  type Alarm,
  type Cause,
  type Countable,
  causeIn,
  MOST_OF_CAUSE,
  type Rate,
} from '../../port/alarms.js'
import type { Notice } from '../../port/log.js'
import type { HoldRow } from '../../port/operations.js'
import type { Added, AlarmCount, AlarmTurn, StandingAlarm } from '../../port/watch.js'
import { causesDue, forgottenBefore, type Judging, judgeWorkspace, windowOf } from '../../rules/watch.js'
import { kindOf, readFlags, scopeOf, UnpackMore } from '../log/codec.js'
import { type Asking, all, first, run } from '../query.js'
import { table } from '../table.js'

/** Both write in the transaction that runs. */
interface AlarmParts {
  addHold(hold: HoldRow): Asking<unknown>
  addNotice(notice: Notice): Asking<unknown>
}

const JUDGED = table<Judging>('workspaces', {
  id: 'plain',
  accountId: 'plain',
  alarms: 'json',
  onAlarm: 'plain',
  alarmed: 'json',
})

const COUNTED = ['tried', 'complaints', 'hard_bounces', 'deferrals']

// of a workspace that is gone nothing is counted
const ADD = `INSERT INTO alarm_counts (workspace, span, ${COUNTED.join(', ')})
  SELECT n, ${new Array(5).fill('CAST(? AS BIGINT)').join(', ')} FROM workspaces WHERE id = ? AND deleted_at IS NULL
  ON CONFLICT (workspace, span) DO UPDATE SET ${COUNTED.map((one) => `${one} = alarm_counts.${one} + excluded.${one}`).join(', ')}`

const add = ({ workspaceId, span, tried, complaints, hardBounces, deferrals }: AlarmCount): Asking<number> =>
  run(ADD, span, tried, complaints, hardBounces, deferrals, workspaceId)

function* rateOf(id: string, alarm: Alarm, now: number): Asking<Rate> {
  const row = yield* first(
    `SELECT CAST(coalesce(sum(${alarm}), 0) AS BIGINT) AS count, CAST(coalesce(sum(tried), 0) AS BIGINT) AS tried
     FROM alarm_counts WHERE workspace = (SELECT n FROM workspaces WHERE id = ?) AND span > ? AND span <= ?`,
    id,
    ...windowOf(alarm, now),
  )
  return { count: Number(row?.count), tried: Number(row?.tried) }
}

// the newest, and of them those of the window: time is in no index
const LIKELY = `SELECT flags, reason, more, occurred_at AS at,
  (SELECT r.address_lc FROM recipients r WHERE r.id = v.recipient) AS address
  FROM events v WHERE scope = ? AND kind = ? ORDER BY ord DESC LIMIT ${MOST_OF_CAUSE}`

function* causeOf(id: string, alarm: Alarm, now: number): Asking<Cause | null> {
  const n = (yield* first('SELECT n FROM workspaces WHERE id = ?', id))?.n as number
  const [after] = windowOf(alarm, now)
  const unpack = new UnpackMore()
  const events: Countable[] = []
  for (const row of yield* all(LIKELY, scopeOf(n, false), kindOf(ALARM_EVENTS[alarm]))) {
    if ((row.at as number) <= after) continue
    const { reply, detail } = yield* unpack.more(row.more as string | null)
    const { source, change } = readFlags(row.flags as number)
    const [reason, recipient] = [row.reason as string | null, row.address as string | null]
    events.push({ source, change, reason, recipient, reply, detail })
  }
  return causeIn(alarm, events)
}

function* holdOf(id: string): Asking<string | null> {
  const row = yield* first(
    'SELECT id FROM holds WHERE workspace_id = ? AND pool_id IS NULL AND domain IS NULL AND email_id IS NULL',
    id,
  )
  return (row?.id ?? null) as string | null
}

/** In the order in which they were made. */
function* standing(): Asking<readonly Judging[]> {
  const rows = yield* all(
    `SELECT ${JUDGED.columns} FROM workspaces WHERE alarmed <> '{}' AND deleted_at IS NULL ORDER BY ord`,
  )
  return rows.map(JUDGED.decode)
}

/** Adds counts, and judges. */
export const alarmFold = ({ addHold, addNotice }: AlarmParts) => {
  function* judge(id: string, now: number): Asking<readonly AlarmTurn[]> {
    const of = '(SELECT n FROM workspaces WHERE id = ?)'
    yield* run(`DELETE FROM alarm_counts WHERE workspace = ${of} AND span < ?`, id, forgottenBefore(now))
    const text = `SELECT ${JUDGED.columns} FROM workspaces WHERE id = ? AND deleted_at IS NULL`
    const found = yield* first(text, id)
    if (found === null) return []
    const row = JUDGED.decode(found)
    const rates = {} as Record<Alarm, Rate>
    for (const alarm of ALARMS) rates[alarm] = yield* rateOf(id, alarm, now)
    const rate = (alarm: Alarm): Rate => rates[alarm]
    const causes: Partial<Record<Alarm, Cause | null>> = {}
    for (const alarm of causesDue(row, rate, now)) causes[alarm] = yield* causeOf(id, alarm, now)
    const { alarmed, turns, notices } = judgeWorkspace(
      row,
      { rateOf: rate, causeOf: (alarm) => causes[alarm] ?? null, holdId: yield* holdOf(id) },
      now,
    )
    for (const { hold } of turns) if (hold !== null) yield* addHold(hold)
    for (const notice of notices) yield* addNotice(notice)
    const after = JSON.stringify(alarmed)
    if (after !== JSON.stringify(row.alarmed))
      yield* run('UPDATE workspaces SET alarmed = ? WHERE id = ?', after, id)
    return turns
  }

  return function* ({ counts, now }: Added<'alarms'>): Asking<readonly AlarmTurn[]> {
    for (const count of counts) yield* add(count)
    const touched = counts.map(({ workspaceId }) => workspaceId)
    for (const { id } of yield* standing()) touched.push(id)
    const turns: AlarmTurn[] = []
    for (const id of new Set(touched)) turns.push(...(yield* judge(id, now)))
    return turns
  }
}

export const alarmReads = {
  *standingAlarms(): Asking<readonly StandingAlarm[]> {
    return (yield* standing()).flatMap(({ id, alarmed }) =>
      (Object.keys(alarmed) as Alarm[]).sort().map((alarm) => ({ workspaceId: id, alarm })),
    )
  },
}
