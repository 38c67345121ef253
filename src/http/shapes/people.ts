/**
 * NAME      people - the shapes of people, of links that let them in, of sessions, and of who changed what
 */
import Joi from 'joi'
import { ROLES } from '../../config/identity.js'
import {
  AUDIT_ENTRY,
  FACTOR,
  INVITATION,
  OPEN_SESSION,
  PERSON,
  PERSON_IN_FULL,
  SETUP_LINK,
  WHO,
} from '../../resource/people.js'
import type { SavedView } from '../../store/port/identity.js'
import {
  anyBody,
  body,
  clearable,
  count,
  membersOf,
  need,
  nullable,
  oneOf,
  orNull,
  pageQuery,
  record,
  removedOf,
  shape,
  shapeOf,
  type TypeOf,
  timestamp,
} from './common.js'

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

const factor = record('Factor', () => membersOf(FACTOR))

export const person = record('User', () =>
  membersOf(PERSON_IN_FULL, {
    factors: Joi.array()
      .items(factor())
      .required()
      .description('What the person proves beside the password, the oldest first'),
    recovery_codes_left: count().description('How many recovery codes are not used yet'),
  }),
)

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
    ...membersOf(FACTOR),
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
export const listedPerson = record('ListedUser', () => membersOf(PERSON), 'User')

export const invitationBody = body(() => ({
  email: orNull(Joi.string().max(320)).description('Whom it is for; it binds nobody'),
  role: need(orNull(role())),
  workspace_id: orNull(Joi.string().max(100)).description(
    'Id or slug of a workspace: the link is mailed to `email` through its pool, from its default sender, and is shown nowhere. Not for an owner',
  ),
}))

const url = shape(() => Joi.string().required().description('Lets in once; shown in this answer only'))

export const madeInvitation = record('MadeInvitation', () => ({
  ...membersOf(INVITATION),
  url: nullable(Joi.string()).description('Lets in once; shown in this answer only; null where it is mailed'),
  email_id: nullable(Joi.string()).description('The mail that has the link; null where none was sent'),
}))
export const madeSetupLink = record('MadeSetupLink', () => ({ ...membersOf(SETUP_LINK), url: url() }))
export const invitation = record('Invitation', () => membersOf(INVITATION))

const view = shape(() =>
  Joi.object<SavedView>({
    title: Joi.string().max(80).required(),
    path: Joi.string().max(2_000).required(),
  }),
)

export const settingsBody = body(() => ({
  time_zone: clearable(Joi.string().max(64)).description(
    'Such as Europe/Prague; null: as the browser has it',
  ),
  views: orNull(Joi.array<readonly SavedView[]>().items(view()).max(30)).description(
    'All of them; each a page of the dashboard',
  ),
}))

export const session = record('Session', () => ({
  object: Joi.string().valid('session').required(),
  via: Joi.string().valid('key', 'session').required(),
  id: Joi.string().required().description('Of the key or the session'),
  person: nullable(
    Joi.object({
      ...membersOf(WHO),
      time_zone: nullable(Joi.string()),
      views: Joi.array().items(view()).required(),
    }),
  ).description('Whose session it is; null for a key, and for a session of nobody in particular'),
  role: nullable(oneOf(...ROLES)).description('Of the session; null for a key'),
  permissions: Joi.array()
    .items(Joi.string().valid('read', 'subjects', 'bodies', 'write', 'people', 'reset_password', 'enrol'))
    .required()
    .description(
      'What the role allows: to see subjects and bodies of mail, to change things, to manage people; `reset_password` for half an hour after a setup link: another password without the one of now; `enrol` alone where a second factor is required and there is none yet: nothing but that can be done',
    ),
  scope: Joi.string().valid('platform', 'workspace').required(),
  workspace_id: nullable(Joi.string()).description('The only workspace that it may use; null: all of them'),
  mode: nullable(Joi.string().valid('live', 'test')).description('Whose mail it sees; null: both'),
  expires_at: nullable(Joi.string()).description('When it ends if it is not used; null: not by itself'),
  limits: Joi.object({
    rate_limit_per_minute: Joi.number().integer().required().description('Sends a minute'),
  }).required(),
}))

export const openSession = record('OpenSession', () => membersOf(OPEN_SESSION), 'Session')

const ofUser = shape(() => Joi.string().max(320).description('Id or address of a person; for owners'))

export const sessionsQuery = shapeOf(() => ({ ...pageQuery(), user: ofUser() }))
export const endSessionsQuery = shapeOf(() => ({ user: ofUser() }))
export const endedSessions = record('EndedSessions', () => ({
  object: Joi.string().valid('session').required(),
  deleted: Joi.boolean().valid(true).required(),
  changed: Joi.number().integer().min(0).required().description('How many sessions ended'),
}))

export const auditQuery = shapeOf(() => ({
  ...pageQuery(),
  action: Joi.string().max(64).description('An action, or how it begins: `api_key`'),
  actor: Joi.string()
    .max(100)
    .description('Address or id of a person, id of a key or session, or `cli:` and a user number'),
  target: Joi.string()
    .max(100)
    .description('Id of what was changed; or the address of a person, the name of a workspace or of a pool'),
  workspace: Joi.string().max(100).description('Id of a workspace'),
  since: timestamp(),
  until: timestamp(),
}))
export type AuditQuery = TypeOf<typeof auditQuery>

export const entry = record(
  'AuditEntry',
  () =>
    membersOf(AUDIT_ENTRY, {
      detail: Joi.object()
        .unknown()
        .required()
        .description('Fields with their values, or with what they were (`before`) and are (`after`)'),
    }),
  'Audit',
)
