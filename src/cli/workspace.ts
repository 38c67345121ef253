/**
 * NAME      workspace - sending tenants, from the command line
 */

import { workspaceRecord } from '../record/tenants.js'
import { leaderOf } from '../store/pools.js'
import type { KnownPool, WorkspaceRow } from '../store/port/tenants.js'
import { createWorkspace, findWorkspace, updateWorkspace } from '../tenant/workspace.js'
import { command, type Subject } from './command.js'
import { type CliContext, withContext } from './context.js'
import { usage } from './exit.js'
import { collect, each, listing } from './list.js'
import { fields, type Paint } from './table.js'
import type { Terminal } from './terminal.js'
import { ALARM_OPTIONS, alarmFields, alarmsIn, heldByAlarm, releaseCommand } from './workspace-alarms.js'
import { REF, remove, resume, suspend } from './workspace-rest.js'
import { ROUTE_OPTION, routesIn } from './workspace-routes.js'
import { SOFT_OPTION, softLimitsIn, softLimitsText } from './workspace-soft.js'

const CHANGES = {
  slug: { type: 'string', describe: 'Short name for URLs and commands' },
  pool: { type: 'string', describe: 'Egress pool, by name or id; none is one of its own' },
  ...ROUTE_OPTION,
  'default-from': { type: 'string', describe: 'From address of mails that bring none; none takes it away' },
  ambiguous: {
    choices: ['retry', 'hold'],
    describe: 'What to do with a mail that may have been sent, after a crash',
  },
  'line-endings': {
    choices: ['normalize', 'strict'],
    describe: 'Mend bare CR and LF in SMTP mail, as a new workspace does, or refuse it',
  },
  'sender-dsn': { type: 'boolean', describe: 'Send delivery reports back to the submitting sender' },
  'restrict-senders': { type: 'boolean', describe: 'Only the verified sending domains may send' },
  ...ALARM_OPTIONS,
  'statistics-tags': {
    type: 'string',
    describe: 'Tags whose values statistics count apart: up to 20 names between commas; none for no tag',
  },
  ...SOFT_OPTION,
} as const

const orNull = (value: string | undefined): string | null | undefined => (value === 'none' ? null : value)

/** `kind,plan`, or `none`. */
const tagsIn = (text: string | undefined): readonly string[] | undefined =>
  text === 'none' ? [] : text?.split(',').map((name) => name.trim())

const suspendedText = (since: number, reason: string | null): string =>
  `since ${new Date(since).toISOString()}${reason === null ? '' : `: ${reason}`}`

const show = (paint: Paint, row: WorkspaceRow, pool: string, routes: readonly string[]): string =>
  fields(paint, [
    ['id', row.id],
    ['name', row.name],
    ['slug', row.slug],
    ['default', row.isDefault ? 'yes' : 'no'],
    ['pool', pool],
    ['routes', routes.length === 0 ? 'none' : routes.join(', ')],
    ['default from', row.defaultFrom],
    ['ambiguous', row.ambiguous],
    ['line endings', row.lineEndings],
    ['sender dsn', row.senderDsn ? 'yes' : 'no'],
    ['restrict senders', row.restrictSenders ? 'yes' : 'no'],
    ...alarmFields(row),
    ['statistics tags', row.statisticsTags.length === 0 ? 'none' : row.statisticsTags.join(', ')],
    ['suppress soft', softLimitsText(row.suppressSoft)],
    ['suspended', row.suspendedAt === null ? 'no' : suspendedText(row.suspendedAt, row.suspendedReason)],
    ['created', new Date(row.createdAt).toISOString()],
  ])

/** `shop, which sends through main`, as far as it does. */
const poolText = ({ name, upstreams }: KnownPool, leader: KnownPool | null): string => {
  if (leader === null) return upstreams.length === 0 ? `${name}, which has no upstream` : name
  return `${name}, which sends through ${leader.name}${leader.upstreams.length === 0 ? ', which has no upstream' : ''}`
}

const print = async ({ store }: CliContext, terminal: Terminal, row: WorkspaceRow): Promise<void> => {
  const pool = await store.pool(row.accountId, row.poolId)
  const leader = pool === null ? null : await leaderOf(store, pool)
  const text = pool === null ? row.poolId : poolText(pool, leader)
  const routes = await Promise.all(
    row.routes.map(async ({ domain, poolId }) => {
      const name = (await store.pool(row.accountId, poolId))?.name
      return `${domain}=${name ?? poolId}`
    }),
  )
  terminal.data(workspaceRecord(row), (paint) => show(paint, row, text, routes))
  if (heldByAlarm(row, await store.holds(row.accountId)))
    terminal.say(`an alarm holds its mail: ${releaseCommand(row)}`)
  const mending = leader ?? pool
  if (mending?.upstreams.length === 0 && mending.kind === 'relay')
    terminal.say(`its mail waits: postern pool update ${mending.name} --upstream URL`)
}

const list = listing({
  path: 'workspace list',
  summary: 'All workspaces, newest first',
  examples: [['$0 workspace list', '']],
  what: 'workspaces',
  next: null,
  rows: async ({ store, account }) => {
    const pools = await collect((page) => store.pools(account.id, page))
    const names = new Map(pools.map(({ id, name }) => [id, name]))
    return each(
      (page) => store.workspaces(account.id, page),
      (rows) => rows.map((row) => ({ row, pool: names.get(row.poolId) ?? row.poolId })),
    )
  },
  record: ({ row }) => workspaceRecord(row),
  columns: [
    ['slug', ({ row }) => row.slug],
    ['name', ({ row }) => row.name],
    ['pool', 'pool'],
    ['default from', ({ row }) => row.defaultFrom],
    ['suspended', ({ row }) => (row.suspendedAt === null ? 'no' : 'yes')],
    ['id', ({ row }) => row.id],
  ],
})

const showOne = command({
  usage: 'show <ref>',
  summary: 'One workspace',
  positionals: REF,
  examples: [['$0 workspace show default', '']],
  run: (args, terminal) =>
    withContext(args, async (context) =>
      print(context, terminal, await findWorkspace(context.deps, context.account.id, args.ref)),
    ),
})

const create = command({
  usage: 'create <name>',
  summary: 'Make a workspace',
  positionals: { name: { type: 'string', demandOption: true, describe: 'Its name, such as "Shop EU"' } },
  options: CHANGES,
  examples: [['$0 workspace create "Shop EU"', 'its slug and its pool will be shop-eu']],
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const row = await createWorkspace(context.deps, context.account.id, {
        ...args,
        ...alarmsIn(args),
        statisticsTags: tagsIn(args.statisticsTags),
        suppressSoft: softLimitsIn(args.suppressSoft),
        routes: routesIn(args.route, []),
        pool: orNull(args.pool),
        defaultFrom: orNull(args.defaultFrom),
      })
      await print(context, terminal, row)
      terminal.say(`next: postern key create --workspace ${row.slug}`)
    }),
})

const update = command({
  usage: 'update <ref>',
  summary: 'Change a workspace',
  positionals: REF,
  options: { name: { type: 'string', describe: 'New name' }, ...CHANGES },
  examples: [
    ['$0 workspace update default --pool main', 'send its mail through the pool main'],
    ['$0 workspace update default --route example.com=eu', 'mail to that domain goes through the pool eu'],
  ],
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const changed = ['name', ...Object.keys(CHANGES)].some((name) => args[name as 'name'] !== undefined)
      if (!changed) throw usage('workspace update needs something to change, such as --pool')
      const old = await findWorkspace(context.deps, context.account.id, args.ref)
      const wish = {
        ...args,
        ...alarmsIn(args),
        statisticsTags: tagsIn(args.statisticsTags),
        suppressSoft: softLimitsIn(args.suppressSoft),
        routes: routesIn(args.route, old.routes),
        pool: orNull(args.pool),
        defaultFrom: orNull(args.defaultFrom),
      }
      await print(context, terminal, await updateWorkspace(context.deps, context.account.id, args.ref, wish))
    }),
})

export const workspaceSubject: Subject = {
  name: 'workspace',
  commands: [list, showOne, create, update, suspend, resume, remove],
}
