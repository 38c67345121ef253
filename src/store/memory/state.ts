/**
 * NAME      state - everything that the model keeps
 * DESCRIPTION
 *   Maps of rows that are replaced and never changed in place. Each row has the
 *   place that it got when it was stored (`ord`), and lists go by it. What a verb
 *   changes it can take back, so that a verb that throws has changed nothing.
 */
import type { Clock } from '../../base/clock.js'
import type { EventRow } from '../../lifecycle/event.js'
import type { DsnRequest, EmailFacts, NewEmail, RecipientKind, Settled } from '../../lifecycle/facts.js'
import type { KeyRow as IdempotencyRow } from '../../lifecycle/idempotency.js'
import type { Mode } from '../../lifecycle/page.js'
import type { RecipientState } from '../../lifecycle/recipient.js'
import type { Action } from '../../mail/report/report.js'
import type { Counts, Status } from '../../mail/status.js'
import type { LogRow } from '../port/log.js'
import type { HoldRow } from '../port/operations.js'
import type { DomainRow } from '../port/tenants/domains.js'
import type {
  AccountRow,
  CredentialRow,
  KeyRow,
  PoolRow,
  SuppressionRow,
  WorkspaceRow,
} from '../port/tenants/tenants.js'

export interface Placed<Row> {
  readonly ord: number
  readonly row: Row
}

/** Rows by their keys. */
export class Table<Row> {
  readonly #rows = new Map<string, Placed<Row>>()
  #sorted: readonly Placed<Row>[] | null = null
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
    this.#sorted ??= [...this.#rows.values()].sort((a, b) => a.ord - b.ord)
    return this.#sorted
  }
  where(wanted: (row: Row) => boolean): Row[] {
    return this.all()
      .map(({ row }) => row)
      .filter(wanted)
  }
  keys(wanted: (row: Row) => boolean): string[] {
    return [...this.#rows].flatMap(([key, { row }]) => (wanted(row) ? key : []))
  }
  /** A new row, at the next place or at one that it shares. */
  add(key: string, row: Row, ord = nextOrd(this.state)): number {
    if (this.#rows.has(key)) throw new Error(`there is a row ${key} already`)
    this.#put(key, { ord, row })
    return ord
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
    const write = (value: Placed<Row> | undefined): void => {
      this.#sorted = null
      if (value === undefined) this.#rows.delete(key)
      else this.#rows.set(key, value)
    }
    this.state.undo.push(() => write(before))
    write(placed)
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

export interface Report {
  readonly emailId: string
  readonly name: string
  readonly at: number
  readonly octets: Uint8Array
}

export interface PauseRow {
  readonly id: string
  readonly poolId: string
  readonly from: number
  readonly to: number | null
}

/** A report that a sender is to get. */
export interface PendingRow {
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
  pepperMark: string | null
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
  readonly windows: Table<{ readonly used: number }>
  readonly domains: Table<DomainRow>
  readonly holds: Table<HoldRow>
  readonly idempotency: Table<IdempotencyRow>
  readonly mails: Table<Mail>
  readonly recipients: Table<Recipient>
  readonly events: Table<Logged>
  readonly reports: Table<Report>
  readonly pauses: Table<PauseRow>
  readonly pending: Table<PendingRow>
}

/** What others are told once the verb is done. */
export interface Effects {
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

export const createState = (clock: Clock): State => {
  const base = { clock, last: 0, floor: 0, boots: 0, pepperMark: null, undo: [] }
  const state = base as unknown as State
  const table = <Row>(): Table<Row> => new Table<Row>(state)
  return Object.assign(state, {
    accounts: table(),
    workspaces: table(),
    deleted: table(),
    keys: table(),
    credentials: table(),
    pools: table(),
    suppressions: table(),
    windows: table(),
    domains: table(),
    holds: table(),
    idempotency: table(),
    mails: table(),
    recipients: table(),
    events: table(),
    reports: table(),
    pauses: table(),
    pending: table(),
  })
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
