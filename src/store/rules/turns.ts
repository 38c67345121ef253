/**
 * NAME      turns - what a look at the rates of a workspace changes
 * DESCRIPTION
 *   Which alarms stand afterwards, and what is told and held because of those that are new. One hold is
 *   enough; a person lifts it, and no later look makes it again for the same alarm. Pure, but for the
 *   ids of holds.
 */
import { toRfc3339 } from '../../base/clock.js'
import { newId } from '../../base/id.js'
import type { Notice } from '../port/log.js'
import type { HoldRow } from '../port/operations.js'
import type { WorkspaceRow } from '../port/tenants/tenants.js'
import {
  ALARM_HOLD,
  ALARM_SPAN_MS,
  ALARM_WINDOW_MS,
  ALARMS,
  type Alarm,
  alarmText,
  type Cause,
  causeRecord,
  judge,
  limitOf,
  type Raised,
  type RaisedAlarms,
  type Rate,
  shareOf,
} from '../port/watch/alarms.js'
import type { AlarmTurn } from '../port/watch/watch.js'

/** Spans are counted that begin after the one and not after the other. */
export const windowOf = (alarm: Alarm, now: number): readonly [after: number, until: number] => [
  now - ALARM_WINDOW_MS[alarm] - ALARM_SPAN_MS,
  now,
]

/** Spans that began before this are in no window any more. */
export const forgottenBefore = (now: number): number =>
  now - Math.max(...Object.values(ALARM_WINDOW_MS)) - 2 * ALARM_SPAN_MS

/** What of a workspace is judged. */
export type Judging = Pick<WorkspaceRow, 'id' | 'accountId' | 'alarms' | 'onAlarm' | 'alarmed'>

interface AlarmFacts {
  rateOf(alarm: Alarm): Rate
  /** Of those that causesDue named. */
  causeOf(alarm: Alarm): Cause | null
  /** The hold of the whole workspace, when there is one. */
  readonly holdId: string | null
}

interface Ended {
  readonly rate: Rate
  readonly since: number
  readonly now: number
}

interface Judged {
  readonly alarmed: RaisedAlarms
  readonly turns: readonly AlarmTurn[]
  readonly notices: readonly Notice[]
}

const CAUSE_MS = 60_000

/** Alarms whose cause is to be looked for: those that begin now, and once a minute those whose rate is over its limit still. */
export const causesDue = (row: Judging, rateOf: AlarmFacts['rateOf'], now: number): readonly Alarm[] =>
  ALARMS.filter((alarm) => {
    const before = row.alarmed[alarm] ?? null
    const raised = judge(limitOf(row.alarms, alarm), rateOf(alarm), before, now)
    if (raised?.lastAt !== now) return false
    const minuteOf = (at: number): number => Math.floor(at / CAUSE_MS)
    return before?.cause == null || minuteOf(before.lastAt) !== minuteOf(now)
  })

const holdOf = ({ id, accountId }: Judging, alarm: Alarm, raised: Raised): HoldRow => ({
  ...{ id: newId('hold', raised.since), accountId, workspaceId: id },
  ...{ poolId: null, domain: null, emailId: null, owner: 'operator' },
  ...{ reason: `${ALARM_HOLD}${alarmText(alarm, raised)}`, createdAt: raised.since },
})

const noticeOf = (row: Judging, alarm: Alarm, raised: Raised, holdId: string | null): Notice => {
  const limit = limitOf(row.alarms, alarm)
  return {
    ...{ type: 'workspace.rate_alarm', accountId: row.accountId, workspaceId: row.id, mode: 'live' },
    now: raised.since,
    data: {
      workspace_id: row.id,
      alarm,
      rate: shareOf(raised),
      count: raised.count,
      tried: raised.tried,
      limit: limit === 'off' ? null : { rate: limit.rate, at_least: limit.atLeast },
      cause: causeRecord(raised.cause),
      window_seconds: ALARM_WINDOW_MS[alarm] / 1_000,
      hold_id: holdId,
    },
  }
}

/** The rate has been below its limit for an hour, or has none any more. */
const endOf = (row: Judging, alarm: Alarm, { rate, since, now }: Ended): Notice => ({
  ...{ type: 'workspace.rate_alarm_ended', accountId: row.accountId, workspaceId: row.id, mode: 'live', now },
  data: {
    workspace_id: row.id,
    alarm,
    rate: shareOf(rate),
    count: rate.count,
    tried: rate.tried,
    window_seconds: ALARM_WINDOW_MS[alarm] / 1_000,
    raised_at: toRfc3339(since),
    seconds: Math.max(0, Math.round((now - since) / 1_000)),
  },
})

export const judgeWorkspace = (row: Judging, facts: AlarmFacts, now: number): Judged => {
  const alarmed: Partial<Record<Alarm, Raised>> = {}
  const turns: AlarmTurn[] = []
  const notices: Notice[] = []
  let { holdId } = facts
  for (const alarm of ALARMS) {
    const before = row.alarmed[alarm] ?? null
    const rate = facts.rateOf(alarm)
    const found = judge(limitOf(row.alarms, alarm), rate, before, now)
    const cause = facts.causeOf(alarm) ?? before?.cause ?? null
    const raised = found === null ? null : { ...found, cause }
    if (raised !== null) alarmed[alarm] = raised
    if ((raised === null) === (before === null)) continue
    const hold =
      raised !== null && row.onAlarm === 'hold' && holdId === null ? holdOf(row, alarm, raised) : null
    holdId = hold?.id ?? holdId
    if (raised !== null) notices.push(noticeOf(row, alarm, raised, holdId))
    else if (before !== null) notices.push(endOf(row, alarm, { rate, since: before.since, now }))
    turns.push({ accountId: row.accountId, workspaceId: row.id, alarm, raised, hold })
  }
  return { alarmed, turns, notices }
}
