/**
 * NAME      rules/watch - what rates and bounces change, and which values statistics count apart
 *   Which alarms stand afterwards, and what is told and held because of those that are new. One hold is enough;
 *   a person lifts it, and no later look makes it again for the same alarm. Pure, but for the ids of holds.
 *   What bounces say of an address, and of a server: Beside lifecycle/suppress.ts and
 *   port/alarms.ts: what both engines ask. Pure, but for ids.
 */
import { toRfc3339 } from '../../base/clock.js'
import { newId } from '../../base/id.js'
import type { Outcome } from '../../lifecycle/facts.js'
import { INCIDENT_WINDOW_MS, type Refusals, SLOW_WINDOW_MS } from '../../lifecycle/suppress.js'
import { normalizeAddress, storedDomain } from '../../mail/address.js'
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
  type SoftLimit,
  type SoftLimits,
  shareOf,
} from '../port/alarms.js'
import type { EventNotice } from '../port/log.js'
import type { HoldRow } from '../port/operations.js'
import type { SuppressionRow, WorkspaceRow } from '../port/tenants.js'
import {
  type AlarmTurn,
  BY_MINUTE,
  type Dimension,
  type HardBounce,
  type IncidentRow,
  OTHER,
  SPANS,
  type StatisticsSpan,
  TAG_SEPARATOR,
} from '../port/watch.js'

// How statistics are added, and how many values of a dimension are kept apart in an hour. When an hour of a workspace
// has more values than these, the least busy tenth and what is beyond go into OTHER, in rows of all spans. Nothing is
// lost from sums; a value that went and comes again counts anew. Together they are at most 2,000 values an hour,
// workspace and mode.

interface Room {
  readonly values: number
  /** Of one tag's name. */
  readonly each: number
}

const room = (values: number, each = values): Room => ({ values, each })

export const ROOM: Readonly<Record<Dimension, Room>> = {
  none: room(1),
  pool: room(60),
  upstream: room(60),
  provider: room(60),
  recipient_domain: room(1_100),
  tag: room(660, 220),
}

/** `kind\nreceipt` is of `kind`; what has no name is of its dimension. */
const nameOf = (value: string): string => {
  const at = value.indexOf(TAG_SEPARATOR)
  return at < 0 ? value : value.slice(0, at)
}

/** Where a value is added to when it goes. */
export const restOf = (dimension: Dimension, value: string): string =>
  dimension === 'tag' ? nameOf(value) : OTHER

interface Busy {
  readonly value: string
  readonly busy: number
}

/** The values that go: none while all have room, else the least busy beyond nine tenths of it. */
export const crowdedOut = (dimension: Dimension, values: readonly Busy[]): readonly string[] => {
  const { values: all, each } = ROOM[dimension]
  const kept = values.filter(({ value }) => value !== restOf(dimension, value))
  const counts = new Map<string, number>()
  const nameFor = (value: string): string => (dimension === 'tag' ? nameOf(value) : '')
  for (const { value } of kept) counts.set(nameFor(value), (counts.get(nameFor(value)) ?? 0) + 1)
  if (kept.length <= all && Math.max(0, ...counts.values()) <= each) return []
  // by name where as busy, so that the order in which rows are found decides nothing
  const sorted = [...kept].sort((a, b) => b.busy - a.busy || (a.value < b.value ? -1 : 1))
  const gone: string[] = []
  const left = new Map<string, number>()
  let total = 0
  for (const { value } of sorted) {
    const name = nameFor(value)
    const n = left.get(name) ?? 0
    if (n >= Math.round(each / 1.1) || total >= Math.round(all / 1.1)) gone.push(value)
    else {
      left.set(name, n + 1)
      total++
    }
  }
  return gone
}

/** In which spans there are rows of a dimension. */
export const spansOf = (dimension: Dimension): readonly StatisticsSpan[] =>
  SPANS.filter((span) => span !== 1 || BY_MINUTE.includes(dimension))

/** Pairs of a counter's number and how often, of both together, in order of their numbers. */
export const added = (a: readonly number[], b: readonly number[]): number[] => {
  const sums = new Map<number, number>()
  for (const counts of [a, b])
    for (let i = 0; i < counts.length; i += 2) {
      const key = counts[i] as number
      sums.set(key, (sums.get(key) ?? 0) + (counts[i + 1] as number))
    }
  return [...sums].sort(([x], [y]) => x - y).flat()
}

/** How much a row stands for: all that it counts. */
export const busyOf = (counts: readonly number[]): number => {
  let sum = 0
  for (let i = 1; i < counts.length; i += 2) sum += counts[i] as number
  return sum
}

/** Whether a new row may have crowded others out. */
export const mayCrowd = ({
  span,
  dimension,
}: {
  readonly span: number
  readonly dimension: Dimension
}): boolean => span === 60 && dimension !== 'none'

/** Dimensions whose values name people, and go with a workspace that is deleted. */
export const PERSONAL = ['recipient_domain', 'tag'] as const satisfies readonly Dimension[]

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
  readonly notices: readonly EventNotice[]
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

const noticeOf = (row: Judging, alarm: Alarm, raised: Raised, holdId: string | null): EventNotice => {
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
const endOf = (row: Judging, alarm: Alarm, { rate, since, now }: Ended): EventNotice => ({
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
  const notices: EventNotice[] = []
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

const DAY = 86_400_000

/** The limit that an outcome counts against, or null. */
export const softLimitOf = ({ reason, detail }: Outcome, limits: SoftLimits): SoftLimit | null =>
  reason === null || detail?.class !== 'soft' ? null : (limits[reason as keyof SoftLimits] ?? null)

/** `first`: when the first of them was. */
export const isTooMuch = (
  limit: SoftLimit,
  seen: { readonly bounces: number; readonly first: number | null },
  now: number,
): boolean => seen.bounces >= limit.bounces && now - (seen.first ?? now) >= limit.days * DAY

export const softSuppression = (
  one: { readonly accountId: string; readonly workspaceId: string; readonly emailId: string },
  address: string,
  { reason }: Outcome,
  now: number,
): SuppressionRow => ({
  ...{ id: newId('sup', now), accountId: one.accountId, list: one.workspaceId },
  ...{ email: normalizeAddress(address), origin: 'soft_bounce', sourceId: one.emailId },
  ...{ reason, expiresAt: null, createdAt: now },
})

/** Numbers of the counters of what was sent, and what was refused for good, hard and soft (statistics/counters.ts). */
const ANSWERED: readonly number[] = [1, 5, 6]

/** Pairs of a counter and how often. */
export const answeredIn = (counts: readonly number[]): number =>
  counts.reduce((sum, n, i) => (i % 2 === 1 && ANSWERED.includes(counts[i - 1] ?? -1) ? sum + n : sum), 0)

/** What hard bounces have in common that are counted together. */
export interface BounceCause {
  readonly key: string
  readonly upstreamId: string | null
  /** '' of several. */
  readonly domain: string
  /** '' of several. */
  readonly said: string
  /** How long it is kept whom it met. */
  readonly keptMs: number
}

/** Of one bounce, the narrowest first: a text of a domain, the domain, and its upstream, where that is known. */
export const causesOf = (
  { row: { accountId, email }, said }: HardBounce,
  upstreamId: string | null,
): readonly BounceCause[] => {
  const domain = storedDomain(email)
  const of = { upstreamId, domain, said: '', keptMs: INCIDENT_WINDOW_MS }
  const byText = { ...of, key: JSON.stringify([accountId, upstreamId, domain, said]), said }
  const byDomain = { ...of, key: JSON.stringify([accountId, upstreamId, domain]) }
  if (upstreamId === null) return [byText, byDomain]
  const all = { ...of, key: JSON.stringify([accountId, upstreamId]), domain: '', keptMs: SLOW_WINDOW_MS }
  return [byText, byDomain, all]
}

/** One that begins on a list with this bounce. */
export const openedIncident = (
  { row: { accountId, createdAt } }: HardBounce,
  list: string,
  { upstreamId, domain, said }: BounceCause,
  { addresses, living, outcomes }: Refusals,
): IncidentRow => ({
  ...{ id: newId('inc', createdAt), accountId, workspaceId: list, upstreamId, domain, said },
  ...{ addresses, living, outcomes, createdAt, decidedAt: null, decision: null },
})

/** What was seen, as the wire has it. */
export const incidentFacts = (row: IncidentRow) => ({
  upstream_id: row.upstreamId,
  domain: row.domain,
  said: row.said,
  addresses: row.addresses,
  delivered_before: row.living,
  outcomes: row.outcomes,
})

export const incidentNotice = (row: IncidentRow): EventNotice => ({
  ...{ type: 'suppression.incident', accountId: row.accountId, workspaceId: row.workspaceId },
  ...{ mode: 'live', now: row.createdAt },
  data: { incident_id: row.id, ...incidentFacts(row) },
})
