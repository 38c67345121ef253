/**
 * NAME      sessions - who am I, and who else is signed in
 * DESCRIPTION
 *   An owner sees and ends all sessions, others their own. One of nobody in
 *   particular sees itself, unless its role is that of an owner.
 */
import { timeOrNull } from '../../../base/clock.js'
import { Fault, invalid } from '../../../base/fault.js'
import type { Page, Rows } from '../../../lifecycle/page.js'
import { openSession } from '../../../record/tenants/identity.js'
import type { SessionRow, UserRow } from '../../../store/port/tenants/identity.js'
import { checkOwnSettings, mayResetPassword } from '../../../tenant/identity/people.js'
import { type Principal, permissionsOf, visibleMode } from '../../../tenant/principal.js'
import { isPerson, mayDo } from '../../../tenant/rights.js'
import { type Deps, listing, removing } from '../../deps.js'
import { type Call, type Endpoint, endpoint } from '../../endpoint.js'
import * as shapes from '../../shapes/identity/session.js'

const PEOPLE = { access: 'session', workspace: 'none' } as const

/** Without a name it is about one's own, or for an owner about all. */
const isOwn: Endpoint['isOwn'] = (principal, { query }) => {
  const user = query.get('user')
  return user === null || isPerson(principal, user)
}

const personOf = (user: UserRow | null) =>
  user && { id: user.id, email: user.email, name: user.name, time_zone: user.timeZone, views: user.views }

const whoAmI = async ({ store, config, clock }: Deps, principal: Principal, person = principal.person) => {
  const { accountId, via, id, scope, role, workspaceId, limitPerMinute } = principal
  const row = via === 'session' ? await store.session(accountId, id) : null
  const endsAt = row && Math.min(row.expiresAt, row.lastSeenAt + row.idleMs)
  return {
    object: 'session' as const,
    ...{ via, id, person: personOf(person), role },
    permissions: [
      ...permissionsOf(principal, config.identity.viewers_see),
      ...(row !== null && mayResetPassword(row, clock.now()) ? ['reset_password'] : []),
    ],
    scope,
    workspace_id: workspaceId,
    mode: visibleMode(principal),
    expires_at: timeOrNull(endsAt),
    limits: { rate_limit_per_minute: limitPerMinute },
  }
}

const own = (deps: Deps): readonly Endpoint[] => [
  endpoint({
    id: 'getSession',
    method: 'GET',
    path: '/v1/session',
    summary: 'Who is asking, and what the credential is for',
    description: 'Of the API key or the session that the request carries. Shows no secret.',
    access: 'any',
    workspace: 'none',
    answers: { 200: shapes.session },
    faults: [],
    handle: async ({ principal }) => ({ status: 200, body: await whoAmI(deps, principal) }),
  }),
  endpoint({
    ...PEOPLE,
    id: 'updateSession',
    method: 'PATCH',
    path: '/v1/session',
    summary: 'Change what you keep for yourself',
    description:
      'The time zone in which pages show times, and the saved views of the dashboard. Only for the session of a person: 409 `resource.conflict` with the reason `no_person` for one of nobody in particular.',
    body: shapes.settingsBody,
    answers: { 200: shapes.session },
    faults: ['resource.conflict'],
    async handle({ principal, body }) {
      const { person, accountId } = principal
      if (person === null) throw new Fault('resource.conflict', { reason: 'no_person' })
      const wish = { timeZone: body.time_zone, views: body.views }
      const errors = checkOwnSettings(wish)
      if (errors.length > 0) throw invalid(errors)
      await deps.tenants.changeOwnSettings(person, wish)
      const fresh = await deps.tenants.findPerson(accountId, person.id)
      return { status: 200, body: await whoAmI(deps, principal, fresh) }
    },
  }),
]

/** Whether it sees and ends the sessions of anybody. */
const reachesOthers = (principal: Principal): boolean => mayDo(principal, 'revokeSession', { isOwn: false })

/** Whose sessions are asked for; null: of all, which only owners may see. */
const whose = async ({ tenants }: Deps, { principal }: Call, asked: string | undefined) => {
  const { person, accountId } = principal
  if (asked === undefined) return reachesOthers(principal) ? null : person
  return tenants.findPerson(accountId, asked)
}

const sessionsOf = async (
  { store }: Deps,
  { principal }: Call,
  user: UserRow | null,
  page: Page,
): Promise<Rows<SessionRow>> => {
  const rows = await store.sessions(principal.accountId, user?.id ?? null, page)
  // a session of nobody that is no owner's has no others to show
  if (user !== null || reachesOthers(principal)) return rows
  return { ...rows, rows: rows.rows.filter(({ id }) => id === principal.id), hasOlder: false, total: 1 }
}

const list = (deps: Deps): Endpoint =>
  listing(deps, {
    ...PEOPLE,
    id: 'listSessions',
    path: '/v1/sessions',
    summary: 'Who is signed in, newest first',
    description: 'An owner sees all sessions, others their own. `user` asks for those of one person.',
    isOwn,
    query: shapes.sessionsQuery,
    of: shapes.openSession,
    faults: ['user.not_found'],
    async rows(call) {
      const { accountId, id } = call.principal
      const user = await whose(deps, call, call.query.user)
      const people = new Map<string, UserRow | null>()
      return {
        filters: { user: user?.id ?? null },
        async fetch(page: Page) {
          const found = await sessionsOf(deps, call, user, page)
          for (const { userId } of found.rows) {
            if (userId !== null && !people.has(userId))
              people.set(userId, await deps.store.user(accountId, userId))
          }
          return found
        },
        render: (row: SessionRow) => openSession(row, people.get(row.userId ?? '') ?? null, row.id === id),
      }
    },
  })

const ending = (deps: Deps): readonly Endpoint[] => [
  removing({
    ...PEOPLE,
    id: 'revokeSession',
    path: '/v1/sessions/{id}',
    summary: 'End a session, at once',
    description: 'Your own, also the one that asks: that signs out. An owner ends any.',
    of: shapes.openSession,
    object: 'session',
    async remove({ principal }, id) {
      const { accountId, id: own, person } = principal
      const row = await deps.store.session(accountId, id)
      const isMine = id === own || (person !== null && row?.userId === person.id)
      if (row === null || (!isMine && !reachesOthers(principal))) throw new Fault('session.not_found')
      await deps.tenants.revokeSession(accountId, id)
    },
  }),
  endpoint({
    ...PEOPLE,
    id: 'revokeSessions',
    method: 'DELETE',
    path: '/v1/sessions',
    summary: 'End all your other sessions',
    description:
      'All of yours but the one that asks; for an owner with `user` all of that person. A session of nobody in particular names the person.',
    isOwn,
    query: shapes.endSessionsQuery,
    answers: { 200: shapes.endedSessions },
    faults: ['user.not_found'],
    async handle(call) {
      const { accountId, id, person } = call.principal
      const user = call.query.user === undefined ? person : await whose(deps, call, call.query.user)
      if (user === null) {
        throw invalid([{ field: 'query.user', kind: 'missing', message: 'whose? this session is of nobody' }])
      }
      const changed = await deps.store.revokeSessions(accountId, { userId: user.id, exceptId: id })
      return { status: 200, body: { object: 'session', deleted: true, changed } }
    },
  }),
]

export const sessions = (deps: Deps): readonly Endpoint[] => [...own(deps), list(deps), ...ending(deps)]
