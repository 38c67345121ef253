/**
 * NAME      rules/audit - what a verb leaves in the audit
 *   A rule looks before its verb runs, and says afterwards what there is to write: null where nothing changed.
 *   It is pure, and may be asked again when a row that it looks at has to be found first. Details name fields as
 *   the API does, and hold plain values only.
 *   People, second factors, links and sessions: What people keep for themselves, their time zone and their saved
 *   views, is nobody's business.
 *   What each verb leaves in the audit: One row for each verb that changes what people own; of the others
 *   nothing is written. Secrets, hashes and the text of mail are not in any of them: a new password is told as
 *   `password_changed`.
 */

import { toRfc3339 } from '../../base/clock.js'
import { partsOfEntry, suppressionList } from '../../lifecycle/suppress.js'
import type { EndpointRow } from '../port/hooks.js'
import type {
  Actor,
  AuditDetail,
  AuditValue,
  FactorRow,
  LinkRow,
  SessionRow,
  UserChange,
  UserRow,
} from '../port/identity.js'
import type { EmailScope } from '../port/mail.js'
import type { HoldRow, LotRow, LotState, QueueOrder, QueueScope } from '../port/operations.js'
import type { Store, Writes } from '../port/store.js'
import type {
  CredentialRow,
  DomainRow,
  KeyRow,
  PoolRow,
  SuppressionRow,
  UpstreamRow,
  WorkspaceChange,
  WorkspaceRow,
  Written,
} from '../port/tenants.js'
import type { Decision, IncidentRow } from '../port/watch.js'

/** Who calls a verb. */
export interface Acting {
  readonly actor: Actor
  /** The id of the entry that several calls share; null: each has its own. */
  readonly entry: string | null
}

export interface AuditDraft {
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
) => (result: ReturnType<Audited[V]>) => AuditDraft | null

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
const changed = <T extends object>(
  before: T,
  change: Partial<T>,
  fields: readonly (keyof T & string)[],
): AuditDetail =>
  Object.fromEntries(
    fields
      .filter((field) => change[field] !== undefined && !isSame(change[field], before[field]))
      .map((field) => [nameOf(field), { before: plain(before[field]), after: plain(change[field]) }]),
  )

interface Told {
  readonly id: string
  readonly accountId: string
  readonly workspaceId?: string | null
}

/** Entries about things of a type; each says by what people know the thing. */
const entriesOf =
  <T extends Told>(
    type: string,
    known: (row: T) => AuditDetail,
    within = ({ workspaceId = null }: T): string | null => workspaceId,
  ) =>
  (row: T, action: string, detail: AuditDetail = {}): AuditDraft => ({
    accountId: row.accountId,
    action: `${type}.${action}`,
    object: { type, id: row.id },
    workspaceId: within(row),
    detail: { ...known(row), ...detail },
  })

const isEmpty = (detail: AuditDetail): boolean => Object.keys(detail).length === 0

const timeOf = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

const ofMail = (look: Look, { accountId }: EmailScope, id: string, action: string) => {
  const mail = look('mails', id)
  const entry = (detail: AuditDetail = {}): AuditDraft => ({
    accountId,
    action: `email.${action}`,
    object: { type: 'email', id },
    workspaceId: mail?.workspaceId ?? null,
    detail,
  })
  return { mail, entry }
}

const scopeDetail = ({ poolId, domain, emailId }: QueueScope): AuditDetail => ({
  ...(poolId !== null && { pool_id: poolId }),
  ...(domain !== null && { domain }),
  ...(emailId !== null && { email_id: emailId }),
})

const ofHold = (hold: HoldRow): AuditDraft => ({
  accountId: hold.accountId,
  action: 'hold.created',
  object: { type: 'hold', id: hold.id },
  workspaceId: hold.workspaceId,
  detail: { ...scopeDetail(hold), reason: hold.reason, changed: 0 },
})

const DONE = { release: 'released', retry: 'retried', reroute: 'rerouted', purge: 'purged' } as const

const ofOrder = (order: QueueOrder): AuditDraft | null => {
  const { action, scope, to, hold, reason, isTold = false } = order
  if (action === 'discard' || isTold) return null
  const detail = { ...scopeDetail(scope), reason, ...(to !== null && { to }) }
  const { accountId, workspaceId } = scope
  return hold == null
    ? { accountId, action: `queue.${DONE[action]}`, object: { type: 'queue', id: null }, workspaceId, detail }
    : { accountId, action: 'hold.removed', object: { type: 'hold', id: hold }, workspaceId, detail }
}

/** Of a list of a workspace its workspace. */
const workspaceOf = ({ accountId, list }: SuppressionRow): string | null =>
  list === accountId ? null : list.replace(suppressionList('', 'test'), '')

const isOfTests = ({ list }: SuppressionRow): boolean => list.endsWith(suppressionList('', 'test'))

const namedIn = (row: SuppressionRow) => {
  const { email, mailingList } = partsOfEntry(row.email)
  return { email, ...(mailingList !== null && { list: mailingList }) }
}

const ofSuppression = (row: SuppressionRow, action: string): AuditDraft => ({
  accountId: row.accountId,
  action: `suppression.${action}`,
  object: { type: 'suppression', id: row.id },
  workspaceId: workspaceOf(row),
  // an import asks here what a person took off a list
  detail: { ...namedIn(row), origin: row.origin, ...(isOfTests(row) && { mode: 'test' }) },
})

/** Addresses of a file are one order, and counted. */
const ofImport = (row: SuppressionRow, changed = 1, sha256?: string): AuditDraft => ({
  accountId: row.accountId,
  action: 'suppression.imported',
  object: { type: 'suppression', id: null },
  workspaceId: workspaceOf(row),
  detail: {
    changed,
    ...(row.sourceId !== null && { source: row.sourceId }),
    ...(sha256 !== undefined && { sha256 }),
  },
})

const MAIL_RULES: Rules = {
  addSuppression: (_look, row) => (result) => {
    if (result.id !== row.id) return null
    return row.origin === 'import' ? ofImport(row) : ofSuppression(row, 'created')
  },
  importSuppressions:
    (_look, [first], sha256) =>
    ({ changed }) =>
      first === undefined || changed === 0 ? null : ofImport(first, changed, sha256),
  removeSuppression: () => (row) => (row === null ? null : ofSuppression(row, 'removed')),
  decideStep(look, accountId, id, decision) {
    const incident = look('incidents', id)
    return (step) =>
      typeof step === 'string' || incident === null
        ? null
        : {
            accountId,
            action: `suppression.${decision}`,
            object: { type: 'incident', id },
            workspaceId: incident.workspaceId,
            detail: { domain: incident.domain, said: incident.said, changed: step.changed },
          }
  },
  beginHold: (_look, hold) => () => ofHold(hold),
  beginOrder: (_look, order) => () => {
    const entry = ofOrder(order)
    return entry && { ...entry, detail: { ...entry.detail, changed: 0 } }
  },
  cancel(look, scope, id) {
    const { mail, entry } = ofMail(look, scope, id, 'canceled')
    // repeating it is done, and changes nothing
    return (result) => (result === 'done' && mail?.isOver === false ? entry() : null)
  },
  addJob:
    (_look, { accountId, id, action, reason, q, matched, workspaceId }) =>
    () => ({
      accountId,
      action: 'job.created',
      object: { type: 'job', id },
      workspaceId,
      detail: { action, reason, matched, ...(q !== null && { q }) },
    }),
  cancelJob: (_look, accountId, id) => (isDone) =>
    isDone ? { accountId, action: 'job.canceled', object: { type: 'job', id } } : null,
  reschedule(look, scope, id, scheduledAt) {
    const { mail, entry } = ofMail(look, scope, id, 'rescheduled')
    const times = { before: timeOf(mail?.scheduledAt ?? null), after: timeOf(scheduledAt) }
    return (result) => (result === 'done' ? entry({ scheduled_at: times }) : null)
  },
  addLot:
    (_look, { id, accountId, state }) =>
    () => ({
      accountId,
      action: state === 'imported' ? 'lot.imported' : 'lot.exported',
      object: { type: 'lot', id },
    }),
  turnLot(look, id, _from, to) {
    const lot = look('lots', id)
    return (state) =>
      state !== to || to === 'exported' || lot === null || lot.state === to
        ? null
        : {
            accountId: lot.accountId,
            action: `lot.${to}`,
            object: { type: 'lot', id },
            detail: { changed: 0 },
          }
  },
}

const ofUser = entriesOf<UserRow>('user', () => ({}))

const actionOf = (before: UserRow, { disabledAt }: UserChange): string => {
  if (disabledAt === undefined || (disabledAt === null) === (before.disabledAt === null)) return 'updated'
  return disabledAt === null ? 'enabled' : 'disabled'
}

const ofFactor = (
  look: Look,
  accountId: string,
  userId: string,
  action: string,
  detail: AuditDetail = {},
): AuditDraft => ({
  accountId,
  action,
  object: { type: 'user', id: userId },
  detail: { user: look('users', userId)?.email ?? null, ...detail },
})

const typeOf = ({ kind }: LinkRow): string => (kind === 'setup' ? 'setup_link' : 'invitation')

/** Whose it is, as people know him. */
const ownerOf = (look: Look, userId: string | null | undefined): AuditDetail => ({
  user_id: userId ?? null,
  user: userId == null ? null : (look('users', userId)?.email ?? null),
})

const ofSession = (accountId: string, id: string | null, action: string): AuditDraft => ({
  accountId,
  action: `session.${action}`,
  object: { type: 'session', id },
})

const PEOPLE_RULES: Rules = {
  createUser: (_look, user) => (result) =>
    result !== 'done'
      ? null
      : ofUser(user, 'created', { email: user.email, role: user.role, name: user.name }),
  updateUser(look, _accountId, id, change) {
    const before = look('users', id)
    return (result) => {
      if (result !== 'done' || before === null) return null
      const detail = {
        ...changed(before, change, ['email', 'name', 'role']),
        ...(change.hash !== undefined && change.hash !== before.hash && { password_changed: true }),
      }
      const action = actionOf(before, change)
      return action === 'updated' && isEmpty(detail)
        ? null
        : ofUser(before, action, { user: before.email, ...detail })
    }
  },
  addFactor:
    (look, { accountId, userId, kind, name }) =>
    (result) =>
      result === 'done' ? ofFactor(look, accountId, userId, 'second_factor.added', { kind, name }) : null,
  removeFactor(look, accountId, userId, id) {
    const factor = look('factors', id)
    return (gone) =>
      gone
        ? ofFactor(look, accountId, userId, 'second_factor.removed', {
            kind: factor?.kind ?? null,
            name: factor?.name ?? null,
          })
        : null
  },
  resetFactors: (look, accountId, userId) => (count) =>
    count === 0 ? null : ofFactor(look, accountId, userId, 'second_factor.reset', { changed: count }),
  replaceRecoveryCodes: (look, accountId, userId) => (done) =>
    done ? ofFactor(look, accountId, userId, 'recovery_codes.replaced') : null,
  takeFactor(look, accountId, userId, id) {
    const isCode = look('factors', id)?.kind === 'recovery'
    return (taken) => (taken && isCode ? ofFactor(look, accountId, userId, 'recovery_code.used') : null)
  },
  createLink: (_look, link) => () => ({
    accountId: link.accountId,
    action: `${typeOf(link)}.created`,
    object: { type: typeOf(link), id: link.id },
    detail: { role: link.role, email: link.email, user_id: link.userId },
  }),
  revokeLink(look, accountId, id) {
    const link = look('links', id)
    return (gone) =>
      !gone || link === null
        ? null
        : { accountId, action: `${typeOf(link)}.revoked`, object: { type: typeOf(link), id } }
  },
  signIn:
    (look, { session, newUser, linkId, change, factor }) =>
    (result) =>
      result !== 'done'
        ? null
        : {
            ...ofSession(session.accountId, session.id, 'created'),
            detail: {
              provider: session.provider,
              ...ownerOf(look, session.userId),
              ...(linkId !== null && { link: linkId }),
              ...(factor !== undefined && { second_factor: factor }),
              ...(newUser !== null && { person_created: newUser.email, role: newUser.role }),
              ...(change?.hash !== undefined && { password_changed: true }),
            },
          },
  createSession: (_look, session) => () => ({
    ...ofSession(session.accountId, session.id, 'created'),
    detail: { provider: session.provider, role: session.role },
  }),
  revokeSession(look, accountId, id) {
    const session = look('sessions', id)
    return (gone) =>
      gone ? { ...ofSession(accountId, id, 'revoked'), detail: ownerOf(look, session?.userId) } : null
  },
  revokeSessions: (look, accountId, of) => (count) =>
    count === 0
      ? null
      : {
          ...ofSession(accountId, null, 'revoked'),
          detail: { changed: count, ...ownerOf(look, of.userId), issuer: of.issuer ?? null },
        },
}

const ofWorkspace = entriesOf<WorkspaceRow>(
  'workspace',
  ({ slug }) => ({ slug }),
  ({ id }) => id,
)

/** An entry about a row as it was, when the verb did something. */
const about =
  <T>(row: T | null, entry: (row: T) => AuditDraft) =>
  (result: unknown): AuditDraft | null =>
    row !== null && (result === true || result === 'done' || result === undefined) ? entry(row) : null

const WORKSPACES_RULES: Rules = {
  createWorkspace: (_look, row) => about(row, () => ofWorkspace(row, 'created', { name: row.name })),
  updateWorkspace(look, id, change) {
    const row = look('workspaces', id)
    return (result) => {
      if (row === null || result !== 'done') return null
      // a workspace has no secret: all that people change of it is told
      const detail = changed(row, change, Object.keys(row) as (keyof WorkspaceChange)[])
      return isEmpty(detail) ? null : ofWorkspace(row, 'updated', detail)
    }
  },
  suspendWorkspace(look, id, reason) {
    const row = look('workspaces', id)
    return () => row && ofWorkspace(row, 'suspended', { reason, changed: 0 })
  },
  resumeWorkspace(look, id) {
    const row = look('workspaces', id)
    return about(row?.suspendedAt == null ? null : row, (one) => ofWorkspace(one, 'resumed', { changed: 0 }))
  },
  deleteWorkspace: (look, _accountId, id) =>
    about(look('workspaces', id), (row) => ofWorkspace(row, 'deleted', { name: row.name, changed: 0 })),
}

const ofKey = entriesOf<KeyRow>('api_key', ({ name, mode, lookup, scope }) => ({
  ...{ name, prefix: `svc_${mode}_${lookup}`, scope },
}))

const ofCredential = entriesOf<CredentialRow>('credential', ({ username, cidr, certificateFingerprint }) =>
  username !== null
    ? { username }
    : cidr !== null
      ? { cidr }
      : { certificate_fingerprint: certificateFingerprint },
)

/** Those of a file are one order, and counted. */
const ofImported = ({ accountId, workspaceId }: CredentialRow, made: number): AuditDraft => ({
  accountId,
  action: 'credential.imported',
  object: { type: 'credential', id: null },
  workspaceId,
  detail: { changed: made },
})

/** An upstream in one line, without its password. */
const upstreamText = (row: UpstreamRow): string => {
  const { service, host, port, tls, user, weight, priority, rate, state, warmup } = row
  const place = service == null ? `${host}:${port} ${tls}` : `${service}+https://${host}`
  return [
    `${user === null ? '' : `${user}@`}${place} ${state}`,
    `weight ${weight} priority ${priority}${rate === null ? '' : ` rate ${rate}`}`,
    ...(warmup == null ? [] : [`warm-up ${warmup.first}:${warmup.days}`]),
  ].join(' ')
}

const ofPool = entriesOf<PoolRow>('egress_pool', ({ name }) => ({ pool: name }))

const poolDetail = (before: PoolRow, after: PoolRow): AuditDetail => {
  const members = {
    before: before.upstreams.map(upstreamText),
    after: after.upstreams.map(upstreamText),
  }
  // what is secret of a pool stands in its upstreams
  const { upstreams: _, updatedAt: __, ...told } = before
  const plain = changed(before, after, Object.keys(told) as (keyof PoolRow)[])
  const isSame = JSON.stringify(before.upstreams) === JSON.stringify(after.upstreams)
  return isSame ? plain : { ...plain, members }
}

const POOL_RULES: Rules = {
  createPool: (_look, row) =>
    about(row, () => ofPool(row, 'created', { members: row.upstreams.map(upstreamText) })),
  updatePool(look, row) {
    const before = look('pools', row.id)
    return (result) => {
      if (before === null || result !== 'done') return null
      const detail = poolDetail(before, row)
      return isEmpty(detail) ? null : ofPool(before, 'updated', detail)
    }
  },
  deletePool: (look, _accountId, id) => about(look('pools', id), (row) => ofPool(row, 'deleted')),
}

const keysText = ({ keys }: DomainRow): readonly string[] =>
  keys.map(({ selector, algorithm, state }) => `${selector} ${algorithm} ${state}`)

const ofDomain = entriesOf<DomainRow>('domain', ({ name }) => ({ domain: name }))

const domainDetail = (before: DomainRow, after: DomainRow): AuditDetail => {
  const [was, is] = [keysText(before), keysText(after)]
  const [wasVerified, isVerified] = [before.verifiedAt !== null, after.verifiedAt !== null]
  return {
    ...changed(before, after, ['workspaceId']),
    ...(wasVerified !== isVerified && { verified: { before: wasVerified, after: isVerified } }),
    ...(was.join() !== is.join() && { keys: { before: was, after: is } }),
  }
}

const DOMAIN_RULES: Rules = {
  createDomain: (_look, row) => about(row, () => ofDomain(row, 'created')),
  updateDomain(look, row) {
    const before = look('domains', row.id)
    return (result) => {
      if (before === null || !result) return null
      const detail = domainDetail(before, row)
      const isCheck = isEmpty(detail) && row.checkedAt !== before.checkedAt
      return isEmpty(detail) && !isCheck ? null : ofDomain(row, isCheck ? 'checked' : 'updated', detail)
    }
  },
  removeDomain: (look, _accountId, id) => about(look('domains', id), (row) => ofDomain(row, 'deleted')),
}

const ofWebhook = entriesOf<EndpointRow>('webhook', ({ url }) => ({ endpoint: url }))

/** An endpoint of that status, so that asking twice is told once. */
const endpointIn = (look: Look, id: string, status: EndpointRow['status']): EndpointRow | null => {
  const row = look('webhooks', id)
  return row?.status === status ? row : null
}

const WEBHOOK_RULES: Rules = {
  createEndpoint: (_look, row) =>
    about(row, () => ofWebhook(row, 'created', { events: row.events, format: row.format, mode: row.mode })),
  updateEndpoint(look, _accountId, id, change) {
    const row = look('webhooks', id)
    return (result) => {
      if (row === null || !result) return null
      // sealed: whether they changed, and nothing of them
      const { auth, headers, ...told } = change
      const detail = {
        ...changed(row, change, Object.keys(told) as (keyof typeof told)[]),
        ...(auth !== undefined && auth !== row.auth && { auth_changed: true }),
        ...(headers !== undefined && headers !== row.headers && { headers_changed: true }),
      }
      return isEmpty(detail) ? null : ofWebhook(row, 'updated', detail)
    }
  },
  rotateEndpoint: (look, _accountId, id) => about(look('webhooks', id), (row) => ofWebhook(row, 'rotated')),
  enableEndpoint: (look, _accountId, id) =>
    about(endpointIn(look, id, 'disabled'), (row) => ofWebhook(row, 'enabled')),
  disableEndpoint: (look, _accountId, id, reason) =>
    about(endpointIn(look, id, 'enabled'), (row) => ofWebhook(row, 'disabled', { reason })),
  deleteEndpoint: (look, _accountId, id) => about(look('webhooks', id), (row) => ofWebhook(row, 'deleted')),
  addReplay: (look, { endpointId, failed }) =>
    about(look('webhooks', endpointId), (row) => ofWebhook(row, 'replayed', { failed })),
  savePosts(look, posts) {
    const [post] = posts
    if (post === undefined || post.kind === 'event') return () => null
    const action = post.kind === 'test' ? 'tested' : 'replayed'
    return about(look('webhooks', post.endpointId), (row) =>
      ofWebhook(row, action, { event_id: post.eventId }),
    )
  },
}

/** The first pepper of a database is nobody's change; another one makes all secrets void. */
const acceptedPepper: Rules['setPepperMark'] = (look, after, onlyFirst) => {
  const known = look('pepper', 'pepper')
  return () =>
    known === null || known.accountId === null || onlyFirst === true
      ? null
      : {
          accountId: known.accountId,
          action: 'pepper.accepted',
          object: { type: 'pepper', id: null },
          detail: { mark: { before: known.mark, after } },
        }
}

const TENANT_RULES: Rules = {
  setPepperMark: acceptedPepper,
  ...WORKSPACES_RULES,
  createKey: (_look, row) => about(row, () => ofKey(row, 'created')),
  rotateKey: (look, _accountId, id, next, endsAt) =>
    about(look('keys', id), (row) => {
      const ends = Math.min(row.expiresAt ?? endsAt, endsAt)
      return ofKey(row, 'rotated', { followed_by: next.id, expires_at: toRfc3339(ends) })
    }),
  revokeKey: (look, _accountId, id) => about(look('keys', id), (row) => ofKey(row, 'revoked')),
  createCredential: (_look, row) => about(row, () => ofCredential(row, 'created')),
  importCredentials:
    (_look, [first]) =>
    ({ changed: made }) =>
      first === undefined || made === 0 ? null : ofImported(first, made),
  revokeCredential: (look, _accountId, id) =>
    about(look('credentials', id), (row) => ofCredential(row, 'revoked')),
  // not with the lock: who has it may still find that the plan has changed
  noteManaged:
    (_look, { accountId, setup }, _kept, _gone, begins = false) =>
    (isOwn) =>
      !(isOwn && begins)
        ? null
        : {
            ...{ accountId, action: 'setup.applied', object: { type: 'setup', id: setup } },
            detail: { changed: 0 },
          },
  ...POOL_RULES,
  ...DOMAIN_RULES,
  ...WEBHOOK_RULES,
}

export const RULES: Rules = { ...TENANT_RULES, ...MAIL_RULES, ...PEOPLE_RULES }
