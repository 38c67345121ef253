/**
 * NAME      workspace-alarms - the alarms of a workspace, as people write and read them
 * DESCRIPTION
 *   A limit is a share and a count, `0.3%/5`: as many, and that share of those
 *   tried. `off` raises none, `default` is what holds where nothing is said.
 */

import {
  ALARM_HOLD,
  ALARM_LIMITS,
  ALARM_SEARCH,
  ALARMS,
  type Alarm,
  alarmText,
  limitOf,
  percent,
} from '../store/port/alarms.js'
import type { HoldRow } from '../store/port/operations.js'
import type { WorkspaceRow } from '../store/port/tenants.js'
import type { AlarmsWish, WorkspaceWish } from '../tenant/workspace.js'
import { usage } from './exit.js'

const LIMIT = 'a share and a count such as 0.3%/5, off, or default'

export const ALARM_OPTIONS = {
  'alarm-complaints': {
    type: 'string',
    describe: `Complaints within 24 hours that raise an alarm: ${LIMIT}`,
  },
  'alarm-hard-bounces': { type: 'string', describe: `Hard bounces within an hour that raise one: ${LIMIT}` },
  'alarm-deferrals': { type: 'string', describe: `Deferrals within an hour that raise one: ${LIMIT}` },
  'on-alarm': {
    choices: ['notify', 'hold'],
    describe: 'What an alarm does beside telling: hold keeps its mail until somebody releases it',
  },
} as const

const OPTION: Readonly<Record<Alarm, 'alarm-complaints' | 'alarm-hard-bounces' | 'alarm-deferrals'>> = {
  complaints: 'alarm-complaints',
  hard_bounces: 'alarm-hard-bounces',
  deferrals: 'alarm-deferrals',
}

type Args = Readonly<Partial<Record<(typeof OPTION)[Alarm], string | undefined>>> & {
  readonly 'on-alarm'?: string | undefined
}

const FORM = /^(\d{1,3}(?:\.\d{1,4})?)\s*%\s*\/\s*(\d{1,7})$/

const limitIn = (alarm: Alarm, text: string): AlarmsWish[Alarm] => {
  if (text === 'off') return 'off'
  if (text === 'default') {
    const { rate, atLeast } = ALARM_LIMITS[alarm]
    return { rate, at_least: atLeast }
  }
  const [, share = '', least = ''] = FORM.exec(text) ?? []
  const rate = Number(share) / 100
  const count = Number(least)
  if (rate < 0.0001 || rate > 1 || count < 1 || count > 1_000_000)
    throw usage(`--${OPTION[alarm]}: ${text} is not ${LIMIT} (0.01% to 100%, 1 to 1000000)`)
  return { rate, at_least: count }
}

/** What the options wish. */
export const alarmsIn = (args: Args): Pick<WorkspaceWish, 'alarms' | 'onAlarm'> => {
  const wished = ALARMS.flatMap((alarm) => {
    const text = args[OPTION[alarm]]
    return text === undefined ? [] : [[alarm, limitIn(alarm, text)] as const]
  })
  const onAlarm = args['on-alarm']
  return {
    ...(wished.length > 0 && { alarms: Object.fromEntries(wished) }),
    ...(onAlarm !== undefined && { onAlarm: onAlarm === 'hold' ? 'hold' : 'notify' }),
  }
}

const limitText = (row: WorkspaceRow, alarm: Alarm): string => {
  const limit = limitOf(row.alarms, alarm)
  return limit === 'off' ? 'off' : `${percent(limit.rate)} and ${limit.atLeast}`
}

/** What stands, in words; empty when nothing does. */
export const standingAlarms = ({ alarmed }: WorkspaceRow): readonly string[] =>
  ALARMS.flatMap((alarm) => {
    const raised = alarmed[alarm]
    return raised === undefined
      ? []
      : [`${alarmText(alarm, raised)}, raised at ${new Date(raised.since).toISOString()}`]
  })

/** By it the mail is found that raised the first of them. */
export const alarmSearch = ({ alarmed }: WorkspaceRow): string =>
  ALARM_SEARCH[ALARMS.find((alarm) => alarmed[alarm] !== undefined) ?? 'hard_bounces']

/** True while a hold that an alarm made keeps its mail. */
export const heldByAlarm = ({ id }: WorkspaceRow, holds: readonly HoldRow[]): boolean =>
  holds.some(
    (one) =>
      one.workspaceId === id &&
      one.poolId === null &&
      one.domain === null &&
      one.emailId === null &&
      one.reason.startsWith(ALARM_HOLD),
  )

export const releaseCommand = ({ slug }: WorkspaceRow): string => `postern queue release --workspace ${slug}`

/** Lines for `workspace show`. */
export const alarmFields = (row: WorkspaceRow): readonly (readonly [string, string])[] => [
  ['alarms at', ALARMS.map((alarm) => `${alarm.replace('_', ' ')} ${limitText(row, alarm)}`).join(', ')],
  ['on alarm', row.onAlarm],
  ['alarms', standingAlarms(row).join('; ') || 'none'],
]
