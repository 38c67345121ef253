/**
 * NAME      catalogue - the shapes of problems and of their catalogue
 */
import Joi from 'joi'
import { need, oneOf, record } from './common.js'

const KINDS = [
  'missing',
  'type',
  'empty',
  'format',
  'length',
  'range',
  'unknown',
  'forbidden',
  'unsupported',
  'too_many',
  'not_unique',
  'past',
]

export const problem = record('Problem', () => ({
  type: Joi.string().required(),
  title: Joi.string().required(),
  status: Joi.number().integer().required(),
  code: Joi.string().required(),
  detail: Joi.string(),
  request_id: Joi.string().required(),
  instance: Joi.string().required(),
  reason: Joi.string(),
  oldest: Joi.string().description('Of event.expired: the oldest mark that can be followed'),
  errors: Joi.array().items(
    Joi.object({
      field: Joi.string().required(),
      message: Joi.string().required(),
      kind: need(oneOf(...KINDS)),
    }),
  ),
  errors_omitted: Joi.number()
    .integer()
    .min(1)
    .description('How many mistakes were found beyond the hundred in `errors`'),
}))

export const errorType = record('ErrorType', () => ({
  code: Joi.string().required(),
  type: Joi.string().required(),
  status: Joi.number().integer().required(),
  title: Joi.string().required(),
  description: Joi.string().required().description('The cause'),
  remedy: Joi.string().required().description('What to do about it'),
  retryable: Joi.boolean().required(),
  smtp: Joi.string().required().description('Basic and enhanced code of the same refusal over SMTP'),
}))

export const errorCatalogue = record('ErrorCatalogue', () => ({
  object: Joi.string().valid('error_catalog').required(),
  version: Joi.string().valid('v1').required(),
  errors: Joi.array().items(errorType()).required(),
}))
