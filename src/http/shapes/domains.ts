/**
 * NAME      domains - the shapes of sending domains
 */
import Joi from 'joi'
import { CHECKED_DOMAIN, DOMAIN } from '../../resource/domain.js'
import {
  anyBody,
  body,
  membersOf,
  need,
  object,
  oneOf,
  orNull,
  record,
  shape,
  type TypeOf,
} from './common.js'

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

export const domain = record('Domain', () => membersOf(DOMAIN))
export const checkedDomain = record('CheckedDomain', () => membersOf(CHECKED_DOMAIN))
