/**
 * NAME      state - everything that the model keeps
 * DESCRIPTION
 *   Maps of rows that are replaced and never changed in place. Each row has the
 *   place that it got when it was stored (`ord`), and lists go by it. What a verb
 *   changes it can take back, so that a verb that throws has changed nothing.
 */
import type { Clock } from '../../src/base/clock.js'
import type { IdempotencyRow } from '../../src/lifecycle/accept.js'
import type {
  DsnRequest,
  EmailFacts,
  EventRow,
  NewEmail,
  RecipientKind,
  Settled,
} from '../../src/lifecycle/facts.js'
import type { Mode } from '../../src/lifecycle/page.js'
import type { RecipientState } from '../../src/lifecycle/recipient.js'
import type { WarmupDay } from '../../src/lifecycle/warmup.js'
import type { Action } from '../../src/mail/report/report.js'
import type { Counts, Status } from '../../src/mail/status.js'
import type { EndpointRow, EndpointState, ListedPost, ReplayRow } from '../../src/store/port/hooks.js'
import type {
  AuditRow,
  FactorRow,
  IdentityRow,
  LinkRow,
  SessionRow,
  UserRow,
} from '../../src/store/port/identity.js'
import type { LogRow } from '../../src/store/port/log.js'
import type { JobRow } from '../../src/store/port/mail.js'
import type { HoldRow, LotRow } from '../../src/store/port/operations.js'
import type {
  AccountRow,
  CredentialRow,
  DomainReportRow,
  DomainRow,
  KeyRow,
  ManagedRow,
  PoolRow,
  SuppressionRow,
  WorkspaceRow,
} from '../../src/store/port/tenants.js'
import type {
  AlarmCount,
  IncidentRow,
  Outage,
  PendingSuppression,
  StatisticsRow,
} from '../../src/store/port/watch.js'

export interface Placed<Row> {
  readonly ord: number
  readonly row: Row
}

/** Rows by their keys. */
export class Table<Row> {
  /** In the order in which they were stored, unless one came in late. */
  readonly #rows = new Map<string, Placed<Row>>()
  #lastOrd = 0
  #isInOrder = true
  #all: readonly Placed<Row>[] | null = null
  constructor(private readonly state: Pick<State, 'last' | 'undo' | 'clock'>) {}

  get(key: string): Row | null {
    return this.#rows.get(key)?.row ?? null
  }
  /** Where it stands; 0 when it is not there. */
  ordOf(key: string): number {
    return this.#rows.get(key)?.ord ?? 0
  }
  /** In the order in which they were stored. */
  all(): readonly Placed<Row>[] {
    this.#all ??= [...this.#ordered().values()]
    return this.#all
  }
  where(wanted: (row: Row) => boolean): Row[] {
    const found: Row[] = []
    for (const { row } of this.#ordered().values()) if (wanted(row)) found.push(row)
    return found
  }
  /** Removes these; how many. */
  drop(wanted: (row: Row) => boolean): number {
    const keys: string[] = []
    for (const [key, { row }] of this.#rows) if (wanted(row)) keys.push(key)
    return keys.filter((key) => this.delete(key)).length
  }
  entries(): readonly (readonly [key: string, row: Row])[] {
    return [...this.#rows].map(([key, { row }]) => [key, row])
  }
  /** A new row, at the next place or at one that it shares. */
  add(key: string, row: Row, ord = nextOrd(this.state)): number {
    if (this.#rows.has(key)) throw new Error(`there is a row ${key} already`)
    this.#put(key, { ord, row })
    return ord
  }
  /** In place of what is there. */
  put(key: string, row: Row): void {
    this.#put(key, { ord: this.ordOf(key) || nextOrd(this.state), row })
  }
  /** False when it is not there. */
  change(key: string, change: Partial<Row>): boolean {
    const found = this.#rows.get(key)
    if (found !== undefined) this.#put(key, { ord: found.ord, row: { ...found.row, ...change } })
    return found !== undefined
  }
  delete(key: string): boolean {
    const found = this.#rows.has(key)
    if (found) this.#put(key, undefined)
    return found
  }
  #put(key: string, placed: Placed<Row> | undefined): void {
    const before = this.#rows.get(key)
    this.state.undo.push(() => this.#write(key, before))
    this.#write(key, placed)
  }
  #write(key: string, placed: Placed<Row> | undefined): void {
    this.#all = null
    if (placed === undefined) return void this.#rows.delete(key)
    // a key that is there keeps its place in the map
    if (placed.ord !== this.#rows.get(key)?.ord) {
      this.#isInOrder &&= placed.ord >= this.#lastOrd
      this.#lastOrd = Math.max(this.#lastOrd, placed.ord)
    }
    this.#rows.set(key, placed)
  }
  #ordered(): ReadonlyMap<string, Placed<Row>> {
    if (!this.#isInOrder) {
      const sorted = [...this.#rows].sort(([, a], [, b]) => a.ord - b.ord)
      this.#rows.clear()
      for (const [key, placed] of sorted) this.#rows.set(key, placed)
      this.#isInOrder = true
    }
    return this.#rows
  }
}

/** A mail without its recipients. */
export interface Mail extends EmailFacts, Omit<NewEmail, 'recipients' | 'raw' | 'content'> {
  readonly status: Status
  readonly counts: Counts
  readonly updatedAt: number
  readonly size: number
  /** Null when retention took it. */
  readonly raw: Uint8Array | null
  readonly content: string | null
}

export interface Recipient extends RecipientState {
  readonly id: string
  readonly emailId: string
  readonly workspaceId: string
  readonly poolId: string
  readonly address: string
  readonly kind: RecipientKind
  readonly dsn: DsnRequest | null
  readonly updatedAt: number
  readonly queuedAt: number
  readonly leaseUntil: number | null
  readonly attemptUpstream: string | null
  readonly attemptAt: number | null
  readonly heldAt: number | null
  readonly heldDue: number | null
}

/** An event of a mail, or (`emailId` null) one without. First events have the place of their mail and a number. */
export interface Logged extends Omit<EventRow, 'emailId' | 'type'> {
  readonly type: LogRow['type']
  readonly emailId: string | null
  /** 0 but for first events. */
  readonly n: number
  /** False for what came with its mail from elsewhere. */
  readonly isTold: boolean
  readonly dedupe: string | null
  readonly accountId: string
  readonly workspaceId: string | null
  readonly mode: Mode
  readonly data: LogRow['data']
}

interface Report {
  readonly emailId: string
  readonly name: string
  readonly at: number
  readonly octets: Uint8Array
}

interface PauseRow {
  readonly id: string
  readonly poolId: string
  readonly from: number
  readonly to: number | null
}

/** Who was refused for good, and why. */
export interface HardBounced {
  readonly key: string
  readonly cause: string
  readonly email: string
  readonly list: string
  readonly recipientId: string
  readonly at: number
  readonly takenAt: number
  /** Null: nobody asked yet. */
  readonly living: boolean | null
}

/** A report that a sender is to get. */
interface PendingRow {
  readonly emailId: string
  readonly action: Action
  readonly recipientId: string
  /** What happened. */
  readonly eventId: string
  readonly at: number
}

export interface State {
  readonly clock: Clock
  /** The last place that was given. */
  last: number
  /** Where the log begins that can be followed. */
  floor: number
  boots: number
  /** How to take back what the running verb did. */
  readonly undo: (() => void)[]
  readonly accounts: Table<AccountRow>
  readonly workspaces: Table<WorkspaceRow>
  /** Those that were deleted. */
  readonly deleted: Table<WorkspaceRow>
  readonly keys: Table<KeyRow>
  readonly credentials: Table<CredentialRow>
  readonly pools: Table<PoolRow>
  readonly suppressions: Table<SuppressionRow>
  readonly windows: Table<{ readonly used: number; readonly at: number }>
  readonly domains: Table<DomainRow>
  readonly domainReports: Table<DomainReportRow>
  readonly holds: Table<HoldRow>
  readonly idempotency: Table<IdempotencyRow & { readonly workspaceId: string }>
  readonly mails: Table<Mail>
  readonly recipients: Table<Recipient>
  readonly events: Table<Logged>
  readonly reports: Table<Report>
  readonly pauses: Table<PauseRow>
  readonly pending: Table<PendingRow>
  readonly users: Table<UserRow>
  readonly factors: Table<FactorRow>
  readonly identities: Table<IdentityRow>
  readonly links: Table<LinkRow>
  readonly sessions: Table<SessionRow>
  readonly remembered: Table<{ readonly until: number }>
  readonly jobs: Table<JobRow>
  readonly statistics: Table<StatisticsRow>
  readonly alarmCounts: Table<AlarmCount>
  readonly outages: Table<Outage>
  readonly warmupDays: Table<WarmupDay>
  readonly hardBounces: Table<HardBounced>
  /** How many of an upstream were listed in an hour. */
  readonly hardCounts: Table<{ readonly cause: string; readonly hour: number; readonly n: number }>
  readonly incidents: Table<IncidentRow & { readonly cause: string }>
  readonly pendingSuppressions: Table<PendingSuppression>
  readonly endpoints: Table<EndpointRow>
  readonly places: Table<EndpointState>
  readonly posts: Table<ListedPost>
  readonly replays: Table<ReplayRow>
  readonly lots: Table<LotRow>
  readonly audit: Table<AuditRow>
  readonly setups: Table<{ readonly owner: string | null; readonly until: number }>
  readonly managed: Table<ManagedRow & { readonly accountId: string }>
  /** How far somebody is who goes on from there, and the mark of the pepper. */
  readonly marks: Table<string>
}

/** Also one that was deleted. */
export const anyWorkspace = ({ workspaces, deleted }: State, id: string): WorkspaceRow | null =>
  workspaces.get(id) ?? deleted.get(id)

export const workspaceOrd = ({ workspaces, deleted }: State, id: string): number =>
  workspaces.ordOf(id) || deleted.ordOf(id)

/** What others are told once the verb is done. */
export interface Effects {
  /** Recipients that an order of it changed. */
  changed: number
  due: boolean
  settled: Settled[]
}

export const nextOrd = (state: Pick<State, 'last' | 'undo' | 'clock'>): number => {
  const before = state.last
  state.undo.push(() => {
    state.last = before
  })
  state.last = Math.max(before + 1, state.clock.now() * 1000)
  return state.last
}

const TABLES = [
  ...(['accounts', 'workspaces', 'deleted', 'keys', 'credentials', 'pools', 'suppressions'] as const),
  ...(['windows', 'domains', 'holds', 'idempotency', 'mails', 'recipients', 'events', 'reports'] as const),
  ...(['pauses', 'pending', 'users', 'identities', 'links', 'sessions', 'remembered', 'jobs'] as const),
  ...(['factors', 'setups', 'managed', 'warmupDays', 'domainReports'] as const),
  ...(['statistics', 'alarmCounts', 'outages', 'hardBounces', 'hardCounts', 'incidents'] as const),
  ...(['pendingSuppressions', 'endpoints', 'places', 'posts', 'replays', 'lots', 'audit', 'marks'] as const),
] satisfies readonly (keyof State)[]

export const createState = (clock: Clock): State => {
  const state = { clock, last: 0, floor: 0, boots: 0, undo: [] } as unknown as State
  return Object.assign(state, Object.fromEntries(TABLES.map((name) => [name, new Table(state)])))
}

/** All of it or nothing. */
export const whole = <T>(state: State, verb: () => T): T => {
  state.undo.length = 0
  try {
    return verb()
  } catch (error) {
    for (const takeBack of state.undo.reverse()) takeBack()
    throw error
  } finally {
    state.undo.length = 0
  }
}
