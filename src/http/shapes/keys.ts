/**
 * NAME      keys - the shapes of API keys and of SMTP credentials
 * DESCRIPTION
 *   The secret of a key stands in one answer only, that of its creation. A credential is a name with a password that a person
 *   chose, or an address range or a client certificate without one; the password goes in and never comes out.
 */
import Joi from 'joi'
import { CREDENTIAL, KEY } from '../../resource/tenants.js'
import { MOST_OVERLAP_MS } from '../../tenant/key.js'
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
} from './common.js'

export const keyBody = body(() => ({
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

export const apiKey = record('ApiKey', () => membersOf(KEY))
const made = shape(() => ({
  ...membersOf(KEY),
  secret: Joi.string().required().description('The key itself: shown now, and never again'),
  token: Joi.string().required().description('The same as `secret`, under the name that Resend has for it'),
  ses_secret_access_key: Joi.string()
    .allow(null)
    .required()
    .description('What clients of Amazon SES sign with: shown now, and never again'),
}))

export const createdKey = record('CreatedApiKey', made)
export const rotatedKey = record('RotatedApiKey', () => ({
  ...made(),
  replaces: apiKey().required().description('The key so far; `expires_at` says when it ends'),
}))

export const credentialBody = body(() => ({
  workspace_id: need(orNull(Joi.string().max(100))),
  mode: orNull(oneOf(...KEY.mode.words)),
  username: orNull(Joi.string().max(255)),
  password: orNull(Joi.string().max(1_000)),
  cidr: orNull(Joi.string().max(100)),
  certificate_fingerprint: orNull(Joi.string().max(120)),
}))

export const credential = record('Credential', () => membersOf(CREDENTIAL))
