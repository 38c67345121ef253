/**
 * NAME      people - who works here, their second factors, and the links that let them in
 * DESCRIPTION
 *   For sessions only. An owner manages people; everybody may see and change what
 *   is his own. The address of a link is in the answer that makes it, and nowhere else.
 */
import { Fault } from '../../../base/fault.js'
import { removed } from '../../../record/removed.js'
import { factor, link, person, personInFull } from '../../../record/tenants/identity.js'
import type { UserRow } from '../../../store/port/tenants/identity.js'
import { mailInvitation } from '../../../submission/own/invitation-mail.js'
import { linkUrl } from '../../../tenant/identity/links.js'
import { checkNewPerson, type ProveAgain } from '../../../tenant/identity/people.js'
import { isPerson } from '../../../tenant/rights.js'
import { type Deps, listing, removing } from '../../deps.js'
import { type Call, type Endpoint, endpoint, param } from '../../endpoint.js'
import * as shapes from '../../shapes/identity/person.js'

/** So long a store that takes nothing may need. */
const RETRY_AFTER_S = 5

const RIGHTS = { access: 'session', workspace: 'none' } as const

const isOwn: Endpoint['isOwn'] = (principal, { params }) => isPerson(principal, params.id ?? '')

const full = async ({ store }: Deps, row: UserRow) =>
  personInFull(row, await store.identities(row.id), await store.factors(row.id))

/** Whether a password is the one of now; guesses count as those of a sign-in do. */
const proving =
  ({ tenants }: Deps, { principal, address }: Pick<Call, 'principal' | 'address'>): ProveAgain =>
  async (email, password) => {
    const attempt = { email, password, address, device: null }
    return (await tenants.provePerson(principal.accountId, attempt)) !== null
  }

/** Who made something, in words. */
const byWhom = ({ principal: { actor } }: Call): string => actor.name ?? actor.id

const getPerson = (deps: Deps): Endpoint =>
  endpoint({
    ...RIGHTS,
    isOwn,
    id: 'getUser',
    method: 'GET',
    path: '/v1/users/{id}',
    summary: 'One person',
    description:
      'By id or address, with the identity providers that know the person. For owners, and for oneself.',
    answers: { 200: shapes.person },
    faults: ['user.not_found'],
    async handle(call) {
      const row = await deps.tenants.findPerson(call.principal.accountId, param(call, 'id'))
      return { status: 200, body: await full(deps, row) }
    },
  })

const listPeople = (deps: Deps): Endpoint =>
  listing(deps, {
    ...RIGHTS,
    id: 'listUsers',
    path: '/v1/users',
    summary: 'People, newest first',
    description: 'Also those that are disabled: what they did stands under their names.',
    of: shapes.listedPerson,
    rows: ({ principal }) => ({
      fetch: (page) => deps.store.users(principal.accountId, page),
      render: person,
    }),
  })

const changing = (deps: Deps): readonly Endpoint[] => [
  endpoint({
    ...RIGHTS,
    id: 'createUser',
    method: 'POST',
    path: '/v1/users',
    summary: 'Make a person',
    description:
      'With a password the person can sign in at once; without one a setup link, or an identity provider that knows the address, lets in. An invitation is often better: nobody else then knows the password.',
    locates: true,
    body: shapes.personBody,
    answers: { 201: shapes.person },
    faults: ['rate_limit.auth_failures'],
    alsoWrong: ({ body }) => checkNewPerson(body),
    async handle({ principal, body }) {
      const row = await deps.tenants.createPerson(principal.accountId, body)
      return {
        status: 201,
        body: await full(deps, row),
        headers: { location: `/v1/users/${row.id}` },
      }
    },
  }),
  endpoint({
    ...RIGHTS,
    isOwn,
    id: 'updateUser',
    method: 'PATCH',
    path: '/v1/users/{id}',
    summary: 'Change a person',
    description:
      'An owner changes the name and the role of anybody, and disables people, whose sessions end at once. Everybody changes the own name, and the own password with the current one, which ends all other sessions; half an hour after a setup link without it. Who has no password needs such a link to get one. 409 `resource.conflict` with the reason `last_owner` for the last enabled owner, `role_from_provider` where an identity provider says the role.',
    body: shapes.personChangeBody,
    answers: { 200: shapes.person },
    faults: ['user.not_found', 'resource.conflict', 'rate_limit.auth_failures'],
    async handle(call) {
      const { current_password: currentPassword, ...change } = call.body
      const ref = param(call, 'id').toLowerCase()
      const wish = { ...change, currentPassword }
      const row = await deps.tenants.updatePerson(call.principal, ref, wish, proving(deps, call))
      return { status: 200, body: await full(deps, row) }
    },
  }),
]

const making = (deps: Deps, baseUrl: () => string): readonly Endpoint[] => [
  endpoint({
    ...RIGHTS,
    id: 'createUserSetupLink',
    method: 'POST',
    path: '/v1/users/{id}/setup-link',
    summary: 'A link with which a person sets another password',
    description:
      'Lets the person in once, within 30 minutes. It is in this answer only. 409 `resource.conflict` with the reason `disabled` for a person who is.',
    answers: { 201: shapes.madeSetupLink },
    faults: ['user.not_found', 'resource.conflict'],
    async handle(call) {
      const { accountId } = call.principal
      const made = await deps.tenants.createSetupLink(accountId, param(call, 'id'), byWhom(call))
      const url = linkUrl(baseUrl(), made.row, made.token)
      return { status: 201, body: { ...link(made.row, deps.clock.now()), url } }
    },
  }),
]

const inviting = (deps: Deps, baseUrl: () => string): Endpoint =>
  endpoint({
    ...RIGHTS,
    id: 'createInvitation',
    method: 'POST',
    path: '/v1/invitations',
    summary: 'Invite somebody',
    description:
      'Lets one person in, once, within seven days, with this role, whatever the address is that an identity provider then tells. The link is in this answer only; or, with `workspace_id`, in a mail to `email`, whose source nobody is shown here.',
    body: shapes.invitationBody,
    answers: { 201: shapes.madeInvitation },
    faults: ['workspace.not_found', 'workspace.suspended', 'service.unavailable'],
    async handle(call) {
      const { role, email, workspace_id: workspace } = call.body
      const { accountId } = call.principal
      const wish = { kind: 'invitation', role, email, createdBy: byWhom(call) } as const
      const make = () => deps.tenants.createLink(accountId, wish)
      if (workspace === undefined) {
        const { row, token } = await make()
        const url = linkUrl(baseUrl(), row, token)
        return { status: 201, body: { ...link(row, deps.clock.now()), url, email_id: null } }
      }
      if (!deps.submission.accepting()) throw new Fault('service.unavailable', { retryAfter: RETRY_AFTER_S })
      const { row, email: mail } = await mailInvitation(
        { ...deps, baseUrl: baseUrl() },
        {
          ...{ accountId, workspace, email, role, make },
          urlOf: (row, token) => linkUrl(baseUrl(), row, token),
          unmake: ({ id }) => deps.tenants.revokeInvitation(accountId, id),
        },
      )
      return { status: 201, body: { ...link(row, deps.clock.now()), url: null, email_id: mail.id } }
    },
  })

const OF_OWN = ['resource.conflict', 'rate_limit.auth_failures'] as const

const addingFactors = (deps: Deps, baseUrl: () => string): readonly Endpoint[] => [
  endpoint({
    ...RIGHTS,
    id: 'beginFactor',
    method: 'POST',
    path: '/v1/session/factors/begin',
    summary: 'Begin to add a second factor of your own',
    description:
      'Gives the secret of an authenticator app, or what a browser makes a passkey with; nothing is kept before the proof of it has come back. 409 `resource.conflict` with the reason `no_password` for who signs in with an identity provider, `no_person` for a session of nobody in particular, `no_passkeys` where base_url is no host name with https (or localhost).',
    body: shapes.beginFactorBody,
    answers: { 200: shapes.begunFactor },
    faults: OF_OWN,
    async handle(call) {
      const by = { currentPassword: call.body.current_password ?? '', prove: proving(deps, call) }
      const { kind } = call.body
      const begun = await deps.tenants.beginFactor(call.principal, { ...by, kind, baseUrl: baseUrl() })
      return { status: 200, body: { object: 'factor_enrolment', ...begun } }
    },
  }),
  endpoint({
    ...RIGHTS,
    id: 'addFactor',
    method: 'POST',
    path: '/v1/session/factors',
    summary: 'Add the second factor that was begun',
    description:
      'From now on signing in with the password asks for it. The first one ends all your other sessions and brings ten recovery codes. 409 `resource.conflict` with the reason `too_many` beyond twenty, `added_already` for the same enrolment twice.',
    body: shapes.addFactorBody,
    answers: { 201: shapes.addedFactor },
    faults: [...OF_OWN, 'user.not_found'],
    async handle({ principal, body }) {
      const { row, codes } = await deps.tenants.addFactor(principal, { ...body, baseUrl: baseUrl() })
      return { status: 201, body: { ...factor(row), recovery_codes: codes } }
    },
  }),
]

const endingFactors = (deps: Deps): readonly Endpoint[] => [
  endpoint({
    ...RIGHTS,
    id: 'removeFactor',
    method: 'DELETE',
    path: '/v1/session/factors/{id}',
    summary: 'Remove a second factor of your own',
    description: 'With your password. With the last one the recovery codes go, too.',
    body: shapes.currentPasswordBody,
    answers: { 200: shapes.removedFactor },
    faults: [...OF_OWN, 'factor.not_found'],
    async handle(call) {
      const id = param(call, 'id')
      const by = { currentPassword: call.body?.current_password ?? '', prove: proving(deps, call) }
      await deps.tenants.removeFactor(call.principal, id, by)
      return { status: 200, body: removed('factor', id) }
    },
  }),
  endpoint({
    ...RIGHTS,
    id: 'replaceRecoveryCodes',
    method: 'POST',
    path: '/v1/session/recovery-codes',
    summary: 'Make new recovery codes',
    description:
      'Those before open nothing any more. With your password. 409 `resource.conflict` with the reason `no_factor` where there is no second factor that they could stand in for.',
    body: shapes.currentPasswordBody,
    answers: { 201: shapes.recoveryCodes },
    faults: OF_OWN,
    async handle(call) {
      const by = { currentPassword: call.body?.current_password ?? '', prove: proving(deps, call) }
      const codes = await deps.tenants.replaceRecoveryCodes(call.principal, by)
      return { status: 201, body: { object: 'recovery_codes', recovery_codes: codes } }
    },
  }),
]

const resetting = (deps: Deps): Endpoint =>
  endpoint({
    ...RIGHTS,
    id: 'resetUserFactors',
    method: 'DELETE',
    path: '/v1/users/{id}/factors',
    summary: 'Take the second factors of a person who lost them',
    description:
      'All of them, and the recovery codes: the password alone signs in then, where a second factor is required only to add one. 409 `resource.conflict` with the reason `own` for oneself.',
    answers: { 200: shapes.person },
    faults: ['user.not_found', 'resource.conflict'],
    async handle(call) {
      const { principal } = call
      const row = await deps.tenants.resetFactors(principal.accountId, param(call, 'id'), principal)
      return { status: 200, body: await full(deps, row) }
    },
  })

const invitations = (deps: Deps): readonly Endpoint[] => [
  listing(deps, {
    ...RIGHTS,
    id: 'listInvitations',
    path: '/v1/invitations',
    summary: 'Invitations, newest first',
    description: 'Without their links. Those that were used stay until their time is over.',
    of: shapes.invitation,
    rows: ({ principal }) => ({
      fetch: (page) => deps.store.links(principal.accountId, 'invitation', page),
      render: (row) => link(row, deps.clock.now()),
    }),
  }),
  removing({
    ...RIGHTS,
    id: 'revokeInvitation',
    path: '/v1/invitations/{id}',
    summary: 'Take an invitation back',
    description: 'One that was used is not found: disable the person instead.',
    of: shapes.invitation,
    object: 'invitation',
    remove: ({ principal }, id) => deps.tenants.revokeInvitation(principal.accountId, id),
  }),
]

export const people = (deps: Deps, baseUrl: () => string): readonly Endpoint[] => [
  listPeople(deps),
  getPerson(deps),
  ...changing(deps),
  ...making(deps, baseUrl),
  inviting(deps, baseUrl),
  ...addingFactors(deps, baseUrl),
  ...endingFactors(deps),
  resetting(deps),
  ...invitations(deps),
]
