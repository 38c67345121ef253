/**
 * NAME      setup - an installation as one body: its plan, and doing it
 *   What `postern apply` does with files, for an owner who has no shell. An order to apply carries the digest of the plan that
 *   was looked at, and nothing is done where anything has changed since, be it in the store or in what was sent. New secrets
 *   stand in the answer alone, so it is an answer also where a step failed. What a setup may say is checked in setup/, for
 *   files and bodies alike; here it is an object.
 */
import Joi from 'joi'
import { Fault, type FieldError, invalid } from '../../base/fault.js'
import { keyedHash } from '../../base/secret.js'
import { ApplyStopped, applyPlan } from '../../setup/apply.js'
import { refText, SetupError } from '../../setup/files.js'
import { readJsonSetup } from '../../setup/json.js'
import { isToDo, type Plan, planRecord, planSetup } from '../../setup/plan.js'
import type { SetupDeps } from '../../setup/world.js'
import type { HttpDeps } from '../deps.js'
import { type Call, PEOPLE_ONLY, POST, type RouteRow } from '../endpoint.js'
import { body, count, need, nullable, orNull, record, shape, shapeOf, type TypeOf } from '../shapes/common.js'

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

const planBody = body(() => wish())
type PlanBody = TypeOf<typeof planBody>

const applyBody = body(() => ({
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

const setupPlanShape = record('SetupPlan', () => plan())

const setupDoneShape = record('SetupDone', () => ({
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

/** No answer is longer. */
const MOST_TOLD = 100

const errorsOf = ({ mistakes }: SetupError): readonly FieldError[] =>
  mistakes.slice(0, MOST_TOLD).map(({ where, message, kind = 'format' }) => ({ field: where, kind, message }))

/** What is wrong with a setup is wrong with the body. */
const told = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (error instanceof SetupError) throw invalid(errorsOf(error))
    if (!(error instanceof RangeError)) throw error
    throw invalid([{ field: 'body.setup', kind: 'format', message: 'is nested too deeply' }])
  }
}

interface Planned {
  readonly plan: Plan
  readonly digest: string
  readonly deps: SetupDeps
  /** By what they are of. */
  readonly secrets: Map<string, string>
  again(): Promise<Plan>
}

const planOf = (
  { setup, dialler }: HttpDeps,
  { principal, body }: Call<unknown, PlanBody>,
): Promise<Planned> =>
  told(async () => {
    const secrets = new Map<string, string>()
    const deps: SetupDeps = { ...setup, dialler, told: (ref, secret) => void secrets.set(ref, secret) }
    const wish = { prune: body.prune === true, adopt: body.adopt ?? [], again: body.again ?? [] }
    const read = readJsonSetup(body.setup as Readonly<Record<string, unknown>>)
    const again = () => planSetup(deps, principal.accountId, read, wish)
    const plan = await again()
    const sent = JSON.stringify([body.setup, wish.prune, wish.adopt, wish.again])
    const digest = keyedHash(deps.pepper, 'setup-plan', plan.digest, sent).toString('base64url')
    return { plan, digest, deps, secrets, again }
  })

const messageOf = (error: unknown): string => {
  if (error instanceof Fault && error.options.errors !== undefined)
    return error.options.errors.map(({ message }) => message).join('; ')
  // what is no fault of ours to tell is in the log
  return error instanceof Fault ? error.message : 'it failed for a reason that the log of the daemon has'
}

const failedAt = (error: unknown, log: HttpDeps['log']) => {
  if (!(error instanceof ApplyStopped)) throw error
  const { failed, left, cause } = error
  if (!(cause instanceof Fault)) log.error({ setup: refText(failed), err: cause }, 'setup not applied')
  return { at: refText(failed), message: messageOf(cause), left: left.map(refText) }
}

export const setups: readonly RouteRow[] = [
  POST('/v1/setup/plan', {
    ...PEOPLE_ONLY,
    id: 'planSetup',
    cli: 'apply',
    summary: 'What applying a setup would do; nothing is changed',
    description:
      'The same as `postern apply --dry-run`, for owners. JSON of at most a mebibyte. Members that name files of the server, also in the URL of an upstream, are refused as `forbidden`. The plan says what would be made, changed or removed, and what is left alone and why.',
    body: planBody,
    answers: { 200: setupPlanShape },
    async handle(call, deps) {
      const { plan, digest } = await planOf(deps, call)
      return { status: 200, body: { ...planRecord(plan, false), digest } }
    },
  }),
  POST('/v1/setup/apply', {
    ...PEOPLE_ONLY,
    id: 'applySetup',
    cli: 'apply',
    summary: 'Make the installation as a setup says',
    description:
      'Takes the body of the plan again, with the `digest` of that plan. Answers 409 `resource.conflict`, reason `plan_changed`, where anything was changed since, in the store or in the body; reason `setup_under_way` while another apply of this setup goes on. Nothing is done then. Secrets of new keys and webhooks that bring none stand in this answer, once. Where a thing can not be made, what was done before it stays: `failed` says so. All of it is one entry of the audit log.',
    body: applyBody,
    answers: { 200: setupDoneShape },
    faults: ['resource.conflict'],
    async handle(call, deps) {
      const { plan, digest, deps: acting, secrets, again } = await planOf(deps, call)
      if (digest !== call.body.digest)
        throw new Fault('resource.conflict', {
          reason: 'plan_changed',
          detail:
            'It is not the plan of that digest any more: something was changed since. Nothing was done; plan again',
        })
      const { accountId, actor } = call.principal
      const applying = { deps: acting, accountId, actor: { ...actor, address: call.address } }
      const failed = await applyPlan(applying, plan, again).then(
        () => null,
        (error) => failedAt(error, deps.log),
      )
      if (plan.steps.some((step) => step.kind === 'pool' && isToDo(step))) deps.relay?.reload()
      const body = {
        ...planRecord(plan, failed === null),
        digest,
        secrets: Object.fromEntries(secrets),
        failed,
      }
      return { status: 200, body }
    },
  }),
]
