/**
 * NAME      setup - the shapes of a setup as a body, of its plan, and of what was done
 * DESCRIPTION
 *   What a setup may describe is checked where its files are (setup/), so that both say the same; here it is an object.
 */
import Joi from 'joi'
import { body, count, need, nullable, orNull, record, shape, shapeOf, type TypeOf } from './common.js'

const wish = shape(() => ({
  setup: need(Joi.object().pattern(Joi.string(), Joi.any()))
    .example({ setup: 'shop', workspaces: { shop: { pool: 'eu' } } })
    .description(
      'The name of the setup as `setup`, and its sections, as the files of `postern apply` have them. What a file would name stands here itself: `secret`, `key`, `headers`, `csv`, `test_csv`; an upstream with a password is `{"url": …, "password": …}`. At most 5,000 things',
    ),
  prune: orNull(Joi.boolean()).description('Also remove what this setup made and does not describe any more'),
  adopt: orNull(Joi.array().items(Joi.string().max(600)).max(5_000)).description(
    'What a person made or changed, and is to be taken over, such as `pool/eu`',
  ),
  again: orNull(Joi.array().items(Joi.string().max(600)).max(5_000)).description(
    'What a person removed, and is to be made anew, such as `key/shop/web`',
  ),
}))

export const planBody = body(() => wish())
export type PlanBody = TypeOf<typeof planBody>

export const applyBody = body(() => ({
  ...wish(),
  digest: need(Joi.string().max(100)).description('That of the plan of the same body'),
}))
const change = shapeOf(() => ({
  field: Joi.string().required(),
  before: Joi.string().allow('').description('As it is now; absent where it is new'),
  after: Joi.string().allow('').required().description('As it comes to be; a secret is never shown'),
}))

const step = shapeOf(() => ({
  action: Joi.string()
    .valid('create', 'change', 'remove', 'leave')
    .required()
    .description('`leave`: nothing is done, and `why` says why'),
  kind: Joi.string()
    .valid('pool', 'workspace', 'domain', 'key', 'credential', 'webhook', 'suppressions', 'person')
    .required(),
  workspace: Joi.string().example('shop').description('The slug that stands before its name'),
  name: Joi.string().required().description('As the setup names it'),
  id: Joi.string().description('Of what is there'),
  why: Joi.string().description('Of what is left alone, or taken over as it is'),
  fields: Joi.array().items(change()).description('What changes of it'),
}))

const plan = shape(() => ({
  object: Joi.string().valid('setup_plan').required(),
  setup: Joi.string().required().example('shop').description('Its name'),
  applied: Joi.boolean().required().description('Whether all of it was done'),
  steps: Joi.array()
    .items(step())
    .required()
    .description('What is to be done, or left alone; what is the same is counted'),
  same: count().description('How many things are as the setup says'),
  digest: Joi.string()
    .required()
    .description('Of the plan and of what was sent: goes with the order to apply it'),
}))

export const setupPlan = record('SetupPlan', () => plan())

export const setupDone = record('SetupDone', () => ({
  ...plan(),
  secrets: Joi.object()
    .pattern(Joi.string(), Joi.string())
    .required()
    .description('New secrets by what they are of, such as `key/shop/web`; they stand here once'),
  failed: nullable(
    Joi.object({
      at: Joi.string().required().description('What could not be done, such as `pool/eu`'),
      message: Joi.string().required().description('Why'),
      left: Joi.array().items(Joi.string()).required().description('What was not done because of it'),
    }),
  ).description('What was done before stays; the same setup, planned again, goes on from there'),
}))
