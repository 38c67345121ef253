/**
 * NAME      keys - API keys, and names and passwords for the SMTP door, for people only
 * DESCRIPTION
 *   An API key cannot make or see other keys. Revoking removes the row, so a second DELETE finds nothing. It is immediate: an
 *   open SMTP session is refused at its next mail.
 */

import { type FieldError, invalid } from '../../base/fault.js'
import { camel } from '../../base/text.js'
import { createdKeyRecord, credentialRecord, keyRecord, rotatedKeyRecord } from '../../resource/tenants.js'
import { checkNewCredential } from '../../tenant/credential.js'
import { checkNewKey, MOST_OVERLAP_MS, OVERLAP_MS } from '../../tenant/key.js'
import { PEOPLE_ONLY, POST, param, type RouteRow } from '../endpoint.js'
import { listing, removing } from '../rows.js'
import { whyBody } from '../shapes/common.js'
import * as shapes from '../shapes/keys.js'
import { readSpan, readTime } from '../wire/values.js'

/** Adds to `errors` all that is wrong with it. */
const wishOf = (body: Partial<shapes.KeyBody>, now: number, errors: FieldError[]) => {
  const wish = {
    mode: body.mode,
    scope: body.scope,
    workspace: body.workspace_id,
    expiresAt: readTime('body.expires_at', body.expires_at, errors),
    rateLimitPerMinute: body.rate_limit_per_minute,
    permission: body.permission,
    ses: body.ses,
  }
  errors.push(...checkNewKey(body.name === undefined ? wish : { ...wish, name: body.name }, now))
  return wish
}

const overlapOf = (body: { readonly overlap?: string | number } | undefined, errors: FieldError[]): number =>
  body?.overlap === undefined ? OVERLAP_MS : readSpan('body.overlap', body.overlap, MOST_OVERLAP_MS, errors)

export const apiKeys: readonly RouteRow[] = [
  POST('/v1/api-keys', {
    ...PEOPLE_ONLY,
    id: 'createApiKey',
    cli: 'key create',
    summary: 'Make an API key; its secret is shown in this answer only',
    description:
      'Only a keyed hash of the secret is kept. A key of scope `platform` acts for all workspaces and names one in X-Workspace-Id; one of scope `workspace` acts for its own. A test-mode key sends test mail, reads, and changes nothing that is live.',
    locates: true,
    body: shapes.keyBody,
    answers: { 201: shapes.createdKey },
    faults: ['workspace.not_found'],
    alsoWrong({ body }, _, __, deps) {
      const errors: FieldError[] = []
      wishOf(body, deps.clock.now(), errors)
      return errors
    },
    async handle({ principal, body }, deps) {
      const errors: FieldError[] = []
      const wish = { ...wishOf(body, deps.clock.now(), errors), name: body.name }
      if (errors.length > 0) throw invalid(errors)
      const made = await deps.tenants.createKey(principal.accountId, wish)
      const headers = { location: `/v1/api-keys/${made.row.id}` }
      return { status: 201, body: createdKeyRecord(made), headers }
    },
  }),
  listing({
    ...PEOPLE_ONLY,
    id: 'listApiKeys',
    cli: 'key list',
    path: '/v1/api-keys',
    summary: 'API keys, newest first',
    description: 'Without secrets. `prefix` tells which one a program uses.',
    query: shapes.keyQuery,
    of: shapes.apiKey,
    rows: ({ principal, query: { prefix = null } }, deps) => ({
      filters: { prefix },
      fetch: (page) => deps.store.keys(principal.accountId, page, prefix?.slice(9) ?? null),
      render: keyRecord,
    }),
  }),
  POST('/v1/api-keys/{id}/rotate', {
    ...PEOPLE_ONLY,
    id: 'rotateApiKey',
    cli: 'key rotate',
    summary: 'Make the next key of the same rights; the one so far ends after the overlap',
    description:
      'The secret of the new key is shown in this answer only. Until `overlap` is over both keys work; `0` ends the one so far at once. A key that was to live for a while is followed by one that lives as long from now.',
    locates: true,
    body: shapes.rotatedKeyBody,
    answers: { 201: shapes.rotatedKey },
    faults: ['api_key.not_found'],
    alsoWrong({ body }) {
      const errors: FieldError[] = []
      overlapOf(body, errors)
      return errors
    },
    async handle(call, deps) {
      const errors: FieldError[] = []
      const overlap = overlapOf(call.body, errors)
      if (errors.length > 0) throw invalid(errors)
      const { accountId } = call.principal
      const made = await deps.tenants.rotateKey(accountId, param(call, 'id'), overlap)
      const headers = { location: `/v1/api-keys/${made.row.id}` }
      return { status: 201, body: rotatedKeyRecord(made), headers }
    },
  }),
  removing({
    ...PEOPLE_ONLY,
    id: 'revokeApiKey',
    cli: 'key revoke',
    path: '/v1/api-keys/{id}',
    summary: 'Revoke an API key, at once and for good',
    description:
      'The next request with it is answered 401, and an open SMTP session is refused at its next mail.',
    body: whyBody,
    of: shapes.apiKey,
    object: 'api_key',
    remove: ({ principal }, id, deps) => deps.tenants.revokeKey(principal.accountId, id),
  }),
]

export const credentials: readonly RouteRow[] = [
  POST('/v1/credentials', {
    ...PEOPLE_ONLY,
    id: 'createCredential',
    cli: 'credential create',
    summary:
      'Make an SMTP credential: a user name with a password, a private address range, or a client certificate',
    description:
      'Opens the SMTP door only. Either `username` with `password`, kept as a hash, or `cidr` with neither, for devices that cannot log in, or `certificate_fingerprint`, the SHA-256 of a certificate that the client shows.',
    body: shapes.credentialBody,
    answers: { 201: shapes.credential },
    faults: ['workspace.not_found'],
    // whether the others are wrong depends on the range
    alsoWrong: ({ body }, told) => (told.has('body.cidr') ? [] : checkNewCredential(camel(body))),
    async handle({ principal, body }, deps) {
      const row = await deps.tenants.createCredential(principal.accountId, {
        ...camel(body),
        workspace: body.workspace_id,
      })
      return { status: 201, body: credentialRecord(row) }
    },
  }),
  listing({
    ...PEOPLE_ONLY,
    id: 'listCredentials',
    cli: 'credential list',
    path: '/v1/credentials',
    summary: 'SMTP credentials, newest first',
    description: 'Without passwords.',
    of: shapes.credential,
    rows: ({ principal }, deps) => ({
      fetch: (page) => deps.store.credentials(principal.accountId, page),
      render: credentialRecord,
    }),
  }),
  removing({
    ...PEOPLE_ONLY,
    id: 'revokeCredential',
    cli: 'credential revoke',
    path: '/v1/credentials/{id}',
    summary: 'Revoke an SMTP credential, at once and for good',
    description: 'An open SMTP session is refused at its next mail.',
    body: whyBody,
    of: shapes.credential,
    object: 'credential',
    remove: ({ principal }, id, deps) => deps.tenants.revokeCredential(principal.accountId, id),
  }),
]
