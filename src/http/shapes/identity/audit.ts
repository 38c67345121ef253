/**
 * NAME      audit - the shape of who changed what
 */
import Joi from 'joi'
import { id, nullable, pageQuery, record, shapeOf, type TypeOf, time, timestamp } from '../common.js'

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
  () => ({
    id: id('aud'),
    object: Joi.string().valid('audit_entry').required(),
    action: Joi.string().required(),
    actor: Joi.object({
      kind: Joi.string().valid('person', 'key', 'credential', 'cli', 'link', 'system').required(),
      id: Joi.string().required(),
      name: nullable(Joi.string()),
      address: nullable(Joi.string()),
    }).required(),
    target: Joi.object({ type: Joi.string().required(), id: nullable(Joi.string()) }).required(),
    workspace_id: nullable(Joi.string()),
    detail: Joi.object()
      .unknown()
      .required()
      .description('Fields with their values, or with what they were (`before`) and are (`after`)'),
    created_at: time(),
  }),
  'Audit',
)
