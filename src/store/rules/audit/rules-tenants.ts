/**
 * NAME      rules-tenants - workspaces, keys, credentials, pools, domains, webhooks
 */

import { toRfc3339 } from '../../../base/clock.js'
import type { EndpointRow } from '../../port/hooks.js'
import type { AuditDetail } from '../../port/tenants/audit.js'
import type { DomainRow } from '../../port/tenants/domains.js'
import type { CredentialRow, KeyRow, PoolRow, UpstreamRow, WorkspaceRow } from '../../port/tenants/tenants.js'
import { changed, type Entry, isEmpty, type Look, type Rules } from './entry.js'

const ofWorkspace = (row: WorkspaceRow, action: string, detail: AuditDetail = {}): Entry => ({
  accountId: row.accountId,
  action: `workspace.${action}`,
  object: { type: 'workspace', id: row.id },
  workspaceId: row.id,
  detail: { slug: row.slug, ...detail },
})

/** An entry about a row as it was, when the verb did something. */
const about =
  <T>(row: T | null, entry: (row: T) => Entry) =>
  (result: unknown): Entry | null =>
    row !== null && (result === true || result === 'done' || result === undefined) ? entry(row) : null

const WORKSPACE_FIELDS = [
  ...(['name', 'slug', 'poolId', 'defaultFrom', 'ambiguous', 'lineEndings', 'senderDsn'] as const),
  ...(['restrictSenders', 'alarms', 'onAlarm', 'statisticsTags', 'suppressSoft', 'routes'] as const),
]

const WORKSPACES_RULES: Rules = {
  createWorkspace: (_look, row) => about(row, () => ofWorkspace(row, 'created', { name: row.name })),
  updateWorkspace(look, id, change) {
    const row = look('workspaces', id)
    return (result) => {
      if (row === null || result !== 'done') return null
      const detail = changed(row, change, WORKSPACE_FIELDS)
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

const ofKey = (row: KeyRow, action: string, detail: AuditDetail = {}): Entry => ({
  accountId: row.accountId,
  action: `api_key.${action}`,
  object: { type: 'api_key', id: row.id },
  workspaceId: row.workspaceId,
  detail: { name: row.name, prefix: `svc_${row.mode}_${row.lookup}`, scope: row.scope, ...detail },
})

const ofCredential = (row: CredentialRow, action: string): Entry => ({
  accountId: row.accountId,
  action: `credential.${action}`,
  object: { type: 'credential', id: row.id },
  workspaceId: row.workspaceId,
  detail:
    row.username !== null
      ? { username: row.username }
      : row.cidr !== null
        ? { cidr: row.cidr }
        : { certificate_fingerprint: row.certificateFingerprint },
})

/** Those of a file are one order, and counted. */
const ofImported = ({ accountId, workspaceId }: CredentialRow, made: number): Entry => ({
  accountId,
  action: 'credential.imported',
  object: { type: 'credential', id: null },
  workspaceId,
  detail: { changed: made },
})

/** An upstream in one line, without its password. */
const upstreamText = ({ host, port, tls, user, weight, priority, rate, state }: UpstreamRow): string =>
  [
    `${user === null ? '' : `${user}@`}${host}:${port} ${tls} ${state}`,
    `weight ${weight} priority ${priority}${rate === null ? '' : ` rate ${rate}`}`,
  ].join(' ')

const ofPool = (row: PoolRow, action: string, detail: AuditDetail): Entry => ({
  accountId: row.accountId,
  action: `egress_pool.${action}`,
  object: { type: 'egress_pool', id: row.id },
  detail: { pool: row.name, ...detail },
})

const poolDetail = (before: PoolRow, after: PoolRow): AuditDetail => {
  const members = {
    before: before.upstreams.map(upstreamText),
    after: after.upstreams.map(upstreamText),
  }
  const plain = changed(before, after, ['name', 'returnPath', 'notifySuccess', 'relayedMeans'])
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
  deletePool: (look, _accountId, id) => about(look('pools', id), (row) => ofPool(row, 'deleted', {})),
}

const keysText = ({ keys }: DomainRow): readonly string[] =>
  keys.map(({ selector, algorithm, state }) => `${selector} ${algorithm} ${state}`)

const ofDomain = (row: DomainRow, action: string, detail: AuditDetail = {}): Entry => ({
  accountId: row.accountId,
  action: `domain.${action}`,
  object: { type: 'domain', id: row.id },
  workspaceId: row.workspaceId,
  detail: { domain: row.name, ...detail },
})

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

const ofWebhook = (row: EndpointRow, action: string, detail: AuditDetail = {}): Entry => ({
  accountId: row.accountId,
  action: `webhook.${action}`,
  object: { type: 'webhook', id: row.id },
  workspaceId: row.workspaceId,
  detail: { endpoint: row.url, ...detail },
})

const WEBHOOK_FIELDS = [
  ...(['url', 'events', 'headerNames', 'domains', 'tags', 'fields', 'maxInFlight', 'replayRate'] as const),
]

/** An endpoint of that status, so that asking twice is told once. */
const endpointIn = (look: Look, id: string, status: EndpointRow['status']): EndpointRow | null => {
  const row = look('webhooks', id)
  return row?.status === status ? row : null
}

const WEBHOOK_RULES: Rules = {
  createEndpoint: (_look, row) =>
    about(row, () => ofWebhook(row, 'created', { events: row.events, mode: row.mode })),
  updateEndpoint(look, _accountId, id, change) {
    const row = look('webhooks', id)
    return (result) => {
      if (row === null || !result) return null
      const detail = {
        ...changed(row, change, WEBHOOK_FIELDS),
        ...(change.headers !== undefined && change.headers !== row.headers && { headers_changed: true }),
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

export const TENANT_RULES: Rules = {
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
  ...POOL_RULES,
  ...DOMAIN_RULES,
  ...WEBHOOK_RULES,
}
