/**
 * NAME      session - the shape of who is asking
 */
import Joi from 'joi'
import { nullable } from './common.js'

export const session = Joi.object({
  object: Joi.string().valid('session').required(),
  via: Joi.string().valid('key', 'session').required(),
  id: Joi.string().required().description('Of the key or the session'),
  person: nullable(Joi.object({ id: Joi.string().required(), email: Joi.string().required() })).description(
    'Whose session it is; null for a key, and for a session of nobody in particular',
  ),
  role: nullable(Joi.string()).description('Of the person'),
  scope: Joi.string().valid('platform', 'workspace').required(),
  workspace_id: nullable(Joi.string()).description('The only workspace that it may use; null: all of them'),
  mode: nullable(Joi.string().valid('live', 'test')).description('Whose mail it sees; null: both'),
  limits: Joi.object({
    rate_limit_per_minute: Joi.number().integer().required().description('Sends a minute'),
  }).required(),
}).meta({ name: 'Session' })
