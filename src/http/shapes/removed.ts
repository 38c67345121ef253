/**
 * NAME      removed - the answer to a DELETE
 * DESCRIPTION
 *   Never 204: client libraries parse every answer as JSON.
 */
import Joi from 'joi'
import type { IdPrefix } from '../../base/id.js'
import { id } from './common.js'

export const removed = (prefix: IdPrefix, object: string): Joi.ObjectSchema =>
  Joi.object({
    id: id(prefix),
    object: Joi.string().valid(object).required(),
    deleted: Joi.boolean().valid(true).required(),
  })
