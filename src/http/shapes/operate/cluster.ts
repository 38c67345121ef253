/**
 * NAME      cluster - the shapes of the daemons that share a store
 */
import Joi from 'joi'
import { record, shapeOf, timestamp } from '../common.js'

const count = () => Joi.number().integer().min(0).required()
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
