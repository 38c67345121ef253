/**
 * NAME      domain - the shapes of sending domains
 */
import Joi from 'joi'
import {
  anyBody,
  body,
  id,
  need,
  nullable,
  object,
  oneOf,
  orNull,
  shape,
  shapeOf,
  type TypeOf,
  time,
} from '../common.js'

/** What Resend's client says of a domain: taken where it asks for what is so here, and refused where it does not. */
const asResend = shape(() => ({
  open_tracking: orNull(Joi.boolean().valid(false)).description('Nothing is tracked: false'),
  click_tracking: orNull(Joi.boolean().valid(false)).description('Nothing is tracked: false'),
  tls: orNull(oneOf('opportunistic')).description(
    '`opportunistic`: what is wanted of TLS is said of each upstream of a pool',
  ),
  capabilities: orNull(
    object({ sending: orNull(oneOf('enabled')), receiving: orNull(oneOf('disabled')) }),
  ).description('Domains send, and do not receive'),
}))

export const domainChange = anyBody(asResend)

export const domainBody = body(() => ({
  name: need(orNull(Joi.string().max(255))),
  ...asResend(),
  workspace_id: orNull(Joi.string().max(100)).description(
    'Only for this workspace, by id or slug; X-Workspace-Id says the same. Without both it is for all of the account',
  ),
}))
export type DomainBody = TypeOf<typeof domainBody>

export const nothing = anyBody(() => ({}))

export const rotation = anyBody(() => ({
  now: orNull(Joi.boolean()).description('Sign with the new keys at once, published or not'),
}))

const KEY_STATES = ['next', 'active', 'retired'] as const

const key = shapeOf(() => ({
  selector: Joi.string().required(),
  algorithm: Joi.string().valid('rsa', 'ed25519').required(),
  state: need(oneOf(...KEY_STATES)).description(
    '`next` waits to be found in DNS, `active` signs, `retired` stays published while its mail is under way',
  ),
  created_at: time(),
  retired_at: nullable(Joi.string()),
}))

const dnsRecord = shape(() => ({
  purpose: Joi.string().valid('dkim', 'dmarc').required(),
  type: Joi.string().valid('TXT').required(),
  name: Joi.string().required(),
  value: Joi.string().required(),
  state: nullable(oneOf(...KEY_STATES)).description(
    'Of the key that it publishes; null for what is only advised',
  ),
}))

const seen = shape(() => ({
  seen: Joi.string().valid('ok', 'missing', 'different', 'unknown').required(),
  found: nullable(Joi.string()).description('What DNS says instead, or why it said nothing'),
}))

const domainWith = (record: Joi.Schema) =>
  Joi.object({
    id: id('dom'),
    object: Joi.string().valid('domain').required(),
    name: Joi.string().required(),
    workspace_id: nullable(Joi.string()).description('null: for all workspaces of the account'),
    verified: Joi.boolean().required(),
    verified_at: nullable(Joi.string()),
    checked_at: nullable(Joi.string()),
    keys: Joi.array().items(key()).required(),
    records: Joi.array().items(record).required(),
    created_at: time(),
  })

export const domain = shape(() => domainWith(Joi.object(dnsRecord())).meta({ name: 'Domain' }))
export const checkedDomain = shape(() =>
  domainWith(Joi.object({ ...dnsRecord(), ...seen() })).meta({ name: 'CheckedDomain' }),
)
