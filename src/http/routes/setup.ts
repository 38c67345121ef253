/**
 * NAME      setup - an installation as one body: its plan, and doing it
 * DESCRIPTION
 *   What `postern apply` does with files, for an owner who has no shell. An order to apply carries the digest of the plan that
 *   was looked at, and nothing is done where anything has changed since, be it in the store or in what was sent. New secrets
 *   stand in the answer, and nowhere else, so it is an answer also where a step failed.
 */
import { Fault, type FieldError, invalid } from '../../base/fault.js'
import { keyedHash } from '../../base/secret.js'
import { ApplyStopped, applyPlan } from '../../setup/apply.js'
import { refText, SetupError } from '../../setup/files.js'
import { readJsonSetup } from '../../setup/json.js'
import { isToDo, type Plan, planRecord, planSetup } from '../../setup/plan.js'
import type { SetupDeps } from '../../setup/world.js'
import type { Deps } from '../deps.js'
import { type Call, PEOPLE_ONLY, POST, type RouteRow } from '../endpoint.js'
import * as shapes from '../shapes/setup.js'

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
  { setup, dialler }: Deps,
  { principal, body }: Call<unknown, shapes.PlanBody>,
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

const failedAt = (error: unknown, log: Deps['log']) => {
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
    body: shapes.planBody,
    answers: { 200: shapes.setupPlan },
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
    body: shapes.applyBody,
    answers: { 200: shapes.setupDone },
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
