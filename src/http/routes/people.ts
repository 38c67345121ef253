/**
 * NAME      people - who works here, their second factors, the links that let them in, their sessions, and who changed what
 *   For sessions only. An owner manages people, sees and ends all sessions; everybody may see and change what
 *   is his own. A session of nobody in particular sees itself, unless its role is that of an owner.
 *   The address of a link is in the answer that makes it, and nowhere else.
 */
import Joi from 'joi'
import { timeOrNull } from '../../base/clock.js'
import { Fault, type FieldError, invalid, readValid, throwInvalid, wrongBy } from '../../base/fault.js'
import { ROLES } from '../../config/identity.js'
import type { Page, Rows } from '../../lifecycle/page.js'
import { removed } from '../../resource/member.js'
import {
  AUDIT_ENTRY,
  auditEntry,
  FACTOR,
  factor,
  INVITATION,
  link,
  OPEN_SESSION,
  openSession,
  PERSON,
  PERSON_IN_FULL,
  person,
  personInFull,
  SETUP_LINK,
  WHO,
} from '../../resource/people.js'
import type { AuditFilter, SavedView, SessionRow, UserRow } from '../../store/port/identity.js'
import { mailInvitation } from '../../submission/own-mail.js'
import {
  checkNewPerson,
  checkOwnSettings,
  linkUrl,
  mayResetPassword,
  type ProveAgain,
} from '../../tenant/people.js'
import { type Principal, permissionsOf, visibleMode } from '../../tenant/principal.js'
import { isPerson, mayDo } from '../../tenant/rights.js'
import type { HttpDeps } from '../deps.js'
import {
  type Call,
  DELETE,
  GET,
  listAnswer,
  listing,
  PATCH,
  PEOPLE_ONLY,
  POST,
  param,
  type RouteRow,
  removing,
} from '../endpoint.js'
import {
  anyBody,
  body,
  clearable,
  count,
  fileQuery,
  listOf,
  membersOf,
  need,
  nullable,
  oneOf,
  orNull,
  pageQuery,
  record,
  removedOf,
  shape,
  shapeOf,
  type TypeOf,
  timestamp,
} from '../shapes/common.js'
import { readTime } from '../wire/values.js'

const role = () => oneOf(...ROLES)

const personBody = body(() => ({
  email: need(orNull(Joi.string().max(320))),
  name: orNull(Joi.string().max(200)),
  role: need(orNull(role())),
  password: orNull(Joi.string().max(1_000)).description(
    '12 to 256 characters. Without one only an identity provider, or a setup link, lets the person in',
  ),
}))

const personChangeBody = body(() => ({
  name: clearable(Joi.string().max(200)).description('null: none'),
  role: orNull(role()),
  disabled: orNull(Joi.boolean()),
  password: orNull(Joi.string().max(1_000)).description('Your own, with the current one'),
  current_password: orNull(Joi.string().max(1_000)),
}))

const factorShape = record('Factor', () => membersOf(FACTOR))

const personShape = record('User', () =>
  membersOf(PERSON_IN_FULL, {
    factors: Joi.array()
      .items(factorShape())
      .required()
      .description('What the person proves beside the password, the oldest first'),
    recovery_codes_left: count().description('How many recovery codes are not used yet'),
  }),
)

const currentPassword = shape(() =>
  orNull(Joi.string().max(1_000)).description('Your own; not for half an hour after a setup link'),
)

const currentPasswordBody = anyBody(() => ({ current_password: currentPassword() }))
const beginFactorBody = body(() => ({
  kind: need(orNull(oneOf('totp', 'passkey'))),
  current_password: currentPassword(),
}))

const begunFactorShape = record('FactorEnrolment', () => ({
  object: Joi.string().valid('factor_enrolment').required(),
  kind: oneOf('totp', 'passkey').required(),
  options: Joi.object()
    .unknown()
    .description('Of a passkey: what navigator.credentials.create is called with, octets in base64url'),
  secret: Joi.string().description('The seed, in base32 (RFC 6238: SHA-1, 6 digits, 30 s)'),
  uri: Joi.string().description('The same as an `otpauth://` URI, for a QR code'),
  enrolment: Joi.string().required().description('Send it with the proof, within 10 minutes'),
}))

const addFactorBody = body(() => ({
  enrolment: need(orNull(Joi.string().max(2_000))).description('What the beginning gave'),
  name: orNull(Joi.string().max(200)).description('As you call it'),
  response: orNull(Joi.string().max(20_000)).description(
    'Of a passkey: the credential that the browser made, as JSON text, octets in base64url',
  ),
  code: orNull(Joi.string().max(100)).description('What the app shows now; it opens nothing any more'),
}))

const codes = shape(() => Joi.array().items(Joi.string()))

const addedFactorShape = record(
  'AddedFactor',
  () => ({
    ...membersOf(FACTOR),
    recovery_codes: nullable(codes()).description(
      'With the first factor: each signs in once in its place; shown in this answer only',
    ),
  }),
  'Factor',
)

const recoveryCodesShape = record('RecoveryCodes', () => ({
  object: Joi.string().valid('recovery_codes').required(),
  recovery_codes: codes().required().description('Shown in this answer only'),
}))

const removedFactorShape = removedOf(factorShape)
const listedPersonShape = record('ListedUser', () => membersOf(PERSON), 'User')

const invitationBody = body(() => ({
  email: orNull(Joi.string().max(320)).description('Whom it is for; it binds nobody'),
  role: need(orNull(role())),
  workspace_id: orNull(Joi.string().max(100)).description(
    'Id or slug of a workspace: the link is mailed to `email` through its pool, from its default sender, and is shown nowhere. Not for an owner',
  ),
}))

const url = shape(() => Joi.string().required().description('Lets in once; shown in this answer only'))

const madeInvitationShape = record('MadeInvitation', () => ({
  ...membersOf(INVITATION),
  url: nullable(Joi.string()).description('Lets in once; shown in this answer only; null where it is mailed'),
  email_id: nullable(Joi.string()).description('The mail that has the link; null where none was sent'),
}))
const madeSetupLinkShape = record('MadeSetupLink', () => ({ ...membersOf(SETUP_LINK), url: url() }))
const invitationShape = record('Invitation', () => membersOf(INVITATION))

const view = shape(() =>
  Joi.object<SavedView>({
    title: Joi.string().max(80).required(),
    path: Joi.string().max(2_000).required(),
  }),
)

const settingsBody = body(() => ({
  time_zone: clearable(Joi.string().max(64)).description(
    'Such as Europe/Prague; null: as the browser has it',
  ),
  views: orNull(Joi.array<readonly SavedView[]>().items(view()).max(30)).description(
    'All of them; each a page of the dashboard',
  ),
}))

const sessionShape = record('Session', () => ({
  object: Joi.string().valid('session').required(),
  via: Joi.string().valid('key', 'session').required(),
  id: Joi.string().required().description('Of the key or the session'),
  person: nullable(
    Joi.object({
      ...membersOf(WHO),
      time_zone: nullable(Joi.string()),
      views: Joi.array().items(view()).required(),
    }),
  ).description('Whose session it is; null for a key, and for a session of nobody in particular'),
  role: nullable(oneOf(...ROLES)).description('Of the session; null for a key'),
  permissions: Joi.array()
    .items(Joi.string().valid('read', 'subjects', 'bodies', 'write', 'people', 'reset_password', 'enrol'))
    .required()
    .description(
      'What the role allows: to see subjects and bodies of mail, to change things, to manage people; `reset_password` for half an hour after a setup link: another password without the one of now; `enrol` alone where a second factor is required and there is none yet: nothing but that can be done',
    ),
  scope: Joi.string().valid('platform', 'workspace').required(),
  workspace_id: nullable(Joi.string()).description('The only workspace that it may use; null: all of them'),
  mode: nullable(Joi.string().valid('live', 'test')).description('Whose mail it sees; null: both'),
  expires_at: nullable(Joi.string()).description('When it ends if it is not used; null: not by itself'),
  limits: Joi.object({
    rate_limit_per_minute: Joi.number().integer().required().description('Sends a minute'),
  }).required(),
}))

const openSessionShape = record('OpenSession', () => membersOf(OPEN_SESSION), 'Session')

const ofUser = shape(() => Joi.string().max(320).description('Id or address of a person; for owners'))

const sessionsQuery = shapeOf(() => ({ ...pageQuery(), user: ofUser() }))
const endSessionsQuery = shapeOf(() => ({ user: ofUser() }))
const endedSessionsShape = record('EndedSessions', () => ({
  object: Joi.string().valid('session').required(),
  deleted: Joi.boolean().valid(true).required(),
  changed: Joi.number().integer().min(0).required().description('How many sessions ended'),
}))

const auditQuery = shapeOf(() => ({
  ...fileQuery(),
  action: Joi.string().max(64).description('An action, or how it begins: `api_key`'),
  actor: Joi.string()
    .max(100)
    .description('Address or id of a person, id of a key or session, or `cli:` and a user number'),
  target: Joi.string()
    .max(100)
    .description('Id of what was changed; or the address of a person, the name of a workspace or of a pool'),
  workspace: Joi.string().max(100).description('Id of a workspace'),
  since: timestamp(),
  until: timestamp(),
}))
type AuditQuery = TypeOf<typeof auditQuery>

const entryShape = record(
  'AuditEntry',
  () =>
    membersOf(AUDIT_ENTRY, {
      detail: Joi.object()
        .unknown()
        .required()
        .description('Fields with their values, or with what they were (`before`) and are (`after`)'),
    }),
  'Audit',
)

/** So long a store that takes nothing may need. */
const RETRY_AFTER_S = 5

const isOwn: RouteRow['isOwn'] = (principal, { params }) => isPerson(principal, params.id ?? '')

const full = async ({ store }: HttpDeps, row: UserRow) =>
  personInFull(row, await store.identities(row.id), await store.factors(row.id))

/** Whether a password is the one of now; guesses count as those of a sign-in do. */
const proving =
  ({ tenants }: HttpDeps, { principal, address }: Pick<Call, 'principal' | 'address'>): ProveAgain =>
  async (email, password) => {
    const attempt = { email, password, address, device: null }
    return (await tenants.provePerson(principal.accountId, attempt)) !== null
  }

/** Who made something, in words. */
const byWhom = ({ principal: { actor } }: Call): string => actor.name ?? actor.id

const OF_OWN = ['resource.conflict', 'rate_limit.auth_failures'] as const

export const people: readonly RouteRow[] = [
  listing({
    ...PEOPLE_ONLY,
    id: 'listUsers',
    cli: 'user list',
    path: '/v1/users',
    summary: 'People, newest first',
    description: 'Also those that are disabled: what they did stands under their names.',
    of: listedPersonShape,
    rows: ({ principal }, deps) => ({
      fetch: (page) => deps.store.users(principal.accountId, page),
      render: person,
    }),
  }),
  GET('/v1/users/{id}', {
    ...PEOPLE_ONLY,
    isOwn,
    id: 'getUser',
    cli: 'user show',
    summary: 'One person',
    description:
      'By id or address, with the identity providers that know the person. For owners, and for oneself.',
    answers: { 200: personShape },
    faults: ['user.not_found'],
    async handle(call, deps) {
      const row = await deps.tenants.findPerson(call.principal.accountId, param(call, 'id'))
      return { status: 200, body: await full(deps, row) }
    },
  }),

  POST('/v1/users', {
    ...PEOPLE_ONLY,
    id: 'createUser',
    cli: 'user create',
    summary: 'Make a person',
    description:
      'With a password the person can sign in at once; without one a setup link, or an identity provider that knows the address, lets in. An invitation is often better: nobody else then knows the password.',
    locates: true,
    body: personBody,
    answers: { 201: personShape },
    faults: ['rate_limit.auth_failures'],
    alsoWrong: ({ body }) => checkNewPerson(body),
    async handle({ principal, body }, deps) {
      const row = await deps.tenants.createPerson(principal.accountId, body)
      return {
        status: 201,
        body: await full(deps, row),
        headers: { location: `/v1/users/${row.id}` },
      }
    },
  }),
  PATCH('/v1/users/{id}', {
    ...PEOPLE_ONLY,
    isOwn,
    id: 'updateUser',
    cli: 'user update',
    summary: 'Change a person',
    description:
      'An owner changes the name and the role of anybody, and disables people, whose sessions end at once. Everybody changes the own name, and the own password with the current one, which ends all other sessions; half an hour after a setup link without it. Who has no password needs such a link to get one. 409 `resource.conflict` with the reason `last_owner` for the last enabled owner, `role_from_provider` where an identity provider says the role.',
    body: personChangeBody,
    answers: { 200: personShape },
    faults: ['user.not_found', 'resource.conflict', 'rate_limit.auth_failures'],
    async handle(call, deps) {
      const { current_password: currentPassword, ...change } = call.body
      const ref = param(call, 'id').toLowerCase()
      const wish = { ...change, currentPassword }
      const row = await deps.tenants.updatePerson(call.principal, ref, wish, proving(deps, call))
      return { status: 200, body: await full(deps, row) }
    },
  }),

  POST('/v1/users/{id}/setup-link', {
    ...PEOPLE_ONLY,
    id: 'createUserSetupLink',
    cli: 'setup-link',
    summary: 'A link with which a person sets another password',
    description:
      'Lets the person in once, within 30 minutes. It is in this answer only. 409 `resource.conflict` with the reason `disabled` for a person who is.',
    answers: { 201: madeSetupLinkShape },
    faults: ['user.not_found', 'resource.conflict'],
    async handle(call, deps) {
      const { accountId } = call.principal
      const made = await deps.tenants.createSetupLink(accountId, param(call, 'id'), byWhom(call))
      const url = linkUrl(deps.baseUrl(), made.row, made.token)
      return { status: 201, body: { ...link(made.row, deps.clock.now()), url } }
    },
  }),
  POST('/v1/invitations', {
    ...PEOPLE_ONLY,
    id: 'createInvitation',
    cli: 'user invite',
    summary: 'Invite somebody',
    description:
      'Lets one person in, once, within seven days, with this role, whatever the address is that an identity provider then tells. The link is in this answer only; or, with `workspace_id`, in a mail to `email`, whose source nobody is shown here.',
    body: invitationBody,
    answers: { 201: madeInvitationShape },
    faults: ['workspace.not_found', 'workspace.suspended', 'service.unavailable'],
    async handle(call, deps) {
      const { role, email, workspace_id: workspace } = call.body
      const { accountId } = call.principal
      const wish = { kind: 'invitation', role, email, createdBy: byWhom(call) } as const
      const make = () => deps.tenants.createLink(accountId, wish)
      if (workspace === undefined) {
        const { row, token } = await make()
        const url = linkUrl(deps.baseUrl(), row, token)
        return { status: 201, body: { ...link(row, deps.clock.now()), url, email_id: null } }
      }
      if (!deps.submission.accepting()) throw new Fault('service.unavailable', { retryAfter: RETRY_AFTER_S })
      const { row, email: mail } = await mailInvitation(
        { ...deps, baseUrl: deps.baseUrl() },
        {
          ...{ accountId, workspace, email, role, make },
          urlOf: (row, token) => linkUrl(deps.baseUrl(), row, token),
          unmake: ({ id }) => deps.tenants.revokeInvitation(accountId, id),
        },
      )
      return { status: 201, body: { ...link(row, deps.clock.now()), url: null, email_id: mail.id } }
    },
  }),

  POST('/v1/session/factors/begin', {
    ...PEOPLE_ONLY,
    id: 'beginFactor',
    cli: { none: 'a second factor is added by who has it in the hand' },
    summary: 'Begin to add a second factor of your own',
    description:
      'Gives the secret of an authenticator app, or what a browser makes a passkey with; nothing is kept before the proof of it has come back. 409 `resource.conflict` with the reason `no_password` for who signs in with an identity provider, `no_person` for a session of nobody in particular, `no_passkeys` where base_url is no host name with https (or localhost).',
    body: beginFactorBody,
    answers: { 200: begunFactorShape },
    faults: OF_OWN,
    async handle(call, deps) {
      const by = { currentPassword: call.body.current_password ?? '', prove: proving(deps, call) }
      const { kind } = call.body
      const begun = await deps.tenants.beginFactor(call.principal, { ...by, kind, baseUrl: deps.baseUrl() })
      return { status: 200, body: { object: 'factor_enrolment', ...begun } }
    },
  }),
  POST('/v1/session/factors', {
    ...PEOPLE_ONLY,
    id: 'addFactor',
    cli: { none: 'a second factor is added by who has it in the hand' },
    summary: 'Add the second factor that was begun',
    description:
      'From now on signing in with the password asks for it. The first one ends all your other sessions and brings ten recovery codes. 409 `resource.conflict` with the reason `too_many` beyond twenty, `added_already` for the same enrolment twice.',
    body: addFactorBody,
    answers: { 201: addedFactorShape },
    faults: [...OF_OWN, 'user.not_found'],
    async handle({ principal, body }, deps) {
      const { row, codes } = await deps.tenants.addFactor(principal, { ...body, baseUrl: deps.baseUrl() })
      return { status: 201, body: { ...factor(row), recovery_codes: codes } }
    },
  }),

  DELETE('/v1/session/factors/{id}', {
    ...PEOPLE_ONLY,
    id: 'removeFactor',
    cli: { none: 'of oneself, with a password; user reset-factors takes all of a person' },
    summary: 'Remove a second factor of your own',
    description: 'With your password. With the last one the recovery codes go, too.',
    body: currentPasswordBody,
    answers: { 200: removedFactorShape },
    faults: [...OF_OWN, 'factor.not_found'],
    async handle(call, deps) {
      const id = param(call, 'id')
      const by = { currentPassword: call.body?.current_password ?? '', prove: proving(deps, call) }
      await deps.tenants.removeFactor(call.principal, id, by)
      return { status: 200, body: removed('factor', id) }
    },
  }),
  POST('/v1/session/recovery-codes', {
    ...PEOPLE_ONLY,
    id: 'replaceRecoveryCodes',
    cli: { none: 'they are for the person alone, who sees them once' },
    summary: 'Make new recovery codes',
    description:
      'Those before open nothing any more. With your password. 409 `resource.conflict` with the reason `no_factor` where there is no second factor that they could stand in for.',
    body: currentPasswordBody,
    answers: { 201: recoveryCodesShape },
    faults: OF_OWN,
    async handle(call, deps) {
      const by = { currentPassword: call.body?.current_password ?? '', prove: proving(deps, call) }
      const codes = await deps.tenants.replaceRecoveryCodes(call.principal, by)
      return { status: 201, body: { object: 'recovery_codes', recovery_codes: codes } }
    },
  }),
  DELETE('/v1/users/{id}/factors', {
    ...PEOPLE_ONLY,
    id: 'resetUserFactors',
    cli: 'user reset-factors',
    summary: 'Take the second factors of a person who lost them',
    description:
      'All of them, and the recovery codes: the password alone signs in then, where a second factor is required only to add one. 409 `resource.conflict` with the reason `own` for oneself.',
    answers: { 200: personShape },
    faults: ['user.not_found', 'resource.conflict'],
    async handle(call, deps) {
      const { principal } = call
      const row = await deps.tenants.resetFactors(principal.accountId, param(call, 'id'), principal)
      return { status: 200, body: await full(deps, row) }
    },
  }),

  listing({
    ...PEOPLE_ONLY,
    id: 'listInvitations',
    cli: 'user invitations',
    path: '/v1/invitations',
    summary: 'Invitations, newest first',
    description: 'Without their links. Those that were used stay until their time is over.',
    of: invitationShape,
    rows: ({ principal }, deps) => ({
      fetch: (page) => deps.store.links(principal.accountId, 'invitation', page),
      render: (row) => link(row, deps.clock.now()),
    }),
  }),
  removing({
    ...PEOPLE_ONLY,
    id: 'revokeInvitation',
    cli: 'user uninvite',
    path: '/v1/invitations/{id}',
    summary: 'Take an invitation back',
    description: 'One that was used is not found: disable the person instead.',
    of: invitationShape,
    object: 'invitation',
    remove: ({ principal }, id, deps) => deps.tenants.revokeInvitation(principal.accountId, id),
  }),
]

/** Without a name it is about one's own, or for an owner about all. */
const isOfOneself: RouteRow['isOwn'] = (principal, { query }) => {
  const user = query.get('user')
  return user === null || isPerson(principal, user)
}

const personOf = (user: UserRow | null) =>
  user && { id: user.id, email: user.email, name: user.name, time_zone: user.timeZone, views: user.views }

const whoAmI = async (
  { store, config, clock }: HttpDeps,
  principal: Principal,
  person = principal.person,
) => {
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

/** Whether it sees and ends the sessions of anybody. */
const reachesOthers = (principal: Principal): boolean => mayDo(principal, 'revokeSession', { isOwn: false })

/** Whose sessions are asked for; null: of all, which only owners may see. */
const whose = async ({ tenants }: HttpDeps, { principal }: Call, asked: string | undefined) => {
  const { person, accountId } = principal
  if (asked === undefined) return reachesOthers(principal) ? null : person
  return tenants.findPerson(accountId, asked)
}

const sessionsOf = async (
  { store }: HttpDeps,
  { principal }: Call,
  user: UserRow | null,
  page: Page,
): Promise<Rows<SessionRow>> => {
  const rows = await store.sessions(principal.accountId, user?.id ?? null, page)
  // a session of nobody that is no owner's has no others to show
  if (user !== null || reachesOthers(principal)) return rows
  return { ...rows, rows: rows.rows.filter(({ id }) => id === principal.id), hasOlder: false, total: 1 }
}

export const sessions: readonly RouteRow[] = [
  GET('/v1/session', {
    id: 'getSession',
    cli: { none: 'a command acts for whoever owns the data folder, and has no credential' },
    summary: 'Who is asking, and what the credential is for',
    description: 'Of the API key or the session that the request carries. Shows no secret.',
    access: 'any',
    workspace: 'none',
    answers: { 200: sessionShape },
    handle: async ({ principal }, deps) => ({ status: 200, body: await whoAmI(deps, principal) }),
  }),
  PATCH('/v1/session', {
    ...PEOPLE_ONLY,
    id: 'updateSession',
    cli: { none: 'what people keep for themselves is for the pages that they see' },
    summary: 'Change what you keep for yourself',
    description:
      'The time zone in which pages show times, and the saved views of the dashboard. Only for the session of a person: 409 `resource.conflict` with the reason `no_person` for one of nobody in particular.',
    body: settingsBody,
    answers: { 200: sessionShape },
    faults: ['resource.conflict'],
    async handle({ principal, body }, deps) {
      const { person, accountId } = principal
      if (person === null) throw new Fault('resource.conflict', { reason: 'no_person' })
      const wish = { timeZone: body.time_zone, views: body.views }
      throwInvalid(checkOwnSettings(wish))
      await deps.tenants.changeOwnSettings(person, wish)
      const fresh = await deps.tenants.findPerson(accountId, person.id)
      return { status: 200, body: await whoAmI(deps, principal, fresh) }
    },
  }),
  listing({
    ...PEOPLE_ONLY,
    id: 'listSessions',
    cli: 'session list',
    path: '/v1/sessions',
    summary: 'Who is signed in, newest first',
    description: 'An owner sees all sessions, others their own. `user` asks for those of one person.',
    isOwn: isOfOneself,
    query: sessionsQuery,
    of: openSessionShape,
    faults: ['user.not_found'],
    async rows(call, deps) {
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
  }),

  removing({
    ...PEOPLE_ONLY,
    id: 'revokeSession',
    cli: 'session revoke',
    path: '/v1/sessions/{id}',
    summary: 'End a session, at once',
    description: 'Your own, also the one that asks: that signs out. An owner ends any.',
    of: openSessionShape,
    object: 'session',
    async remove({ principal }, id, deps) {
      const { accountId, id: own, person } = principal
      const row = await deps.store.session(accountId, id)
      const isMine = id === own || (person !== null && row?.userId === person.id)
      if (row === null || (!isMine && !reachesOthers(principal))) throw new Fault('session.not_found')
      await deps.tenants.revokeSession(accountId, id)
    },
  }),
  DELETE('/v1/sessions', {
    ...PEOPLE_ONLY,
    id: 'revokeSessions',
    cli: 'session revoke',
    summary: 'End all your other sessions',
    description:
      'All of yours but the one that asks; for an owner with `user` all of that person. A session of nobody in particular names the person.',
    isOwn: isOfOneself,
    query: endSessionsQuery,
    answers: { 200: endedSessionsShape },
    faults: ['user.not_found'],
    async handle(call, deps) {
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

/** What people call it, as its id; what nobody is called, as it stands. */
const actorFor = async ({ store }: HttpDeps, accountId: string, ref: string): Promise<string> =>
  ref.includes('@') ? ((await store.user(accountId, ref.trim().toLowerCase()))?.id ?? ref) : ref

const targetFor = async (deps: HttpDeps, accountId: string, ref: string): Promise<string> => {
  if (ref.includes('@')) return actorFor(deps, accountId, ref)
  const workspace = await deps.store.workspace(accountId, ref)
  return workspace?.id ?? (await deps.store.pool(accountId, ref))?.id ?? ref
}

const readFilter = (query: Partial<AuditQuery>, errors: FieldError[]): AuditFilter => ({
  action: query.action ?? null,
  actorId: query.actor ?? null,
  objectId: query.target ?? null,
  workspaceId: query.workspace ?? null,
  since: readTime('query.since', query.since, errors),
  until: readTime('query.until', query.until, errors),
})

const AUDIT_COLUMNS = [
  ...['created_at', 'action', 'actor.kind', 'actor.name', 'actor.id', 'actor.address'],
  ...['target.type', 'target.id', 'workspace_id', 'detail', 'id'],
]

export const audit: readonly RouteRow[] = [
  GET<AuditQuery, unknown>('/v1/audit', {
    id: 'listAudit',
    cli: 'audit list',
    summary: 'Who changed what, when and from where, newest first',
    description:
      'By the API, the command line and the dashboard alike; kept for 400 days. An order over many mails is one entry with how many it `changed`. Sending mail is not in it: each mail is its own record. Never a secret.',
    access: 'session',
    workspace: 'none',
    query: auditQuery,
    files: ['csv', 'ndjson'],
    answers: { 200: listOf(entryShape) },
    faults: ['validation.cursor_invalid', 'validation.cursor_filters_mismatch'],
    alsoWrong: ({ query }) => wrongBy((errors) => readFilter(query, errors)),
    async handle(call, deps) {
      const { query } = call
      const { accountId } = call.principal
      const said = readValid((errors) => readFilter(query, errors))
      const { actorId: by, objectId: about } = said
      const filter = {
        ...said,
        ...(by !== null && { actorId: await actorFor(deps, accountId, by) }),
        ...(about !== null && { objectId: await targetFor(deps, accountId, about) }),
      }
      return listAnswer(deps, 'audit', call, AUDIT_COLUMNS, {
        query,
        filters: { ...filter },
        fetch: (page) => deps.store.audit(accountId, filter, page),
        render: auditEntry,
      })
    },
  }),
]
