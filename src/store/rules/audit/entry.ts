/**
 * NAME      entry - what a verb leaves in the audit
 * DESCRIPTION
 *   A rule looks before its verb runs, and says afterwards what there is to
 *   write: null where nothing changed. It is pure, and may be asked again when a
 *   row that it looks at has to be found first. Details name fields as the API
 *   does, and hold plain values only.
 */
import type { LotRow, LotState } from '../../port/carry.js'
import type { EndpointRow } from '../../port/hooks.js'
import type { HoldRow, QueueOrder } from '../../port/operations.js'
import type { Store } from '../../port/store.js'
import type { Actor, AuditDetail, AuditValue } from '../../port/tenants/audit.js'
import type { DomainRow } from '../../port/tenants/domains.js'
import type { FactorRow, LinkRow, SessionRow, UserRow } from '../../port/tenants/identity.js'
import type { Decision, IncidentRow } from '../../port/tenants/incident.js'
import type {
  CredentialRow,
  KeyRow,
  PoolRow,
  WorkspaceChange,
  WorkspaceRow,
  Written,
} from '../../port/tenants/tenants.js'
import type { Writes } from '../../port/verbs.js'

/** Who calls a verb. */
export interface Acting {
  readonly actor: Actor
  /** The id of the entry that several calls share; null: each has its own. */
  readonly entry: string | null
}

export interface Entry {
  readonly accountId: string
  readonly action: string
  readonly object: { readonly type: string; readonly id: string | null }
  readonly workspaceId?: string | null
  readonly detail?: AuditDetail
}

/** What a rule may look at, by the name of its table. */
export interface Looked {
  readonly workspaces: WorkspaceRow
  readonly keys: KeyRow
  readonly credentials: CredentialRow
  readonly pools: PoolRow
  readonly domains: DomainRow
  readonly webhooks: EndpointRow
  readonly users: UserRow
  readonly factors: FactorRow
  readonly links: LinkRow
  readonly sessions: SessionRow
  readonly incidents: IncidentRow
  readonly lots: LotRow
  readonly mails: {
    readonly scheduledAt: number | null
    /** Its time has come, or it was canceled. */
    readonly isOver: boolean
    readonly workspaceId: string
  }
  /** To which pepper the database belongs, and its first account. */
  readonly pepper: { readonly mark: string; readonly accountId: string | null }
}

/** Rows as they are before the verb runs, and those that are looked at only afterwards. */
export type Look = <Name extends keyof Looked>(table: Name, id: string) => Looked[Name] | null

/** The first steps of the verbs that take several. */
interface Steps {
  updateWorkspace(id: string, change: WorkspaceChange): Written
  suspendWorkspace(id: string, reason: string | null): unknown
  resumeWorkspace(id: string): unknown
  deleteWorkspace(accountId: string, id: string): 'done' | 'is_default' | 'not_found'
  beginHold(hold: HoldRow): unknown
  beginOrder(order: QueueOrder): unknown
  decideStep(
    accountId: string,
    id: string,
    decision: Decision,
  ): { readonly changed: number } | 'decided' | 'not_found'
  turnLot(id: string, from: readonly LotState[], to: LotState): LotState | null
}

type Audited = Omit<Writes<Store>, keyof Steps> & Steps

type Rule<V extends keyof Audited> = (
  look: Look,
  ...args: Parameters<Audited[V]>
) => (result: ReturnType<Audited[V]>) => Entry | null

export type Rules = { readonly [V in keyof Audited]?: Rule<V> }

/** How many things a call changed. */
export const countOf = (result: unknown): number => {
  if (typeof result === 'number') return result
  const { changed } = (result ?? {}) as { readonly changed?: unknown }
  return typeof changed === 'number' ? changed : 1
}

const nameOf = (field: string): string => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const plain = (value: unknown): AuditValue => {
  if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value as AuditValue
  return Array.isArray(value)
    ? value.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
    : JSON.stringify(value)
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** Of these fields those that a change changes, with what they were. */
export const changed = <T extends object>(
  before: T,
  change: Partial<T>,
  fields: readonly (keyof T & string)[],
): AuditDetail =>
  Object.fromEntries(
    fields
      .filter((field) => change[field] !== undefined && !isSame(change[field], before[field]))
      .map((field) => [nameOf(field), { before: plain(before[field]), after: plain(change[field]) }]),
  )

export const isEmpty = (detail: AuditDetail): boolean => Object.keys(detail).length === 0
