/**
 * NAME      person - the shapes of people and of links that let them in
 */
import Joi from 'joi'
import { ROLES, type Role } from '../../../config/identity.js'
import { body, id, listOf, nullable, orNull, pageQuery, removed, time } from '../common.js'

const role = () => Joi.string().valid(...ROLES)

export interface PersonBody {
  readonly email: string
  readonly name?: string
  readonly role: Role
  readonly password?: string
}

export const personBody = body(
  Joi.object<PersonBody>({
    email: orNull(Joi.string().max(320)).required(),
    name: orNull(Joi.string().max(200)),
    role: orNull(role()).required(),
    password: orNull(Joi.string().max(1_000)).description(
      '12 to 256 characters. Without one only an identity provider, or a setup link, lets the person in',
    ),
  }),
)

export interface PersonChangeBody {
  readonly name?: string | null
  readonly role?: Role
  readonly disabled?: boolean
  readonly password?: string
  readonly current_password?: string
}

export const personChangeBody = body(
  Joi.object<PersonChangeBody>({
    name: Joi.string().max(200).allow(null).description('null: none'),
    role: orNull(role()),
    disabled: orNull(Joi.boolean()),
    password: orNull(Joi.string().max(1_000)).description('Your own, with the current one'),
    current_password: orNull(Joi.string().max(1_000)),
  }),
)

const fields = {
  id: id('usr'),
  object: Joi.string().valid('user').required(),
  email: Joi.string().required(),
  name: nullable(Joi.string()),
  role: role().required(),
  role_from: nullable(Joi.string()).description('The identity provider that says the role at each sign-in'),
  has_password: Joi.boolean().required(),
  disabled: Joi.boolean().required(),
  disabled_at: nullable(Joi.string()),
  last_sign_in_at: nullable(Joi.string()),
  created_at: time(),
}

const identity = Joi.object({
  provider: Joi.string().required(),
  issuer: Joi.string().required(),
  subject: Joi.string().required(),
  last_sign_in_at: nullable(Joi.string()),
})

export const person = Joi.object({ ...fields, identities: Joi.array().items(identity).required() }).meta({
  name: 'User',
})
export const personList = listOf(Joi.object(fields).meta({ name: 'ListedUser' })).meta({ name: 'UserList' })
export const pageOnly = Joi.object<{ limit?: string; cursor?: string | string[] }>(pageQuery)

export interface InvitationBody {
  readonly email?: string
  readonly role: Role
}

export const invitationBody = body(
  Joi.object<InvitationBody>({
    email: orNull(Joi.string().max(320)).description('Whom it is for; it binds nobody'),
    role: orNull(role()).required(),
  }),
)

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

const url = Joi.string().required().description('Lets in once; shown in this answer only')

export const madeInvitation = Joi.object({ ...linkFields('invitation'), url }).meta({
  name: 'MadeInvitation',
})
export const madeSetupLink = Joi.object({ ...linkFields('setup_link'), url }).meta({ name: 'MadeSetupLink' })
export const invitationList = listOf(Joi.object(linkFields('invitation')).meta({ name: 'Invitation' })).meta({
  name: 'InvitationList',
})
export const removedInvitation = removed('lnk', 'invitation').meta({ name: 'RemovedInvitation' })
