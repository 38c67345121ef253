/**
 * NAME      start - what a daemon applies before its doors open
 * DESCRIPTION
 *   The files that `setup` names, and the variables of a container, are applied at each start, and nothing is ever
 *   removed by it. Of several daemons one applies under the lock of the setup; the others wait for it, and start
 *   without, and say so, after half a minute. All of it takes a minute at most.
 *   What fails keeps a daemon from starting only where there is no key and no credential yet: nobody could use it, and a
 *   start that ends is seen. Else it starts with what the store holds, and says what failed until a start goes well.
 */
import { setTimeout } from 'node:timers/promises'
import { Fault } from '../base/fault.js'
import type { Log } from '../base/log.js'
import type { Actor } from '../store/port/identity.js'
import { ApplyStopped, applyPlan, whileAlone } from './apply.js'
import { type Mistake, refText, type Setup, SetupError } from './files.js'
import { isToDo, type Plan, planSetup, type Sign, type Step } from './plan.js'
import { readWorld, type SetupDeps } from './world.js'

/** How long another that applies the same is waited for, and how long all of it may take. */
const TIMES = { waitMs: 30_000, mostMs: 60_000 }

/** What is never done at a start. */
const WISH = { prune: false, adopt: [], again: [] }

export interface SetupSource {
  /** What it is called while its name is not known. */
  readonly from: string
  read(): Setup
}

/** What is wrong with the setup that this daemon was to apply, with file and line. */
export type SetupFailure = readonly Mistake[]

interface Starting {
  readonly deps: SetupDeps
  readonly accountId: string
  readonly log: Log
}

const refsOf = (steps: readonly Step[], ...signs: readonly Sign[]): readonly string[] =>
  steps.filter(({ sign }) => signs.includes(sign)).map(refText)

/** Another daemon has done it meanwhile, or a part of it: what is left is looked at again. */
const isOutrun = (error: unknown): boolean => {
  if (error instanceof ApplyStopped) return isOutrun(error.cause)
  return error instanceof Fault && ['plan_changed', 'setup_taken_over'].includes(error.options.reason ?? '')
}

const applyNow = async (
  { deps, accountId, log }: Starting,
  setup: Setup,
  waitMs: number,
  signal: AbortSignal,
): Promise<void> => {
  const actor: Actor = {
    kind: 'cli',
    id: `cli:${process.getuid?.() ?? 0}`,
    name: 'postern serve',
    address: null,
  }
  const planNow = (): Promise<Plan> => planSetup(deps, accountId, setup, WISH)
  for (;;) {
    signal.throwIfAborted()
    const plan = await planNow().catch((error: Error) => {
      if (!(error instanceof SetupError)) throw error
      return whileAlone(deps, { accountId, setup: setup.name }, waitMs, planNow).catch((later) => {
        throw isUnderWay(later) ? error : later
      })
    })
    try {
      await applyPlan({ deps, accountId, actor }, plan, planNow, { waitMs, signal })
    } catch (error) {
      if (isOutrun(error)) continue
      throw error
    }
    const { steps } = plan
    const left = steps.filter(({ sign }) => sign === '!').map((step) => `${refText(step)}: ${step.why}`)
    const did = { made: refsOf(steps, '+'), changed: refsOf(steps.filter(isToDo), '~'), left }
    log.info({ setup: setup.name, ...did, same: refsOf(steps, '=').length }, 'setup applied')
    return
  }
}

/** Where it stands, and what is wrong there; null for what is no mistake of a setup. */
const mistakesOf = (error: unknown, from: string, setup: Setup | null): readonly Mistake[] => {
  if (error instanceof SetupError) return error.mistakes
  if (!(error instanceof ApplyStopped)) return [{ where: from, message: wordsOf(error) }]
  const { failed, cause } = error
  const ref = refText(failed)
  const where = setup?.objects.find((one) => refText(one) === ref)?.at() ?? from
  return [{ where, message: `${ref}: ${wordsOf(cause)}` }]
}

const wordsOf = (error: unknown): string => {
  if (error instanceof Fault && error.options.errors !== undefined)
    return error.options.errors.map(({ field, message }) => `${field}: ${message}`).join('; ')
  return error instanceof Error ? error.message : String(error)
}

const isUnderWay = (error: unknown): boolean =>
  error instanceof Fault && error.options.reason === 'setup_under_way'

interface Tried {
  readonly mistakes: readonly Mistake[]
  /** Nothing is wrong: another applies it, and has not come to its end. */
  readonly isBusy: boolean
}

const applyOne = async (
  starting: Starting,
  { from, read }: SetupSource,
  waitMs: number,
  signal: AbortSignal,
): Promise<Tried> => {
  let setup: Setup | null = null
  try {
    setup = read()
    await applyNow(starting, setup, waitMs, signal)
    return { mistakes: [], isBusy: false }
  } catch (error) {
    if (!isUnderWay(error)) return { mistakes: mistakesOf(error, from, setup), isBusy: false }
    const message = `another has been applying it for more than ${waitMs / 1000} s: started without waiting for it any longer`
    return { mistakes: [{ where: from, message }], isBusy: true }
  }
}

/** Resolves with what failed, null where nothing did. Throws SetupError where there is nothing yet that it could start with. */
export const applyAtStart = async (
  starting: Starting,
  sources: readonly SetupSource[],
  { waitMs, mostMs } = TIMES,
): Promise<SetupFailure | null> => {
  if (sources.length === 0) return null
  const stop = new AbortController()
  const over = new AbortController()
  const late = setTimeout(mostMs, 'late', { ref: false, signal: over.signal }).catch(() => 'over')
  const all: Tried[] = []
  for (const one of sources) {
    const tried = await Promise.race([applyOne(starting, one, waitMs, stop.signal), late])
    if (typeof tried !== 'string') all.push(tried)
    else {
      stop.abort(new Error(`took longer than ${mostMs / 1000} s`))
      const message = `was not applied within ${mostMs / 1000} s`
      all.push({ mistakes: [{ where: one.from, message }], isBusy: false })
      break
    }
  }
  over.abort()
  const failed = all.flatMap(({ mistakes }) => mistakes)
  if (failed.length === 0) return null
  const { keys, credentials } = await readWorld(starting.deps, starting.accountId)
  const isNothingWrong = all.every(({ mistakes, isBusy }) => mistakes.length === 0 || isBusy)
  if (keys.length === 0 && credentials.length === 0 && !isNothingWrong) throw new SetupError(failed)
  starting.log.error(
    { mistakes: failed.map(({ where, message }) => `${where}: ${message}`) },
    'setup failed: started with what the store holds',
  )
  return failed
}
