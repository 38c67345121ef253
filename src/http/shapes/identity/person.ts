/**
 * NAME      person - the shapes of people and of links that let them in
 */
import Joi from 'joi'
import { ROLES } from '../../../config/identity.js'
import {
  anyBody,
  body,
  clearable,
  id,
  need,
  nullable,
  oneOf,
  orNull,
  record,
  removedOf,
  shape,
  shapeOf,
  time,
} from '../common.js'

const role = () => oneOf(...ROLES)

export const personBody = body(() => ({
  email: need(orNull(Joi.string().max(320))),
  name: orNull(Joi.string().max(200)),
  role: need(orNull(role())),
  password: orNull(Joi.string().max(1_000)).description(
    '12 to 256 characters. Without one only an identity provider, or a setup link, lets the person in',
  ),
}))

export const personChangeBody = body(() => ({
  name: clearable(Joi.string().max(200)).description('null: none'),
  role: orNull(role()),
  disabled: orNull(Joi.boolean()),
  password: orNull(Joi.string().max(1_000)).description('Your own, with the current one'),
  current_password: orNull(Joi.string().max(1_000)),
}))

const fields = shape(() => ({
  id: id('usr'),
  object: Joi.string().valid('user').required(),
  email: Joi.string().required(),
  name: nullable(Joi.string()),
  role: role().required(),
  role_from: nullable(Joi.string()).description('The identity provider that says the role at each sign-in'),
  has_password: Joi.boolean().required(),
  second_factor: Joi.boolean()
    .required()
    .description('Whether the password alone does not sign in: a second factor is asked for, too'),
  disabled: Joi.boolean().required(),
  disabled_at: nullable(Joi.string()),
  last_sign_in_at: nullable(Joi.string()),
  created_at: time(),
}))

const identity = shapeOf(() => ({
  provider: Joi.string().required(),
  issuer: Joi.string().required(),
  subject: Joi.string().required(),
  last_sign_in_at: nullable(Joi.string()),
}))

const factorFields = shape(() => ({
  id: id('fac'),
  object: Joi.string().valid('factor').required(),
  kind: oneOf('totp', 'passkey').required().description('`totp`: an authenticator app'),
  name: Joi.string().required(),
  created_at: time(),
  last_used_at: nullable(Joi.string()),
}))
const factor = record('Factor', factorFields)

export const person = record('User', () => ({
  ...fields(),
  factors: Joi.array()
    .items(factor())
    .required()
    .description('What the person proves beside the password, the oldest first'),
  recovery_codes_left: Joi.number()
    .integer()
    .min(0)
    .required()
    .description('How many recovery codes are not used yet'),
  identities: Joi.array().items(identity()).required(),
}))

const currentPassword = shape(() =>
  orNull(Joi.string().max(1_000)).description('Your own; not for half an hour after a setup link'),
)

export const currentPasswordBody = anyBody(() => ({ current_password: currentPassword() }))
export const beginFactorBody = body(() => ({
  kind: need(orNull(oneOf('totp', 'passkey'))),
  current_password: currentPassword(),
}))

export const begunFactor = record('FactorEnrolment', () => ({
  object: Joi.string().valid('factor_enrolment').required(),
  kind: oneOf('totp', 'passkey').required(),
  options: Joi.object()
    .unknown()
    .description('Of a passkey: what navigator.credentials.create is called with, octets in base64url'),
  secret: Joi.string().description('The seed, in base32 (RFC 6238: SHA-1, 6 digits, 30 s)'),
  uri: Joi.string().description('The same as an `otpauth://` URI, for a QR code'),
  enrolment: Joi.string().required().description('Send it with the proof, within 10 minutes'),
}))

export const addFactorBody = body(() => ({
  enrolment: need(orNull(Joi.string().max(2_000))).description('What the beginning gave'),
  name: orNull(Joi.string().max(200)).description('As you call it'),
  response: orNull(Joi.string().max(20_000)).description(
    'Of a passkey: the credential that the browser made, as JSON text, octets in base64url',
  ),
  code: orNull(Joi.string().max(100)).description('What the app shows now; it opens nothing any more'),
}))

const codes = shape(() => Joi.array().items(Joi.string()))

export const addedFactor = record(
  'AddedFactor',
  () => ({
    ...factorFields(),
    recovery_codes: nullable(codes()).description(
      'With the first factor: each signs in once in its place; shown in this answer only',
    ),
  }),
  'Factor',
)

export const recoveryCodes = record('RecoveryCodes', () => ({
  object: Joi.string().valid('recovery_codes').required(),
  recovery_codes: codes().required().description('Shown in this answer only'),
}))

export const removedFactor = removedOf(factor)
export const listedPerson = record('ListedUser', fields, 'User')

export const invitationBody = body(() => ({
  email: orNull(Joi.string().max(320)).description('Whom it is for; it binds nobody'),
  role: need(orNull(role())),
  workspace_id: orNull(Joi.string().max(100)).description(
    'Id or slug of a workspace: the link is mailed to `email` through its pool, from its default sender, and is shown nowhere. Not for an owner',
  ),
}))

const linkFields = (object: 'invitation' | 'setup_link') => ({
  id: id('lnk'),
  object: Joi.string().valid(object).required(),
  email: nullable(Joi.string()),
  role: role().required(),
  state: Joi.string().valid('open', 'used', 'expired').required(),
  created_by: Joi.string().required(),
  created_at: time(),
  expires_at: time(),
  used_at: nullable(Joi.string()),
})

const url = shape(() => Joi.string().required().description('Lets in once; shown in this answer only'))

export const madeInvitation = record('MadeInvitation', () => ({
  ...linkFields('invitation'),
  url: nullable(Joi.string()).description('Lets in once; shown in this answer only; null where it is mailed'),
  email_id: nullable(Joi.string()).description('The mail that has the link; null where none was sent'),
}))
export const madeSetupLink = record('MadeSetupLink', () => ({ ...linkFields('setup_link'), url: url() }))
export const invitation = record('Invitation', () => linkFields('invitation'))
