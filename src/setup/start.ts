/**
 * NAME      start - what a daemon applies before its doors open
 *   The files that `setup` names, and the variables of a container, are applied at each start, and nothing is ever
 *   removed by it. Of several daemons one applies under the lock of the setup; the others wait for it, and start
 *   without, and say so, after half a minute. All of it takes a minute at most.
 *   What fails keeps a daemon from starting only where there is no key and no credential yet: nobody could use it, and a
 *   start that ends is seen. Else it starts with what the store holds, and says what failed until a start goes well.
 *   Of the variables, POSTERN_UPSTREAM is the URL of the upstream of the default pool, POSTERN_UPSTREAM_PASSWORD_FILE the
 *   file of its password, POSTERN_KEY_FILE the file of the key `app` of the default workspace, which is made where there is
 *   none. In our image the smart host may also be named as other images of relays name it. What those variables become is
 *   told, and so is each that is not understood. None of them opens a relay to a network: a range of addresses that may
 *   send without a login is made by files or people.
 * NOTES
 *   A password in a variable can be read by all that see the process or the container, so it is taken with a warning.
 */

import { existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { Fault } from '../base/fault.js'
import type { Log } from '../base/log.js'
import { DEFAULT_POOL } from '../store/pools.js'
import type { Actor } from '../store/port/identity.js'
import type { ManagedKind } from '../store/port/tenants.js'
import { secretWord, serviceOf, withWord } from '../tenant/upstream.js'
import { ApplyStopped, applyPlan, whileAlone } from './apply.js'
import { type Declared, InlineUpstream, type Mistake, refText, type Setup, SetupError } from './files.js'
import { isToDo, type Plan, type PlanStep, planSetup, type Sign } from './plan.js'
import { readWorld, type SetupDeps } from './world.js'

type Variables = Readonly<Record<string, string | undefined>>

/** What is said of variables in the log. */
interface Said {
  readonly isWarning: boolean
  readonly variable: string
  readonly says: string
}

interface OfEnvironment {
  /** Null where no variable describes anything. */
  readonly setup: Setup | null
  readonly said: readonly Said[]
}

/** How an image of a relay names a smart host. */
interface Dialect {
  readonly host: string
  readonly port: string | null
  readonly user: string
  readonly password: string
  readonly tls: string | null
}

const DIALECTS: readonly Dialect[] = [
  {
    ...{ host: 'RELAYHOST', port: null, tls: 'RELAYHOST_TLS_LEVEL' },
    ...{ user: 'RELAYHOST_USERNAME', password: 'RELAYHOST_PASSWORD' },
  },
  {
    ...{ host: 'SMARTHOST_ADDRESS', port: 'SMARTHOST_PORT', tls: null },
    ...{ user: 'SMARTHOST_USER', password: 'SMARTHOST_PASSWORD' },
  },
]

/** Of Postfix's levels. */
const TLS_LEVELS: Readonly<Record<string, string>> = {
  none: 'none',
  may: 'opportunistic',
  encrypt: 'required',
  verify: 'verify',
  secure: 'verify',
}

/** Of the same images, with another meaning or none here. */
const FOREIGN =
  /^(?:RELAYHOST_.*|SMARTHOST_.*|POSTFIX_.*|POSTFIXMASTER_.*|OPENDKIM_.*|ALLOWED_SENDER_DOMAINS|ALLOW_EMPTY_SENDER_DOMAINS|MASQUERADED_DOMAINS|INBOUND_DEBUGGING|DKIM_AUTOGENERATE|DKIM_SELECTOR|SMTPD_SASL_USERS|XOAUTH2_.*|MYNETWORKS|RELAY_NETWORKS|RELAY_DOMAINS|RELAY_HOST|RELAY_PORT|RELAY_USERNAME|RELAY_PASSWORD|MAILNAME|OTHER_HOSTNAMES|SES_(?:USER|PASSWORD|REGION|PORT)|GMAIL_(?:USER|PASSWORD))$/

const given = (env: Variables, name: string | null): string | undefined =>
  name === null || env[name] === '' ? undefined : env[name]

/** `[mta.example]:587`, `mta.example:587` or `mta.example`, as Postfix names it. */
const placeOf = (text: string, port: string | undefined): string | null => {
  const [, bracketed, plain, own] =
    /^(?:\[([^\]\s]+)\]|([^\s:[\]/@]+))(?::(\d{1,5}))?$/.exec(text.trim()) ?? []
  const host = bracketed ?? plain
  if (host === undefined) return null
  const number = own ?? port
  return `${isIP(host) === 6 ? `[${host}]` : host}${number === undefined ? '' : `:${number}`}`
}

type Wrong = (where: string, message: string) => void

interface Named {
  readonly url: string
  /** By the words of the URL. */
  readonly secrets?: Readonly<Record<string, string>>
  /** The variable that names the host. */
  readonly by: string
}

/** The upstream as another image's variables name it. */
const inDialect = (
  env: Variables,
  dialect: Dialect,
  wrong: Wrong,
  say: (said: Said) => void,
): Named | null => {
  const text = given(env, dialect.host)
  if (text === undefined) return null
  const place = placeOf(text, given(env, dialect.port))
  if (place === null) {
    wrong(dialect.host, 'is no host such as [mta1.example.com]:587')
    return null
  }
  const level = given(env, dialect.tls)
  const tls = level === undefined ? undefined : TLS_LEVELS[level.toLowerCase()]
  if (level !== undefined && tls === undefined)
    wrong(dialect.tls ?? '', `must be one of ${Object.keys(TLS_LEVELS).join(', ')}`)
  const user = given(env, dialect.user)
  const file = given(env, `${dialect.password}_FILE`)
  const password = file === undefined && user !== undefined ? given(env, dialect.password) : undefined
  const at = user === undefined ? '' : `${encodeURIComponent(user)}@`
  const words = [...(tls === undefined ? [] : [`tls=${tls}`])]
  const plain = `smtp://${at}${place}${words.length === 0 ? '' : `?${words.join('&')}`}`
  const url = file === undefined || user === undefined ? plain : withWord(plain, 'password_file', file)
  say({ isWarning: false, variable: dialect.host, says: `became POSTERN_UPSTREAM=${plain}` })
  if (file !== undefined)
    say({
      isWarning: false,
      variable: `${dialect.password}_FILE`,
      says: `became POSTERN_UPSTREAM_PASSWORD_FILE=${file}`,
    })
  if (password === undefined) return { url, by: dialect.host }
  say({
    isWarning: true,
    variable: dialect.password,
    says: `holds a password that others can read; name its file by ${dialect.password}_FILE`,
  })
  return { url, secrets: { password_file: password }, by: dialect.host }
}

const namesOf = (dialect: Dialect): readonly string[] =>
  [
    dialect.host,
    dialect.port,
    dialect.user,
    dialect.password,
    `${dialect.password}_FILE`,
    dialect.tls,
  ].filter((name) => name !== null)

const upstreamOf = (
  env: Variables,
  isImage: boolean,
  wrong: Wrong,
  say: (said: Said) => void,
): Named | null => {
  const own = given(env, 'POSTERN_UPSTREAM')
  const file = given(env, 'POSTERN_UPSTREAM_PASSWORD_FILE')
  if (own === undefined && file !== undefined)
    wrong('POSTERN_UPSTREAM_PASSWORD_FILE', 'needs POSTERN_UPSTREAM')
  const word = secretWord(serviceOf(own ?? ''))
  const named =
    own === undefined
      ? null
      : { url: file === undefined ? own : withWord(own, word, file), by: 'POSTERN_UPSTREAM' }
  if (!isImage) return named
  const used = named === null ? DIALECTS.find(({ host }) => given(env, host) !== undefined) : undefined
  const known = used === undefined ? [] : namesOf(used)
  for (const name of Object.keys(env).sort())
    if (FOREIGN.test(name) || DIALECTS.some((one) => namesOf(one).includes(name)))
      if (!known.includes(name) && given(env, name) !== undefined)
        say({
          isWarning: true,
          variable: name,
          says: 'is of another image and not understood here; nothing is made of it',
        })
  return named ?? (used === undefined ? null : inDialect(env, used, wrong, say))
}

/** `workspace`: the slug of the default one. */
export const readEnvironment = (env: Variables, isImage: boolean, workspace: string): OfEnvironment => {
  const mistakes: Mistake[] = []
  const said: Said[] = []
  const wrong: Wrong = (where, message) => void mistakes.push({ where, message })
  const upstream = upstreamOf(env, isImage, wrong, (one) => void said.push(one))
  const objects: Declared[] = []
  const add = (kind: ManagedKind, name: string, fields: Declared['given'], by: string): void =>
    void objects.push({
      ...{ kind, workspace: kind === 'key' ? workspace : '', name, given: fields },
      ...{ folder: process.cwd(), isWrong: false, at: () => by },
    })
  if (upstream !== null) {
    const { url, secrets, by } = upstream
    const given = secrets === undefined ? url : new InlineUpstream(url, secrets)
    add('pool', DEFAULT_POOL, { upstreams: [given] }, by)
  }
  const file = given(env, 'POSTERN_KEY_FILE')
  // one that is not there is made, where a new secret may be written
  if (file !== undefined)
    add('key', 'app', existsSync(file) ? { secret_file: file } : { out: file }, 'POSTERN_KEY_FILE')
  const isNothing = objects.length === 0 && mistakes.length === 0
  return { setup: isNothing ? null : { name: 'environment', objects, mistakes }, said }
}

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

const refsOf = (steps: readonly PlanStep[], ...signs: readonly Sign[]): readonly string[] =>
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
