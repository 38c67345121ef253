/**
 * NAME      workspace - the shapes of workspaces
 */
import Joi from 'joi'
import { body, id, listOf, nullable, orNull, pageQuery, time } from './common.js'
import { asRead } from './read-back.js'

export interface WorkspaceBody {
  readonly name: string
  readonly slug?: string
  readonly egress_pool_id?: string | null
  readonly default_from?: string | null
  readonly restrict_senders?: boolean
  readonly sender_dsn?: boolean
  readonly suspended?: boolean
}

const fields = {
  slug: orNull(Joi.string().max(63)),
  egress_pool_id: Joi.string().max(100).allow(null),
  default_from: Joi.string().max(1_000).allow(null),
  restrict_senders: orNull(Joi.boolean()),
  sender_dsn: orNull(Joi.boolean()),
}

export const workspaceBody = body(
  Joi.object<WorkspaceBody>({
    name: orNull(Joi.string().max(200)).required(),
    ...fields,
  }),
)

export const workspaceChange = body<Partial<WorkspaceBody>>(
  Joi.object({
    id: asRead.text(),
    object: asRead.text(),
    name: orNull(Joi.string().max(200)),
    is_default: asRead.flag(),
    ...fields,
    suspended: orNull(Joi.boolean()),
    created_at: asRead.text(),
  }),
)

export const READ_WORKSPACE = ['id', 'object', 'is_default'] as const

export const workspace = Joi.object({
  id: id('ws'),
  object: Joi.string().valid('workspace').required(),
  name: Joi.string().required(),
  slug: Joi.string().required(),
  is_default: Joi.boolean().required(),
  egress_pool_id: nullable(Joi.string()),
  default_from: nullable(Joi.string()),
  restrict_senders: Joi.boolean().required(),
  sender_dsn: Joi.boolean().required(),
  suspended: Joi.boolean().required(),
  created_at: time(),
}).meta({ name: 'Workspace' })

/** Its slug, so that nobody deletes another one than he means. */
export const confirmation = Joi.object<{ confirm?: string }>({
  confirm: Joi.string().allow('').max(100).description('The slug of the workspace'),
})

export const workspaceList = listOf(workspace).meta({ name: 'WorkspaceList' })
export const pageOnly = Joi.object<{ limit?: string; cursor?: string | string[] }>(pageQuery)
