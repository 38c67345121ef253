/**
 * NAME      keys - the shapes of API keys and of SMTP credentials
 * DESCRIPTION
 *   The secret of a key stands in one answer only, that of its creation. A credential is a name with a password that a person
 *   chose, or an address range or a client certificate without one; the password goes in and never comes out.
 */
import Joi from 'joi'
import { KEY_PERMISSIONS } from '../../store/port/tenants.js'
import { MOST_OVERLAP_MS } from '../../tenant/key.js'
import {
  anyBody,
  body,
  id,
  need,
  nullable,
  oneOf,
  orNull,
  pageQuery,
  record,
  shape,
  shapeOf,
  span,
  type TypeOf,
  time,
  timestamp,
  why,
} from './common.js'

export const keyBody = body(() => ({
  name: need(orNull(Joi.string().max(200))),
  mode: orNull(oneOf('live', 'test')),
  scope: orNull(oneOf('platform', 'workspace')),
  workspace_id: orNull(Joi.string().max(100)),
  expires_at: orNull(timestamp()),
  rate_limit_per_minute: orNull(Joi.number().integer().min(1).max(1_000_000)),
  permission: orNull(oneOf(...KEY_PERMISSIONS)).description(
    '`sending_access`: it sends mail (POST /v1/emails and /v1/emails/batch, SMTP), and reads and changes nothing. Default `full_access`',
  ),
}))
export type KeyBody = TypeOf<typeof keyBody>

export const rotatedKeyBody = anyBody(() => ({
  overlap: span(MOST_OVERLAP_MS).description(
    'How long the key so far works as well: `0`, `90m`, `24h`, at most `30d`; or seconds. Default `24h`',
  ),
  reason: why(),
}))

export const keyQuery = shapeOf(() => ({
  ...pageQuery(),
  prefix: Joi.string()
    .pattern(/^svc_(?:live|test)_[0-9A-Za-z]{12}$/)
    .meta({ must: 'must be the first 21 characters of a key, and no more: the rest is secret' })
    .description('Only the key that begins so; whoever has a key in hand finds out which it is'),
}))

const fields = shape(() => ({
  id: id('key'),
  object: Joi.string().valid('api_key').required(),
  name: Joi.string().required(),
  mode: Joi.string().valid('live', 'test').required(),
  scope: Joi.string().valid('platform', 'workspace').required(),
  workspace_id: nullable(Joi.string()),
  prefix: Joi.string().required(),
  created_at: time(),
  last_used_at: nullable(Joi.string()),
  last_used_from: nullable(Joi.string()).description('The address of that use'),
  expires_at: nullable(Joi.string()),
  rate_limit_per_minute: nullable(Joi.number().integer()),
  permission: need(oneOf(...KEY_PERMISSIONS)).description('`sending_access`: it only sends'),
}))

export const apiKey = record('ApiKey', fields)
const made = shape(() => ({
  ...fields(),
  secret: Joi.string().required().description('The key itself: shown now, and never again'),
  token: Joi.string().required().description('The same as `secret`, under the name that Resend has for it'),
}))

export const createdKey = record('CreatedApiKey', made)
export const rotatedKey = record('RotatedApiKey', () => ({
  ...made(),
  replaces: apiKey().required().description('The key so far; `expires_at` says when it ends'),
}))

export const credentialBody = body(() => ({
  workspace_id: need(orNull(Joi.string().max(100))),
  mode: orNull(oneOf('live', 'test')),
  username: orNull(Joi.string().max(255)),
  password: orNull(Joi.string().max(1_000)),
  cidr: orNull(Joi.string().max(100)),
  certificate_fingerprint: orNull(Joi.string().max(120)),
}))

export const credential = record('Credential', () => ({
  id: id('cred'),
  object: Joi.string().valid('credential').required(),
  workspace_id: id('ws'),
  mode: Joi.string().valid('live', 'test').required(),
  username: nullable(Joi.string()),
  cidr: nullable(Joi.string()),
  certificate_fingerprint: nullable(Joi.string()),
  imported: Joi.boolean().required(),
  created_at: time(),
  last_used_at: nullable(Joi.string()),
  last_used_from: nullable(Joi.string()).description('The address of that use'),
}))
