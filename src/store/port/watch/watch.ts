/**
 * NAME      port/watch - the store's verbs for what is watched and told once
 * DESCRIPTION
 *   Counts of live mail that alarms are judged by, and which upstreams were told
 *   to be down. What is judged, its event and its hold are one commit, so that
 *   each is told once, whatever dies in between.
 */

import type { Notice } from '../log.js'
import type { HoldRow } from '../operations.js'
import type { Alarm, Raised } from './alarms.js'

/** What happened in a span of ALARM_SPAN_MS, in a workspace. */
export interface AlarmCount {
  readonly workspaceId: string
  /** When the span begins. */
  readonly span: number
  /** Recipients tried for the first time. */
  readonly tried: number
  readonly complaints: number
  readonly hardBounces: number
  readonly deferrals: number
}

/** An alarm that was raised now, or that is over (`raised` null). */
export interface AlarmTurn {
  readonly accountId: string
  readonly workspaceId: string
  readonly alarm: Alarm
  readonly raised: Raised | null
  /** The hold that was made with it, where the workspace wants one and had none. */
  readonly hold: HoldRow | null
}

export type StandingAlarm = Pick<AlarmTurn, 'workspaceId' | 'alarm'>

/** An upstream that was told to be down, and not to be up since. */
export interface Outage {
  readonly upstreamId: string
  readonly since: number
}

export interface Watch {
  /** Of all workspaces. */
  standingAlarms(): Promise<readonly StandingAlarm[]>
  outages(): Promise<readonly Outage[]>
  /** From now on it counts as down since then, or (null) no longer; with the event that tells so. False when it was so already. */
  noteOutage(upstreamId: string, since: number | null, notice: Notice | null): Promise<boolean>
}
