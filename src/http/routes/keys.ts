/**
 * NAME      keys - API keys, and names and passwords for the SMTP door, for people only
 *   An API key cannot make or see other keys; its secret stands in the answer of its creation alone. Revoking removes the row,
 *   so a second DELETE finds nothing. It is immediate: an open SMTP session is refused at its next mail. A credential is a name
 *   with a password that a person chose, or an address range or a client certificate without one; the password never comes out.
 */
import Joi from 'joi'
import { type FieldError, readValid, wrongBy } from '../../base/fault.js'
import { camel } from '../../base/text.js'
import {
  CREDENTIAL,
  createdKeyRecord,
  credentialRecord,
  KEY,
  keyRecord,
  rotatedKeyRecord,
} from '../../resource/tenants.js'
import { checkNewCredential } from '../../tenant/credential.js'
import { checkNewKey, MOST_OVERLAP_MS, OVERLAP_MS } from '../../tenant/key.js'
import { listing, PEOPLE_ONLY, POST, param, type RouteRow, removing } from '../endpoint.js'
import {
  anyBody,
  body,
  membersOf,
  need,
  oneOf,
  orNull,
  pageQuery,
  record,
  shape,
  shapeOf,
  span,
  type TypeOf,
  timestamp,
  why,
  whyBody,
} from '../shapes/common.js'
import { readSpan, readTime } from '../wire/values.js'

const keyBody = body(() => ({
  name: need(orNull(Joi.string().max(200))),
  mode: orNull(oneOf(...KEY.mode.words)),
  scope: orNull(oneOf(...KEY.scope.words)),
  workspace_id: orNull(Joi.string().max(100)),
  expires_at: orNull(timestamp()),
  rate_limit_per_minute: orNull(Joi.number().integer().min(1).max(1_000_000)),
  permission: orNull(oneOf(...KEY.permission.words)).description(
    '`sending_access`: it sends mail (POST /v1/emails and /v1/emails/batch, SMTP), and reads and changes nothing. `reading_access`: it reads (GET), and sends and changes nothing. Default `full_access`',
  ),
  ses: orNull(Joi.boolean()).description(
    'True: it also gets an access key for clients of Amazon SES, below /v1/as/ses. Only of scope `workspace`',
  ),
}))
type KeyBody = TypeOf<typeof keyBody>

const rotatedKeyBody = anyBody(() => ({
  overlap: span(MOST_OVERLAP_MS).description(
    'How long the key so far works as well: `0`, `90m`, `24h`, at most `30d`; or seconds. Default `24h`',
  ),
  reason: why(),
}))

const keyQuery = shapeOf(() => ({
  ...pageQuery(),
  prefix: Joi.string()
    .pattern(/^svc_(?:live|test)_[0-9A-Za-z]{12}$/)
    .meta({ must: 'must be the first 21 characters of a key, and no more: the rest is secret' })
    .description('Only the key that begins so; whoever has a key in hand finds out which it is'),
}))

const apiKeyShape = record('ApiKey', () => membersOf(KEY))
const made = shape(() => ({
  ...membersOf(KEY),
  secret: Joi.string().required().description('The key itself: shown now, and never again'),
  token: Joi.string().required().description('The same as `secret`, under the name that Resend has for it'),
  ses_secret_access_key: Joi.string()
    .allow(null)
    .required()
    .description('What clients of Amazon SES sign with: shown now, and never again'),
}))

const createdKeyShape = record('CreatedApiKey', made)
const rotatedKeyShape = record('RotatedApiKey', () => ({
  ...made(),
  replaces: apiKeyShape().required().description('The key so far; `expires_at` says when it ends'),
}))

const credentialBody = body(() => ({
  workspace_id: need(orNull(Joi.string().max(100))),
  mode: orNull(oneOf(...KEY.mode.words)),
  username: orNull(Joi.string().max(255)),
  password: orNull(Joi.string().max(1_000)),
  cidr: orNull(Joi.string().max(100)),
  certificate_fingerprint: orNull(Joi.string().max(120)),
}))

const credentialShape = record('Credential', () => membersOf(CREDENTIAL))

/** Adds to `errors` all that is wrong with it. */
const wishOf = (body: Partial<KeyBody>, now: number, errors: FieldError[]) => {
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
    body: keyBody,
    answers: { 201: createdKeyShape },
    faults: ['workspace.not_found'],
    alsoWrong: ({ body }, _, __, deps) => wrongBy((errors) => wishOf(body, deps.clock.now(), errors)),
    async handle({ principal, body }, deps) {
      const wish = readValid((errors) => ({ ...wishOf(body, deps.clock.now(), errors), name: body.name }))
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
    query: keyQuery,
    of: apiKeyShape,
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
    body: rotatedKeyBody,
    answers: { 201: rotatedKeyShape },
    faults: ['api_key.not_found'],
    alsoWrong: ({ body }) => wrongBy((errors) => overlapOf(body, errors)),
    async handle(call, deps) {
      const overlap = readValid((errors) => overlapOf(call.body, errors))
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
    of: apiKeyShape,
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
    body: credentialBody,
    answers: { 201: credentialShape },
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
    of: credentialShape,
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
    of: credentialShape,
    object: 'credential',
    remove: ({ principal }, id, deps) => deps.tenants.revokeCredential(principal.accountId, id),
  }),
]
