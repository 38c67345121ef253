/**
 * NAME      pool - upstream mail servers, from the command line
 *   `--upstream` takes URLs and is repeatable; in `update` the list given is the
 *   whole new list. Passwords are named as files in the URL, never written in it.
 */

import { collect } from '../lifecycle/page.js'
import { removed, settingsOf } from '../resource/member.js'
import { POOL, poolRecord } from '../resource/tenants.js'
import { leaderOf } from '../store/pools.js'
import type { KnownPool, UpstreamRow } from '../store/port/tenants.js'
import { createPool, deletePool, findPool, updatePool } from '../tenant/pool.js'
import { type MemberWish, parseUpstream, upstreamText } from '../tenant/upstream.js'
import { command, type Subject, settingOptions, WHY } from './command.js'
import { type CliContext, readPasswordFile, storeCommand, withContext } from './context.js'
import { usage } from './exit.js'
import { agreed, each, listing, tellRecord } from './list.js'
import { type Columns, tableOf } from './table.js'
import type { Terminal } from './terminal.js'

const REF = { ref: { type: 'string', demandOption: true, describe: 'Name or id' } } as const

const OPTIONS = {
  upstream: {
    type: 'string',
    array: true,
    describe:
      'smtp://user@host:587?tls=verify&ca_file=…&weight=10&password_file=…, ses+https://REGION?access_key_file=…, or mailgun+https://DOMAIN?region=eu&key_file=…; repeatable',
  },
  ...settingOptions(settingsOf(POOL)),
} as const

const membersOf = (urls: readonly string[] | undefined): Promise<readonly MemberWish[]> | undefined =>
  urls === undefined
    ? undefined
    : Promise.all(urls.map((url) => parseUpstream(url, readPasswordFile, '--upstream')))

/** In the place of upstreams, where a pool has none of its own. */
const without = ({ kind, follows }: KnownPool, names: ReadonlyMap<string, string>): string => {
  if (kind === 'sandbox') return 'built in'
  return follows === null ? 'none' : `those of ${names.get(follows) ?? follows}`
}

/** A pool with one of its upstreams, or with none. */
interface Way {
  readonly pool: KnownPool
  readonly upstream: UpstreamRow | null
  readonly text: string
  readonly isFirst: boolean
}

const waysOf = (pools: readonly KnownPool[], names: ReadonlyMap<string, string>): readonly Way[] =>
  pools.flatMap((pool): readonly Way[] =>
    pool.upstreams.length === 0
      ? [{ pool, upstream: null, text: without(pool, names), isFirst: true }]
      : pool.upstreams.map((upstream, i): Way => {
          return { pool, upstream, text: upstreamText(upstream), isFirst: i === 0 }
        }),
  )

const COLUMNS: Columns<Way> = [
  ['pool', ({ pool, isFirst }) => (isFirst ? pool.name : ''), { csv: ({ pool }) => pool.name }],
  ['upstream', 'text'],
  ['tls', ({ upstream }) => upstream?.tls],
  ['user', ({ upstream }) => upstream?.user],
  ['weight', ({ upstream }) => upstream?.weight],
  ['priority', ({ upstream }) => upstream?.priority],
  ['state', ({ upstream }) => upstream?.state],
  ['id', ({ pool, isFirst }) => (isFirst ? pool.id : ''), { csv: ({ pool }) => pool.id }],
]

const poolTable = tableOf(COLUMNS)

const print = async (context: CliContext, terminal: Terminal, row: KnownPool): Promise<void> => {
  const leader = await leaderOf(context.store, row)
  const names = new Map(leader === null ? [] : [[leader.id, leader.name]])
  await tellRecord(context, terminal, poolRecord(row), (paint) => poolTable(paint, waysOf([row], names)))
}

const list = listing({
  path: 'pool list',
  summary: 'All pools and their upstreams',
  examples: [['$0 pool list', '']],
  what: 'pools',
  next: null,
  rows: async ({ store, account }) => {
    const all = await collect((page) => store.pools(account.id, page))
    const names = new Map(all.map(({ id, name }) => [id, name]))
    return each(
      (page) => store.pools(account.id, page),
      (rows) => rows.map((pool) => ({ pool, names })),
    )
  },
  record: ({ pool }) => poolRecord(pool),
  isManaged: true,
  parts: ({ pool, names }: { pool: KnownPool; names: ReadonlyMap<string, string> }) => waysOf([pool], names),
  columns: COLUMNS,
})

const show = storeCommand({
  usage: 'show <ref>',
  summary: 'One pool and its upstreams',
  positionals: REF,
  examples: [['$0 pool show main', '']],
  run: async (context, args, terminal) =>
    print(context, terminal, await findPool(context.deps, context.account.id, args.ref)),
})

const create = command({
  usage: 'create <name>',
  summary: 'Make a pool of upstream mail servers',
  positionals: { name: { type: 'string', demandOption: true, describe: 'Its name' } },
  options: OPTIONS,
  examples: [
    ["$0 pool create main --upstream 'smtp://gw@mta1:587?tls=required&password_file=/run/secrets/mta1'", ''],
  ],
  run: async (args, terminal) => {
    const members = await membersOf(args.upstream)
    if (members === undefined) throw usage('pool create needs at least one --upstream URL')
    await withContext(args, async (context) => {
      const row = await createPool(context.deps, context.account.id, { ...args, members })
      await print(context, terminal, row)
      terminal.say(`next: postern workspace update default --pool ${row.name}`)
    })
  },
})

const update = command({
  usage: 'update <ref>',
  summary: 'Change a pool; the upstreams given are its whole new list',
  positionals: REF,
  options: { name: { type: 'string', describe: 'New name' }, ...OPTIONS, ...WHY },
  examples: [
    [
      '$0 pool update main --upstream smtp://mta1.example:25 --upstream smtp://mta2.example:25',
      'its whole new list',
    ],
  ],
  run: async (args, terminal) => {
    const changed = ['name', ...Object.keys(OPTIONS)].some((name) => args[name as 'name'] !== undefined)
    if (!changed) throw usage('pool update needs something to change, such as --upstream')
    const members = await membersOf(args.upstream)
    await withContext(args, async (context) =>
      print(
        context,
        terminal,
        await updatePool(context.deps, context.account.id, args.ref, { ...args, members }),
      ),
    )
  },
})

const remove = storeCommand({
  usage: 'delete <ref>',
  summary: 'Delete a pool that no workspace uses',
  positionals: REF,
  options: WHY,
  destroys: true,
  examples: [['$0 pool delete old --yes', '']],
  run: async ({ store, deps, account }, args, terminal) => {
    const row = await findPool(deps, account.id, args.ref)
    const named = `${row.name} (${row.id})`
    const [what, asked] = [`delete ${named}`, `delete the pool ${named}`]
    if (!(await agreed({ store, account }, terminal, args, poolRecord(row), what, asked))) return
    await deletePool(deps, account.id, row.id)
    terminal.data(removed('egress_pool', row.id), () => `deleted ${row.name}`)
  },
})

export const poolSubject: Subject = {
  name: 'pool',
  commands: [list, show, create, update, remove],
}
