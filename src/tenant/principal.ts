/**
 * NAME      principal - who is asking
 *   What a door knows of its caller once a key, a session or an SMTP credential has been proved. A principal is a copy
 *   of permission as it was a moment ago: it lives for one request, or for one SMTP session that asks `stillValid`
 *   before each mail. `id` names the bucket of the rate window, so that a key counts the same over HTTP and SMTP.
 */
import type { Clock } from '../base/clock.js'
import { Fault, type FieldError } from '../base/fault.js'
import type { IdentitySettings, Role } from '../config/identity.js'
import type { Mode } from '../lifecycle/page.js'
import type { Actor, Identity, UserRow } from '../store/port/identity.js'
import type { Acted } from '../store/port/store.js'
import type { Domains, KeyScope, Tenants, WorkspaceRow } from '../store/port/tenants.js'
import type { Lifecycle } from '../store/port/upkeep.js'
import type { Incidents } from '../store/port/watch.js'

export interface Principal {
  readonly accountId: string
  readonly via: 'key' | 'session' | 'credential'
  /** Id of the key, session or credential; also its rate bucket. */
  readonly id: string
  readonly scope: KeyScope
  /** The only workspace of a workspace-scoped caller; null for the whole account. */
  readonly workspaceId: string | null
  /** Mode of what it sends. A session reads both (see `visibleMode`). */
  readonly mode: Mode
  readonly limitPerMinute: number
  /** Of a key that may send mail, and nothing else. */
  readonly sendsOnly?: true
  /** Of a key that may read, and nothing else. */
  readonly readsOnly?: true
  /** Of a session; null for keys and credentials, which have their scope. */
  readonly role: Role | null
  /** Whose session it is; null also for one of nobody in particular. */
  readonly person: UserRow | null
  /** Of a session: its person must enrol a second factor first, and may do little else until then. */
  readonly mustEnrol?: boolean
  /** As whom what it does is written down. */
  readonly actor: Omit<Actor, 'address'>
}

/** An SMTP client that logged in: there, the workspace is chosen once, at login. */
export interface Login extends Principal {
  readonly workspace: WorkspaceRow
}

type TenantStore = Acted<Tenants & Identity & Incidents & Pick<Domains, 'domain'> & Pick<Lifecycle, 'known'>>

export interface TenantDeps {
  readonly store: TenantStore
  readonly pepper: Uint8Array
  readonly clock: Clock
  /** Sends a minute of a key without a limit of its own. */
  readonly perMinute: number
  /** Failed authentications a minute from one address. */
  readonly authFailures: number
  /** Among how many daemons they are divided, each of which counts its own; unsaid, one. */
  readonly daemons?: () => number
  /** How long a person's session may be idle, and last; ms. */
  readonly sessions?: { readonly idle: number; readonly lifetime: number }
  /** Whether a password alone is enough for those who want no more; unsaid, it is. */
  readonly secondFactor?: IdentitySettings['second_factor']
}

/** Which mail this caller sees: a key its own mode, a session both (null). */
export const visibleMode = (principal: Principal): Mode | null =>
  principal.via === 'session' ? null : principal.mode

/** The mode that it asks for, of those it sees; adds to `errors` when it may not. */
export const readMode = (
  principal: Principal,
  asked: string | undefined,
  errors: FieldError[],
): Mode | null => {
  const own = visibleMode(principal)
  if (own !== null && asked !== undefined && asked !== own)
    errors.push({ field: 'query.mode', message: `this key sees ${own} mail only`, kind: 'forbidden' })
  return own ?? (asked as Mode | undefined) ?? null
}

/** Who sends, in the mode that is asked for: a session names one of its mail, a key has its own. */
export const sendingAs = (
  principal: Principal,
  asked: string | undefined,
  errors: FieldError[],
): Principal => ({ ...principal, mode: readMode(principal, asked, errors) ?? principal.mode })

/** Throws unless a person's session is asking (API keys cannot make keys). */
export const requireSession = (principal: Principal): void => {
  if (principal.via === 'session') return
  throw new Fault('auth.session_required', {
    detail:
      'Not for API keys: a session may (postern session create), and so may the postern command on the server',
  })
}

/** What viewers see of mail, as `identity.viewers_see` says. */
export type ViewersSee = 'nothing' | 'subjects' | 'bodies'

const mayWrite = (role: Role | null): boolean => role !== 'viewer'

/** Whether the caller may read what is written in mail: bodies, sources, attachments, reports. */
export const seesBodies = ({ role }: Principal, viewersSee: ViewersSee): boolean =>
  mayWrite(role) || viewersSee === 'bodies'

export const seesSubjects = ({ role }: Principal, viewersSee: ViewersSee): boolean =>
  mayWrite(role) || viewersSee !== 'nothing'

/** What the role allows, in words; a key has what its scope allows. Who must enrol first has nothing else. */
export const permissionsOf = (principal: Principal, viewersSee: ViewersSee): readonly string[] =>
  principal.mustEnrol ? ['enrol'] : rolePermissions(principal, viewersSee)

const rolePermissions = (principal: Principal, viewersSee: ViewersSee): readonly string[] => [
  'read',
  ...(seesSubjects(principal, viewersSee) ? ['subjects'] : []),
  ...(seesBodies(principal, viewersSee) ? ['bodies'] : []),
  ...(mayWrite(principal.role) && principal.readsOnly !== true ? ['write'] : []),
  ...(principal.role === 'owner' ? ['people'] : []),
]

/** Throws unless the caller may act for the whole account. */
export const requirePlatform = (principal: Principal): void => {
  if (principal.scope !== 'platform') throw new Fault('auth.scope_forbidden')
}

/** Throws unless the caller is a key of a workspace; `orPlatform`: or of the platform. */
export const requireWorkspace = ({ via, scope }: Principal, orPlatform = false): void => {
  if (via === 'key' && (orPlatform || scope === 'workspace')) return
  throw new Fault('auth.scope_forbidden', { detail: 'a key of the workspace sends here, and nothing else' })
}

const TOUCH_EVERY_MS = 60_000
/** Of rows that stay at hand, and so do not show what was noted since. */
const noted = new WeakMap<object, number>()

/** Notes a use, at most once a minute: exact enough for people, free for the hot path. */
export const noteUse = (
  { store }: TenantDeps,
  kind: 'key' | 'credential' | 'session',
  row: { readonly id: string; readonly lastUsedAt: number | null },
  now: number,
  from: string | null,
): void => {
  const before = noted.get(row) ?? row.lastUsedAt
  if (before !== null && now - before < TOUCH_EVERY_MS) return
  noted.set(row, now)
  store.touch(kind, row.id, now, from)
}
