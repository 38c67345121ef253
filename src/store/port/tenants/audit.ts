/**
 * NAME      port/tenants/audit - who changed what
 * DESCRIPTION
 *   `by(actor)` is the same store, in which every verb that changes what people
 *   own also writes down who did it, in the same commit. What is not done by
 *   anybody (sweeps, relay, reports) goes without. Mail that is accepted is not
 *   written down here: it is its own record.
 *   An order that goes over many rows in small steps has one entry, whose
 *   `changed` grows with each step. Nothing secret is ever in an entry.
 */
import type { Page, Rows } from '../../../lifecycle/page.js'

export interface Actor {
  readonly kind: 'person' | 'key' | 'credential' | 'cli' | 'link' | 'system'
  /** Of the person, key or credential; of a session of nobody in particular its own; `cli:<uid>`. */
  readonly id: string
  /** As people know it, when it was done. */
  readonly name: string | null
  readonly address: string | null
  /** Why, where that is said; it stands in the detail of the entry. */
  readonly reason?: string
}

export type AuditValue = string | number | boolean | null | readonly string[]

/** Names of fields with their values, or with what they were and are. */
export type AuditDetail = Readonly<
  Record<string, AuditValue | { readonly before: AuditValue; readonly after: AuditValue }>
>

export interface AuditRow {
  /** `aud_...` */
  readonly id: string
  readonly accountId: string
  readonly at: number
  readonly actor: Actor
  /** Such as `api_key.created`. */
  readonly action: string
  readonly object: { readonly type: string; readonly id: string | null }
  readonly workspaceId: string | null
  readonly detail: AuditDetail
}

export interface AuditFilter {
  /** An action, or how it begins: `api_key`. */
  readonly action: string | null
  readonly actorId: string | null
  readonly objectId: string | null
  readonly workspaceId: string | null
  readonly since: number | null
  readonly until: number | null
}

export interface Audit {
  audit(accountId: string, filter: AuditFilter, page: Page): Promise<Rows<AuditRow>>
}

/** How long entries are kept. */
export const AUDIT_KEPT_MS = 400 * 86_400_000
