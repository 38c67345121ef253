/**
 * NAME      port/watch - the store's verbs for what is counted and judged out of the log
 *   Counts of live mail that alarms are judged by, and which upstreams were told to be down. What is judged, its event
 *   and its hold are one commit, so that each is told once, whatever dies in between.
 *   Hard bounces that may be the fault of a server: An address that bounced for good is listed by a verb of its own,
 *   which counts who else was refused in the same words. What looks like a fault of the server becomes an incident:
 *   its suppressions are pending, which suppresses nobody, until a person accepts or dismisses them. An incident is of
 *   one workspace, which decides for itself; what is counted is of all the workspaces of the account, since they share
 *   the server.
 *   Reads the log once, for several: Statistics, alarms and the index of words each add something of the whole log to
 *   what they keep, and each has the mark up to which it has done so; the sandbox has that up to which it has
 *   reported. What is added moves the marks in the same commit, and only from where they stand: whoever dies or is
 *   overtaken reads again from there, so that everything is counted once.
 *   The index has all mail, also what came before the log began or with its history: its mark may be below the log.
 */
import type { Mode, Page, Rows } from '../../lifecycle/page.js'
import type { WarmupDay, WarmupPlan } from '../../lifecycle/warmup.js'
import type { Alarm, Raised } from './alarms.js'
import type { EventNotice, Followed } from './log.js'
import type { HoldRow } from './operations.js'
import { plain, type RowOf } from './row.js'
import type { SuppressionRow } from './tenants.js'

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
  noteOutage(upstreamId: string, since: number | null, notice: EventNotice | null): Promise<boolean>
}

/** What a daemon wants to give to an upstream that warms up. */
interface WarmupAsk extends WarmupPlan {
  /** Of the warm-up. */
  readonly id: string
  /** Days since the epoch, in UTC. */
  readonly day: number
  /** Recipients. */
  readonly count: number
  readonly now: number
}

interface WarmupGrant {
  /** How many it may give. */
  readonly granted: number
  /** What is left of the day after that; null: there is no limit, and nothing is counted. */
  readonly left: number | null
}

/** Several daemons count together how much a new upstream is given: what one may give, it takes first, so the sum never passes the limit. */
export interface Warmups {
  /** Of all warm-ups, by id and day. */
  warmupDays(): Promise<readonly WarmupDay[]>
  takeWarmup(ask: WarmupAsk): Promise<WarmupGrant>
  /** Gives back what was not given to the upstream after all. */
  returnWarmup(id: string, day: number, count: number): Promise<void>
}

export interface HardBounce {
  /** As it is listed. */
  readonly row: SuppressionRow
  readonly recipientId: string
  /** What the server said, without what names one mail. */
  readonly said: string
  /** Who said it; null when a report did: then whoever took the mail. */
  readonly upstreamId: string | null
}

export const INCIDENT_ROW = {
  id: plain<string>(),
  accountId: plain<string>(),
  workspaceId: plain<string>(),
  /** null: nobody knows by which it left. */
  upstreamId: plain<string | null>(),
  /** Of the recipients. */
  domain: plain<string>(),
  said: plain<string>(),
  /** As they were when it was opened: see Refusals. */
  addresses: plain<number>(),
  living: plain<number>(),
  outcomes: plain<number>(),
  createdAt: plain<number>(),
  decidedAt: plain<number | null>(),
  decision: plain<Decision | null>(),
}
export interface IncidentRow extends RowOf<typeof INCIDENT_ROW> {}

export type Decision = 'accepted' | 'dismissed'

/** An incident, and how many suppressions still wait for it. */
export interface KnownIncident extends IncidentRow {
  readonly pending: number
}

export interface PendingSuppression extends SuppressionRow {
  readonly incidentId: string
}

export interface AddedHardBounce {
  readonly row: SuppressionRow
  /** `listed`: it was there already. */
  readonly as: 'added' | 'listed' | 'pending'
  /** Those that began with it. */
  readonly opened: readonly IncidentRow[]
}

export interface Incidents {
  addHardBounce(dead: HardBounce): Promise<AddedHardBounce>
  incident(accountId: string, id: string): Promise<KnownIncident | null>
  /** Newest first; of one workspace, when that is named; undecided ones alone, when `isOpen`. */
  incidents(
    accountId: string,
    workspaceId: string | null,
    isOpen: boolean,
    page: Page,
  ): Promise<Rows<KnownIncident>>
  /** Of a list, newest first. */
  pendingSuppressions(list: string, page: Page): Promise<Rows<PendingSuppression>>
  pendingSuppression(list: string, ref: string): Promise<PendingSuppression | null>
  /** Lists what was pending, or forgets it. Resolves with how many; `decided` when somebody did before. */
  decideIncident(
    accountId: string,
    id: string,
    decision: Decision,
    now: number,
  ): Promise<number | 'decided' | 'not_found'>
  /** Of all accounts. */
  openIncidents(): Promise<{ readonly incidents: number; readonly suppressions: number }>
}

export const READERS = ['statistics', 'alarms', 'search', 'sandbox'] as const
type Reader = (typeof READERS)[number]

/** Marks; null: nothing was read before. */
export type ReadPlaces = Readonly<Record<Reader, string | null>>

/** A mail by its place, as the index has it. */
export type IndexedMail = readonly [place: number, tokens: string]

export interface LogPart extends Followed {
  readonly mails: readonly IndexedMail[]
}

/** What some of the readers add, each from its stored mark; all of them come to `to`. */
export interface ReadUp {
  readonly to: string
  readonly statistics?: { readonly from: string | null; readonly rows: readonly StatisticsRow[] }
  /** Those workspaces are judged, and the ones whose alarms stand. */
  readonly alarms?: {
    readonly from: string | null
    readonly counts: readonly AlarmCount[]
    readonly now: number
  }
  readonly search?: { readonly from: string | null; readonly mails: readonly IndexedMail[] }
  readonly sandbox?: { readonly from: string | null }
}

/** What one of them adds. */
export type Added<R extends Reader> = NonNullable<ReadUp[R]>

/** The records, the mails for the index, which may be older than the log, or both. */
export type ReadOf = 'log' | 'mails' | 'both'

export interface Reading {
  readPlaces(): Promise<ReadPlaces>
  /**
   * What comes after a mark and not beyond another, of whoever: about so many of each, and no mail in part.
   * 'gone': the log can not be followed from there, go on from `logEnds().oldest`.
   */
  readLog(of: ReadOf, after: string, until: string | null, limit: number): Promise<LogPart | 'gone'>
  /** All or nothing; null, and nothing is added, where a mark is another one. Resolves with what changed of alarms. */
  keepRead(read: ReadUp): Promise<readonly AlarmTurn[] | null>
}

// The store's verbs about what is counted. A row counts recipients: of one workspace and mode, in one span of time,
// under one value of one dimension. What is counted stands in `counts` as pairs of a counter's number and how often;
// the store only adds, and knows none of them (statistics/counters.ts does). Who counts keeps its place in the log
// here, and both are written by one verb: an event that is counted is behind the place, and one behind it is counted.
// Of each dimension the store keeps the busiest values of an hour, and adds the rest up under OTHER; sums over all
// values are always exact.

/** Minutes. Quarters make days right in zones that are not whole hours from UTC. */
export const SPANS = [1, 15, 60] as const
export type StatisticsSpan = (typeof SPANS)[number]

const HOUR = 3600_000
const DAY = 24 * HOUR

/** How long rows of a span are kept, in milliseconds. */
export const KEPT: Readonly<Record<StatisticsSpan, number>> = { 1: 48 * HOUR, 15: 35 * DAY, 60: 396 * DAY }

/** Their numbers are stored: a name keeps its place, new ones go to the end. `none` has one row for each workspace. */
export const DIMENSIONS = ['none', 'pool', 'upstream', 'recipient_domain', 'provider', 'tag'] as const
export type Dimension = (typeof DIMENSIONS)[number]

/** Rows of one minute are made of these only. */
export const BY_MINUTE: readonly Dimension[] = ['none', 'pool', 'upstream']

/** The value that stands for all that are not among the busiest; of a tag it follows the name and TAG_SEPARATOR is missing. */
export const OTHER = ''
/** Between the name of a tag and its value, as no tag holds one. */
export const TAG_SEPARATOR = '\n'

export interface StatisticsRow {
  readonly span: StatisticsSpan
  /** When the span begins, a multiple of it since the epoch. */
  readonly at: number
  readonly workspaceId: string
  readonly mode: Mode
  readonly dimension: Dimension
  readonly value: string
  /** Number of a counter, how often, number of the next, how often... */
  readonly counts: readonly number[]
}

export interface StatisticsQuery {
  /** null: of every account. */
  readonly accountId: string | null
  /** null: of all workspaces, those that were deleted too. */
  readonly workspaceId: string | null
  readonly mode: Mode
  readonly dimension: Dimension
  /** Of `tag`: the name; null for all. */
  readonly tagName: string | null
  readonly span: StatisticsSpan
  readonly from: number
  /** Exclusive. */
  readonly to: number
}

export interface StatisticsPage {
  /** In order of time. */
  readonly rows: readonly StatisticsRow[]
  /** Where to go on; null when that was all. */
  readonly next: string | null
}

export interface Statistics {
  /** Some of the rows, about a thousand, so that a long answer leaves room for others. */
  statistics(query: StatisticsQuery, after: string | null): Promise<StatisticsPage>
}
