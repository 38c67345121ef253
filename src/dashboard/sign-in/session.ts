/**
 * NAME      session - opens a session for a browser, in place of the one it had
 * DESCRIPTION
 *   Always a new one, so that nobody is signed in with a secret that somebody else
 *   put into his browser. Person, identity, link and session are one commit.
 */
import type { Role } from '../../config/identity.js'
import type { Actor } from '../../store/port/tenants/audit.js'
import type { SessionOidc, SignedIn, SignIn } from '../../store/port/tenants/identity.js'
import { newSession, verifySession } from '../../tenant/session.js'
import type { SignInDeps } from './deps.js'
import type { Asked, Reply } from './exchange.js'

interface Opening extends Pick<SignIn, 'linkId' | 'newUser' | 'identity' | 'change' | 'factor'> {
  /** null: nobody in particular, with `role`. */
  readonly userId: string | null
  readonly role?: Role
  readonly provider: string
  readonly oidc?: SessionOidc | null
}

const userAgentOf = ({ headers }: Asked): string | null => {
  const value = headers['user-agent']
  return typeof value === 'string' ? value : null
}

const sessionCookie = ({ settings }: SignInDeps, token: string): Reply['cookies'] => ({
  session: { value: token, seconds: Math.floor(settings.session.lifetime / 1_000) },
  signed_out: null,
})

/** The session that this browser has, while it stands. */
export const currentSession = async ({ tenant }: SignInDeps, asked: Asked) => {
  const token = asked.cookie('session')
  return token === null ? null : verifySession(tenant, token)
}

/** As whom a provider's own word is written down. */
export const providerActor = (name: string, address: string | null): Actor => ({
  kind: 'system',
  id: name,
  name: 'identity provider',
  address,
})

type Opened =
  | { readonly done: 'done'; readonly cookies: Reply['cookies'] }
  | { readonly done: Exclude<SignedIn, 'done'> }

export const openSession = async (deps: SignInDeps, asked: Asked, opening: Opening): Promise<Opened> => {
  const { tenant, accountId } = deps
  const { userId, role, provider, oidc = null, ...rest } = opening
  const before = await currentSession(deps, asked)
  const wish = { userId, role, provider, oidc, address: asked.address, userAgent: userAgentOf(asked) }
  const { row, token } = newSession(tenant, accountId, wish)
  const now = tenant.clock.now()
  const user = rest.newUser ?? (userId === null ? null : await tenant.store.user(accountId, userId))
  const actor: Actor =
    user === null
      ? { kind: 'link', id: row.id, name: null, address: asked.address }
      : { kind: 'person', id: user.id, name: user.email, address: asked.address }
  const done = await tenant.store
    .by(actor)
    .signIn({ ...rest, session: row, instead: before?.row.id ?? null, now })
  if (done !== 'done') return { done }
  deps.log.info({ event: 'signed_in', session: row.id, user: userId, provider })
  return { done, cookies: sessionCookie(deps, token) }
}
