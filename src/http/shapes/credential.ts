/**
 * NAME      credential - the shapes of SMTP credentials
 * DESCRIPTION
 *   A name with a password that a person chose, or an address range or a client certificate without one.
 *   They open the SMTP door only; the password goes in and never comes out.
 */
import Joi from 'joi'
import { body, id, need, nullable, oneOf, orNull, record, time } from './common.js'

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
