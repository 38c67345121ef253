/**
 * NAME      upstream - single upstream mail servers: added, tried, paused, resumed, drained
 *   `add` puts one more into a pool; its login may stand in options in place of the URL's query.
 *   `test` opens a connection as relay/ does (resolve, connect, greeting, EHLO,
 *   TLS, AUTH) and says what is offered; no mail is sent. A service is asked for nothing, which it refuses to whoever
 *   may send there. A paused upstream gets no
 *   new mail and keeps its connections' work; a draining one finishes what it has.
 *   `list` asks the running daemon's management listener how each of them is doing;
 *   without a daemon it shows what is configured.
 */

import { diallerBy, tokenSettings } from '../base/dial.js'
import { collect } from '../lifecycle/page.js'
import type { WarmupState } from '../lifecycle/warmup.js'
import { endpointsOf } from '../relay/service/connection.js'
import { type Trial, trialRecord, tryUpstream } from '../relay/trial.js'
import { upstreamRecord, warmupRecord } from '../resource/tenants.js'
import type { KnownPool, UpstreamRow } from '../store/port/tenants.js'
import { findPool, updatePool, warmupsOf } from '../tenant/pool.js'
import { LOGIN_WORDS, parseUpstream, upstreamText } from '../tenant/upstream.js'
import { command, type Subject, WHY } from './command.js'
import { type CliContext, readPasswordFile, storeCommand, withContext } from './context.js'
import { badInput } from './exit.js'
import { listing, whole } from './list.js'
import { type LiveUpstream, NO_DAEMON, relayState } from './relay-state.js'
import { ago, type Columns, paintStatus, tableOf } from './table.js'
import { whileAt } from './terminal.js'

interface Place {
  readonly pool: KnownPool
  readonly upstream: UpstreamRow
}

const placesOf = (pools: readonly KnownPool[]): readonly Place[] =>
  pools.flatMap((pool) => pool.upstreams.map((upstream) => ({ pool, upstream })))

const allPools = ({ store, account }: Pick<CliContext, 'store' | 'account'>): Promise<readonly KnownPool[]> =>
  collect((page) => store.pools(account.id, page))

export const allUpstreams = async (
  context: Pick<CliContext, 'store' | 'account'>,
): Promise<readonly Place[]> => placesOf(await allPools(context))

/** All at once. */
export const tryAll = async (context: CliContext, places: readonly Place[]): Promise<readonly Trial[]> => {
  const { store, config, deps } = context
  const dialler = diallerBy(tokenSettings(config))
  const { hostname } = config
  const parts = { store, dialler, pepper: deps.pepper, hostname, endpoints: endpointsOf(config.relay) }
  try {
    return await Promise.all(places.map(({ pool, upstream }) => tryUpstream(parts, pool, upstream)))
  } finally {
    await dialler.close()
  }
}

/** Why no upstream is meant by `ref`: a pool may have none of its own. */
const notNamed = (ref: string, verb: string, pools: readonly KnownPool[]): Error => {
  const pool = pools.find(({ id, name }) => id === ref || name === ref)
  if (pool === undefined) return badInput(`no upstream is known by ${ref}; postern upstream list shows them`)
  const leader = pools.find(({ id }) => id === pool.follows)
  if (leader !== undefined && leader.upstreams.length > 0)
    return badInput(
      `pool ${pool.name} has no upstream of its own and shares those of ${leader.name}; ` +
        `for all pools that share them: postern upstream ${verb} ${leader.name}`,
    )
  if (pool.kind === 'sandbox') return badInput(`pool ${pool.name} is built in and has no upstream to ${verb}`)
  const empty = leader ?? pool
  return badInput(`pool ${empty.name} has no upstream: postern pool update ${empty.name} --upstream URL`)
}

/** By id, host, host:port, or the name or id of a pool. */
const named = async (
  context: CliContext,
  ref: string | undefined,
  verb: string,
): Promise<readonly Place[]> => {
  const pools = await allPools(context)
  const all = placesOf(pools)
  if (ref === undefined) return all
  const found = all.filter(({ pool, upstream }) =>
    [pool.id, pool.name, upstream.id, upstream.host, upstreamText(upstream)].includes(ref),
  )
  if (found.length === 0) throw notNamed(ref, verb, pools)
  return found
}

const REF = {
  ref: { type: 'string', describe: 'Id, host, host:port, or a pool; all when left out' },
} as const
const ONE = {
  ref: { type: 'string', demandOption: true, describe: 'Id, host, host:port, or a pool' },
} as const

const COLUMNS: Columns<Place> = [
  ['upstream', ({ upstream }) => upstreamText(upstream)],
  ['pool', ({ pool }) => pool.name],
  ['state', ({ upstream }) => upstream.state],
  ['tls', ({ upstream }) => upstream.tls],
  ['weight', ({ upstream }) => upstream.weight],
  ['priority', ({ upstream }) => upstream.priority],
  ['connections', ({ upstream }) => upstream.maxConnections],
  ['rate', ({ upstream: { rate } }) => (rate === null ? 'any' : `${rate}/s`)],
  ['id', ({ upstream }) => upstream.id],
]

const placeTable = tableOf(COLUMNS)

/** By upstream id; null when no daemon answers. */
const liveOf = async (
  context: CliContext,
  given: string | undefined,
): Promise<Map<string, LiveUpstream> | null> => {
  const state = await relayState(context, given)
  return state && new Map(state.data.map(({ id, ...live }) => [id, live]))
}

/** The later of its last success and its last failure, in words. */
const lately = (live: LiveUpstream | undefined): string | null => {
  const { last_success_at: took = null, last_error: error = null } = live ?? {}
  const [tookAt, failedAt] = [Date.parse(took ?? ''), Date.parse(error?.at ?? '')]
  if (error !== null && !(tookAt > failedAt)) return `${error.stage}: ${error.message}, ${ago(failedAt)}`
  return took === null ? null : `took a mail ${ago(tookAt)}`
}

interface LivePlace extends Place {
  readonly live: LiveUpstream | undefined
  readonly warmup: WarmupState | undefined
}

const warmupText = (warmup: WarmupState | undefined): string | null =>
  warmup === undefined
    ? null
    : warmup.limit === null
      ? `over after ${warmup.days} days`
      : `day ${warmup.day} of ${warmup.days}: ${warmup.used} of ${warmup.limit}`

const atOnce = ({ live, upstream: { maxConnections } }: LivePlace): string =>
  live?.limit == null
    ? `- of ${maxConnections}`
    : `${live.under_way} of ${live.limit}, at most ${maxConnections}`

const LIVE: Columns<LivePlace> = [
  ['upstream', ({ upstream }) => upstreamText(upstream)],
  ['pool', ({ pool }) => pool.name],
  ['state', ({ upstream }) => upstream.state],
  [
    'breaker',
    ({ live }) => live?.breaker,
    { paint: (paint, text) => (text === 'closed' ? text : paint.red(text)) },
  ],
  ['open', ({ live }) => live?.connections],
  ['at once', atOnce],
  ['tls', ({ upstream }) => upstream.tls],
  ['warm-up', ({ warmup }) => warmupText(warmup)],
  ['lately', ({ live }) => lately(live)],
  ['id', ({ upstream }) => upstream.id],
]

const placeRecord = ({ pool, upstream }: Place) => upstreamRecord(pool, upstream)

const list = listing({
  path: 'upstream list',
  summary: 'All upstreams of all pools, and how they are doing',
  options: { management: { type: 'string', describe: "URL of the daemon's management listener" } },
  examples: [['$0 upstream list', '']],
  what: 'upstreams',
  next: 'postern pool create main --upstream smtp://HOST:587',
  most: null,
  rows: async (context, { management }, terminal) => {
    const live = await liveOf(context, management)
    if (live === null) terminal.say(`what is configured, not how it is doing: ${NO_DAEMON}`)
    const places = await allUpstreams(context)
    const { store, deps } = context
    const warmups = await warmupsOf(
      store,
      places.map(({ upstream }) => upstream),
      deps.clock.now(),
    )
    return whole(
      places.map((place) => {
        const { id } = place.upstream
        return { ...place, live: live?.get(id), warmup: warmups.get(id) }
      }),
    )
  },
  record: ({ live, warmup, ...place }: LivePlace) => ({
    ...placeRecord(place),
    warmup: warmup === undefined ? null : warmupRecord(warmup),
    live: live ?? null,
  }),
  columns: LIVE,
})

const trialTable = tableOf<Trial>([
  ['upstream', ({ upstream }) => upstreamText(upstream)],
  ['pool', 'pool'],
  ['result', ({ ok }) => (ok ? 'ok' : 'fail'), { paint: paintStatus }],
  ['at', 'stage'],
  ['said', 'said'],
  [
    'auth',
    ({ mechanism, mechanisms }) =>
      mechanisms.length === 0 ? null : `${mechanism ?? 'none'} of ${mechanisms.join(', ')}`,
  ],
  ['took', ({ ms }) => `${ms} ms`],
])

const test = storeCommand({
  usage: 'test [ref]',
  summary: 'Connect as the relay would, and say what is offered; no mail is sent',
  positionals: REF,
  examples: [
    ['$0 upstream test', 'all of them'],
    ['$0 upstream test mta1.example:587', 'this one'],
  ],
  run: async (context, args, terminal) => {
    const places = await named(context, args.ref, 'test')
    if (places.length === 0) terminal.say('there is no upstream yet; postern pool create main --upstream URL')
    const trials = await whileAt(terminal, `trying ${places.length} upstreams`, tryAll(context, places))
    terminal.data(
      trials.map((one) => ({ pool: one.pool, ...trialRecord(one) })),
      (paint) => trialTable(paint, trials),
    )
    return trials.every((one) => one.ok) ? 0 : 69
  },
})

/** A file of a secret is read now; one of a token or a key is named, and read by the daemon at each login. */
const LOGIN = {
  'auth-mechanism': {
    type: 'string',
    describe: 'PLAIN, LOGIN, CRAM-MD5, XOAUTH2 or OAUTHBEARER; any: what is offered and fits',
  },
  'password-file': { type: 'string', describe: 'Its password' },
  'token-url': { type: 'string', describe: 'Token endpoint of OAuth 2.0, in place of a password' },
  'client-id': { type: 'string', describe: 'As whom to ask there' },
  'client-secret-file': { type: 'string', describe: 'The secret of that client' },
  'refresh-token-file': { type: 'string', describe: 'A refresh token to ask with' },
  scope: { type: 'string', describe: 'What to ask for' },
  'token-file': { type: 'string', describe: 'A token that somebody else keeps fresh' },
  'service-account-file': { type: 'string', describe: 'Key file of a Google service account' },
} as const

const withLogin = (text: string, args: object): string => {
  if (!URL.canParse(text)) return text
  const url = new URL(text)
  for (const word of LOGIN_WORDS) {
    const value = (args as Record<string, unknown>)[
      word.replace(/_(.)/g, (_, letter) => letter.toUpperCase())
    ]
    if (typeof value === 'string') url.searchParams.set(word, value)
  }
  return url.href
}

const add = command({
  usage: 'add <pool> <url>',
  summary: 'Put one more upstream into a pool',
  positionals: {
    pool: { type: 'string', demandOption: true, describe: 'Name or id' },
    url: {
      type: 'string',
      demandOption: true,
      describe:
        'smtp://user@host:587?tls=verify, ses+https://REGION?access_key_file=… or mailgun+https://DOMAIN?region=eu&key_file=…',
    },
  },
  options: LOGIN,
  examples: [
    [
      "$0 upstream add main 'smtp://gateway%40acme.example@smtp.office365.com:587?tls=verify' --token-url https://login.microsoftonline.com/acme.example/oauth2/v2.0/token --client-id ID --client-secret-file FILE --scope https://outlook.office365.com/.default",
      'Microsoft 365',
    ],
    ["$0 upstream add main 'ses+https://eu-west-1?access_key_file=FILE'", 'Amazon SES, by HTTPS'],
  ],
  run: async (args, terminal) => {
    const member = await parseUpstream(withLogin(args.url, args), readPasswordFile, 'url')
    await withContext(args, async ({ deps, account }) => {
      const before = await findPool(deps, account.id, args.pool)
      const kept = before.upstreams.map(({ id, host, port }) => ({ id, host, port }))
      const pool = await updatePool(deps, account.id, before.id, { members: [...kept, member] })
      const places = placesOf([pool])
      terminal.data(places.map(placeRecord), (paint) => placeTable(paint, places))
      terminal.say(`next: postern upstream test ${pool.upstreams.at(-1)?.id}`)
    })
  },
})

const change = (verb: string, state: UpstreamRow['state'], summary: string) =>
  storeCommand({
    usage: `${verb} <ref>`,
    summary,
    positionals: ONE,
    options: WHY,
    examples: [[`$0 upstream ${verb} mta1.example`, '']],
    run: async (context, args, terminal) => {
      const places = await named(context, args.ref, verb)
      for (const pool of new Set(places.map((place) => place.pool))) {
        const chosen = places.filter((place) => place.pool === pool).map(({ upstream }) => upstream.id)
        const members = pool.upstreams.map(({ id, host, port, state: now }) => ({
          id,
          host,
          port,
          state: chosen.includes(id) ? state : now,
        }))
        await updatePool(context.deps, context.account.id, pool.id, { members })
      }
      const after = await named(context, args.ref, verb)
      terminal.data(after.map(placeRecord), (paint) => placeTable(paint, after))
    },
  })

export const upstreamSubject: Subject = {
  name: 'upstream',
  commands: [
    list,
    add,
    test,
    change('pause', 'paused', 'Give it no new mail'),
    change('resume', 'active', 'Give it mail again'),
    change('drain', 'draining', 'Let it finish, then give it no more'),
  ],
}
