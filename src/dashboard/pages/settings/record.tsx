/**
 * NAME      record - people, links, sessions and the audit as /v1 tells of them
 */

import type { Role } from '../../../config/identity.js'
import type { Person } from '../../../record/tenants/identity.js'

export interface MadeLink {
  readonly url: string
  readonly expires_at: string
  readonly email: string | null
}

export const ROLE_OPTIONS: readonly (readonly [role: Role, means: string])[] = [
  ['viewer', 'Viewer: looks'],
  ['member', 'Member: everything but people'],
  ['owner', 'Owner: everything'],
]

export const nameOf = ({ name, email }: Pick<Person, 'name' | 'email'>): string => name ?? email
