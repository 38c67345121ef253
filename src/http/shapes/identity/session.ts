/**
 * NAME      session - the shapes of open sessions, and of who is asking
 */
import Joi from 'joi'
import { ROLES } from '../../../config/identity.js'
import type { SavedView } from '../../../store/port/tenants/identity.js'
import {
  body,
  clearable,
  id,
  need,
  nullable,
  oneOf,
  orNull,
  pageQuery,
  record,
  shape,
  shapeOf,
  time,
} from '../common.js'

const who = shape(() => ({
  id: Joi.string().required(),
  email: Joi.string().required(),
  name: nullable(Joi.string()),
}))

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
      ...who(),
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

export const openSession = record(
  'OpenSession',
  () => ({
    id: id('ses'),
    object: Joi.string().valid('session').required(),
    person: nullable(Joi.object(who())),
    role: need(oneOf(...ROLES)),
    provider: Joi.string()
      .required()
      .description('`local`, `link`, `cli`, or the name of an identity provider'),
    address: nullable(Joi.string()).description('From where it was opened'),
    user_agent: nullable(Joi.string()),
    current: Joi.boolean().required().description('Whether it is the one that asks'),
    created_at: time(),
    last_seen_at: time(),
    expires_at: time().description('If it is not used until then'),
  }),
  'Session',
)

const ofUser = shape(() => Joi.string().max(320).description('Id or address of a person; for owners'))

export const sessionsQuery = shapeOf(() => ({ ...pageQuery(), user: ofUser() }))
export const endSessionsQuery = shapeOf(() => ({ user: ofUser() }))
export const endedSessions = record('EndedSessions', () => ({
  object: Joi.string().valid('session').required(),
  deleted: Joi.boolean().valid(true).required(),
  changed: Joi.number().integer().min(0).required().description('How many sessions ended'),
}))
