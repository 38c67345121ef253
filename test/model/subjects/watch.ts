/**
 * NAME      watch - counts that alarms are judged by, and upstreams that were told to be down
 */

import {
  ALARM_COUNTS,
  ALARM_EVENTS,
  ALARMS,
  type Alarm,
  type Cause,
  causeIn,
  MOST_OF_CAUSE,
  type Rate,
} from '../../../src/store/port/alarms.js'
import type { EventNotice } from '../../../src/store/port/log.js'
import type { HoldRow } from '../../../src/store/port/operations.js'
import type { Added, AlarmCount, AlarmTurn, Watch } from '../../../src/store/port/watch.js'
import { causesDue, forgottenBefore, judgeWorkspace, windowOf } from '../../../src/store/rules/watch.js'
import type { Plain } from '../plain.js'
import type { State } from '../state.js'

const isWhole = ({ poolId, domain, emailId }: HoldRow): boolean =>
  poolId === null && domain === null && emailId === null

interface Watching extends Plain<Watch> {
  /** And judges. */
  addAlarmCounts(counted: Added<'alarms'>): readonly AlarmTurn[]
}

const createCounts = ({ workspaces, alarmCounts, events, recipients }: State) => {
  const sumOf = (rows: readonly AlarmCount[], name: 'tried' | (typeof ALARM_COUNTS)[Alarm]): number =>
    rows.reduce((sum, row) => sum + row[name], 0)
  const rateOf = (id: string, alarm: Alarm, now: number): Rate => {
    const [after, until] = windowOf(alarm, now)
    const rows = alarmCounts.where(
      ({ workspaceId, span }) => workspaceId === id && span > after && span <= until,
    )
    return { count: sumOf(rows, ALARM_COUNTS[alarm]), tried: sumOf(rows, 'tried') }
  }
  const causeOf = (id: string, alarm: Alarm, now: number): Cause | null => {
    const [after] = windowOf(alarm, now)
    const likely = events.where(
      ({ workspaceId, mode, type, isTold, n }) =>
        workspaceId === id && mode === 'live' && type === ALARM_EVENTS[alarm] && isTold && n === 0,
    )
    const newest = likely.slice(-MOST_OF_CAUSE).filter(({ occurredAt }) => occurredAt > after)
    const addressOf = (id: string | null) => recipients.get(id ?? '')?.address ?? null
    return causeIn(
      alarm,
      newest.map((event) => ({ ...event, recipient: addressOf(event.recipientId) })),
    )
  }
  const add = (count: AlarmCount): void => {
    if (workspaces.get(count.workspaceId) === null) return
    const key = `${count.workspaceId} ${count.span}`
    const rows = [count, alarmCounts.get(key) ?? []].flat()
    const [tried, complaints] = [sumOf(rows, 'tried'), sumOf(rows, 'complaints')]
    const [hardBounces, deferrals] = [sumOf(rows, 'hardBounces'), sumOf(rows, 'deferrals')]
    alarmCounts.put(key, { ...count, tried, complaints, hardBounces, deferrals })
  }
  return { rateOf, causeOf, add }
}

export const createWatch = (state: State, addNotice: (notice: EventNotice) => unknown): Watching => {
  const { workspaces, holds, alarmCounts, outages } = state
  const { rateOf, causeOf, add } = createCounts(state)
  const judgeAll = (id: string, now: number): readonly AlarmTurn[] => {
    alarmCounts.drop(({ workspaceId, span }) => workspaceId === id && span < forgottenBefore(now))
    const row = workspaces.get(id)
    if (row === null) return []
    const [hold] = holds.where((one) => one.workspaceId === id && isWhole(one))
    const rate = (alarm: Alarm): Rate => rateOf(id, alarm, now)
    const due = causesDue(row, rate, now)
    const cause = (alarm: Alarm) => (due.includes(alarm) ? causeOf(id, alarm, now) : null)
    const facts = { rateOf: rate, causeOf: cause, holdId: hold?.id ?? null }
    const { alarmed, turns, notices } = judgeWorkspace(row, facts, now)
    for (const turn of turns) if (turn.hold !== null) holds.add(turn.hold.id, turn.hold)
    for (const notice of notices) addNotice(notice)
    workspaces.change(id, { alarmed })
    return turns
  }
  const standing = () => workspaces.where(({ alarmed }) => Object.keys(alarmed).length > 0)
  return {
    addAlarmCounts({ counts, now }) {
      for (const count of counts) add(count)
      const touched = [...counts.map(({ workspaceId }) => workspaceId), ...standing().map(({ id }) => id)]
      return [...new Set(touched)].flatMap((id) => judgeAll(id, now))
    },
    standingAlarms: () =>
      standing().flatMap(({ id, alarmed }) =>
        ALARMS.filter((alarm) => alarm in alarmed)
          .sort()
          .map((alarm) => ({ workspaceId: id, alarm })),
      ),
    outages: () => outages.where(() => true),
    noteOutage(upstreamId, since, notice) {
      const isNews =
        since === null
          ? outages.delete(upstreamId)
          : outages.get(upstreamId) === null && outages.add(upstreamId, { upstreamId, since }) > 0
      if (isNews && notice !== null) addNotice(notice)
      return isNews
    },
  }
}
