/**
 * NAME      record - people, links, sessions and the audit as /v1 tells of them
 */
import type { Role } from '../../visit.js'

export interface PersonRow {
  readonly id: string
  readonly email: string
  readonly name: string | null
  readonly role: Role
  /** The provider that says the role at each sign-in. */
  readonly role_from: string | null
  readonly has_password: boolean
  readonly disabled: boolean
  readonly disabled_at: string | null
  readonly last_sign_in_at: string | null
  readonly created_at: string
}

export interface PersonInFull extends PersonRow {
  readonly identities: readonly {
    readonly provider: string
    readonly issuer: string
    readonly subject: string
    readonly last_sign_in_at: string | null
  }[]
}

export interface InvitationRow {
  readonly id: string
  readonly email: string | null
  readonly role: Role
  readonly state: 'open' | 'used' | 'expired'
  readonly created_by: string
  readonly created_at: string
  readonly expires_at: string
}

export interface MadeLink {
  readonly url: string
  readonly expires_at: string
  readonly email: string | null
}

export interface OpenSession {
  readonly id: string
  readonly person: { readonly id: string; readonly email: string; readonly name: string | null } | null
  readonly role: Role
  /** `local`, `link`, `cli`, or the name of an identity provider. */
  readonly provider: string
  readonly address: string | null
  readonly user_agent: string | null
  readonly current: boolean
  readonly created_at: string
  readonly last_seen_at: string
  readonly expires_at: string
}

export interface AuditEntry {
  readonly id: string
  readonly action: string
  readonly actor: {
    readonly kind: string
    readonly id: string
    readonly name: string | null
    readonly address: string | null
  }
  readonly target: { readonly type: string; readonly id: string | null }
  readonly workspace_id: string | null
  readonly detail: Readonly<Record<string, unknown>>
  readonly created_at: string
}

export const ROLE_OPTIONS: readonly (readonly [role: Role, means: string])[] = [
  ['viewer', 'Viewer: looks'],
  ['member', 'Member: everything but people'],
  ['owner', 'Owner: everything'],
]

export const nameOf = ({ name, email }: Pick<PersonRow, 'name' | 'email'>): string => name ?? email
