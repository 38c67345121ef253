/**
 * NAME      status - whether mail flows, in the sentences that the dashboard and the API say
 *   Asked of the store, and of the relay of the running daemon where one answers. Ends with 69 where a pool
 *   sends nothing that nobody held, so that a script sees it, too. For people it is one screen: what flows, whether the
 *   daemon runs, since when and with which doors, each pool with its last error, and alarms, which are of live mail.
 */
import { collect } from '../lifecycle/page.js'
import { queueStateRecord } from '../record/queue.js'
import { workspaceRecord } from '../resource/tenants.js'
import type { WorkspaceRow } from '../store/port/tenants.js'
import type { RelayView } from '../tenant/pool.js'
import { queueStates } from '../tenant/waiting.js'
import { findWorkspace } from '../tenant/workspace.js'

import { type CliContext, storeCommand } from './context.js'
import { type Doors, doorsOf } from './listening.js'
import { relayView, setupFailed } from './relay-state.js'
import { ago, fields, type Paint, spanText, tableOf, wrapped } from './table.js'
import { standingAlarms } from './workspace.js'

/** Of one workspace (null: of all), those of which too much goes wrong. */
const alarmedIn = async (
  { store, account }: CliContext,
  workspaceId: string | null,
): Promise<readonly WorkspaceRow[]> => {
  const standing = await store.standingAlarms()
  const ids = new Set(standing.map((one) => one.workspaceId).filter((id) => id === (workspaceId ?? id)))
  const rows = await Promise.all([...ids].map((id) => store.workspace(account.id, id)))
  return rows.filter((row) => row !== null)
}

type Record = ReturnType<typeof queueStateRecord>
type PoolLine = Record['pools'][number]

/** No more of them, so that it stays one screen. */
const MOST_POOLS = 10

interface Seen {
  readonly state: Record
  readonly names: ReadonlyMap<string, string>
  readonly view: RelayView | null
  readonly upstreams: ReadonlyMap<string, readonly string[]>
  readonly doors: Doors | null
  readonly alarms: readonly string[]
  readonly setupFailed: readonly string[]
}

/** What went wrong last in a pool, and when. */
const lastError = ({ view, upstreams }: Seen, pool: PoolLine): string | null => {
  const errors = (upstreams.get(pool.egress_pool_id) ?? [])
    .flatMap((id) => view?.upstreams.get(id)?.lastError ?? [])
    .sort((a, b) => (b.at ?? 0) - (a.at ?? 0))
  const [latest] = errors
  const [failing] = pool.failing
  if (latest !== undefined)
    return `${latest.stage}: ${latest.message}${latest.at == null ? '' : `, ${ago(latest.at)}`}`
  return failing === undefined ? null : `${failing.upstream} ${failing.error ?? 'fails'}`
}

const poolTable = (seen: Seen) =>
  tableOf<PoolLine>([
    ['pool', ({ egress_pool_id: id }) => seen.names.get(id) ?? id],
    [
      'state',
      ({ state }) => state.replace('_', ' '),
      { paint: (paint, text) => (text === 'ok' ? text : paint[text === 'down' ? 'red' : 'yellow'](text)) },
    ],
    ['waiting', 'waiting'],
    ['held', 'held'],
    ['oldest', ({ oldest_at: at }) => (at === null ? null : ago(Date.parse(at)))],
    ['last error', (pool) => lastError(seen, pool)],
  ])

const waitingText = ({ waiting, scheduled, held, oldest_at: at }: Record): string => {
  const oldest = at === null ? '' : `, the oldest for ${ago(Date.parse(at)).replace(' ago', '')}`
  return `${waiting} now${oldest}; ${scheduled} for a time of their own; ${held} held`
}

const daemonText = (doors: Doors | null): string =>
  doors === null
    ? 'none runs on this data folder; start it: postern serve, or systemctl start postern'
    : `runs, since ${new Date(doors.since).toISOString()}, ${spanText(Date.now() - doors.since)}`

const screen = (paint: Paint, seen: Seen): string => {
  const { state, doors, alarms, setupFailed: mistakes } = seen
  const count = alarms.length + (mistakes.length > 0 ? 1 : 0)
  const colour = { ok: paint.green, wait: paint.yellow, bad: paint.red }[state.tone]
  const shown = state.pools.slice(0, MOST_POOLS)
  const more = state.pools.length - shown.length
  return [
    colour(state.title),
    ...wrapped(state.says, paint.width),
    '',
    fields(paint, [
      ['daemon', daemonText(doors)],
      ['doors', doors?.at.map(([name, at]) => `${name} ${at}`).join(', ')],
      ['waiting', waitingText(state)],
      ['alarms', count === 0 ? 'none' : count],
    ]),
    '',
    poolTable(seen)(paint, shown),
    ...(more > 0 ? [`and ${more} more: postern pool list`] : []),
    ...state.holds.slice(0, MOST_POOLS).map(({ says }) => `held: ${says}`),
    ...alarms.map((said) => paint.red(`alarm: ${said}`)),
    ...(mistakes.length === 0
      ? []
      : [paint.red('alarm: setup_failed: the daemon started without its setup')]),
    ...mistakes.map((said) => `  ${said}`),
  ].join('\n')
}

export const statusCommand = storeCommand({
  usage: 'status',
  summary: 'Whether mail flows: what waits, what is held and by what, and which pool is down',
  options: {
    workspace: { type: 'string', describe: 'Only its mail, by id or slug' },
    test: { type: 'boolean', describe: 'Of test mail' },
  },
  examples: [
    ['$0 status', 'the first thing to ask'],
    ['$0 status --workspace shop', 'of one tenant'],
    ['$0 status --json | jq .tone', 'ok, wait or bad'],
  ],
  run: async (context, args, terminal) => {
    const { store, deps, account, config } = context
    const { clock } = deps
    const workspaceId =
      args.workspace === undefined ? null : (await findWorkspace(deps, account.id, args.workspace)).id
    const of = { accountId: account.id, workspaceId, isOperator: true }
    const view = await relayView(context)
    const states = await queueStates({ store, clock, view, hasRelay: true }, of)
    const state = queueStateRecord(args.test === true ? states.test : states.live, clock.now())
    const rows = args.test === true ? [] : await alarmedIn(context, workspaceId)
    const alarms = rows.flatMap((row) =>
      workspaceRecord(row).alarmed.map((one) => ({ workspace_id: row.id, ...one })),
    )
    const pools = await collect((page) => store.pools(account.id, page))
    const mistakes = await setupFailed(context)
    const seen: Seen = {
      ...{ state, view, doors: await doorsOf(config), setupFailed: mistakes ?? [] },
      names: new Map(pools.map(({ id, name }) => [id, name])),
      upstreams: new Map(pools.map((pool) => [pool.id, pool.upstreams.map(({ id }) => id)])),
      alarms: rows.flatMap((row) => standingAlarms(row).map((said) => `${row.slug}: ${said}`)),
    }
    terminal.data({ ...state, alarms, setup_failed: mistakes }, (paint) => screen(paint, seen))
    return state.tone === 'bad' ? 69 : 0
  },
})
