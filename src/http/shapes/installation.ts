/**
 * NAME      installation - the shapes of this Postern itself: where it is reached, how it does, who shares its store, what it refuses
 */
import Joi from 'joi'
import { count, need, oneOf, record, shapeOf, timestamp } from './common.js'
import { queueState } from './queue.js'

export const installation = record('Installation', () => ({
  object: Joi.string().valid('installation').required(),
  base_url: Joi.string().required().description('Of the API, without a slash at its end'),
  hostname: Joi.string().required().description('What it calls itself'),
  bounce_domain: Joi.string()
    .required()
    .description('Of return paths: bounces come back to it, and SPF is checked for it'),
  submission: Joi.array()
    .items(
      Joi.object({
        host: Joi.string()
          .required()
          .description('`hostname`, or an address of loopback where it listens nowhere else'),
        port: Joi.number().integer().required(),
        tls: Joi.string().valid('starttls', 'implicit', 'none').required(),
        ip_credentials: Joi.boolean().required().description('Takes address ranges instead of logins'),
      }),
    )
    .required()
    .description('Where mail is taken over SMTP'),
}))

export const summary = record('Summary', () => ({
  object: Joi.string().valid('summary').required(),
  waiting: count().description('Recipients of live mail that are due or under way'),
  held: count().description('Recipients of live mail that are held'),
  pools_down: count(),
  webhooks_failing: count(),
  live: queueState(),
  test: queueState(),
  setup_failed: Joi.array()
    .items(Joi.string())
    .allow(null)
    .required()
    .description(
      'For owners: what is wrong with the files that this daemon was to apply at its start, each with file and line',
    ),
}))

const lag = () => count().description('How long ago it was last heard of, in milliseconds')

const writer = shapeOf(() => ({
  number: count(),
  role: Joi.string()
    .valid('main', 'relay', 'followers', 'command')
    .required()
    .description('The part of a daemon that writes, or a command beside the daemons'),
  epoch: count().description('How often the number was taken, or taken away'),
  lag_ms: lag(),
}))

const daemon = shapeOf(() => ({
  id: Joi.string().required().description('That of its data folder'),
  host: Joi.string().allow('').required(),
  version: Joi.string().allow('').required(),
  settings: Joi.string()
    .allow(null)
    .required()
    .description('A digest of the settings that all daemons must have alike'),
  pools: Joi.array()
    .items(Joi.string())
    .allow(null)
    .required()
    .description('The pools whose mail it carries (`relay.pools`); null: all'),
  share: Joi.object({ part: Joi.number().integer().min(1).required(), of: count() })
    .allow(null)
    .required()
    .description(
      'Which part of the limits of an upstream it has, in a pool that all relays serve; null: it carries no mail',
    ),
  lag_ms: lag(),
  writers: Joi.array().items(writer()).required(),
}))

export const cluster = record('Cluster', () => ({
  object: Joi.string().valid('cluster').required(),
  store: Joi.string()
    .required()
    .description('The database: `sqlite`, which one daemon has to itself, or `postgresql`'),
  same_settings: Joi.boolean()
    .required()
    .description('False: a daemon has settings that the others do not have'),
  put_back: Joi.object({ at: timestamp().required(), lost_ms: count() })
    .allow(null)
    .required()
    .description(
      'When a daemon last found the database as it was earlier, and how much of the past was missing: mail acknowledged then may be lost',
    ),
  daemons: Joi.array().items(daemon()).required(),
}))

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
