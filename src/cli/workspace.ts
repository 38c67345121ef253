/**
 * NAME      workspace - sending tenants and their settings as people write them
 *   A limit of an alarm is a share and a count, `0.3%/5`: as many, and that share of those tried. `off` raises none,
 *   `default` is what holds where nothing is said. `mailbox_full=8/30d`: eight of that kind, the first 30 days before the
 *   last. Suspend and delete say first how much waits, and ask, or want --yes off a terminal: what programs send from
 *   then on is refused. To delete is for good.
 */

import { collect } from '../lifecycle/page.js'
import { removed, settingsOf } from '../resource/member.js'
import { WORKSPACE, workspaceRecord } from '../resource/tenants.js'
import { leaderOf } from '../store/pools.js'
import {
  ALARM_HOLD,
  ALARM_SEARCH,
  ALARMS,
  type Alarm,
  alarmText,
  limitOf,
  percent,
  readAlarmLimit,
  readSoftLimit,
  SOFT_KINDS,
  type SoftLimits,
} from '../store/port/alarms.js'
import type { HoldRow, QueueCount, QueueScope } from '../store/port/operations.js'
import type { DomainRoute, KnownPool, WorkspaceRow } from '../store/port/tenants.js'
import { queueMatches } from '../tenant/orders.js'
import {
  type AlarmsWish,
  createWorkspace,
  type DomainRouteWish,
  deleteWorkspace,
  findWorkspace,
  resumeWorkspace,
  routeDomain,
  suspendWorkspace,
  updateWorkspace,
  type WorkspaceWish,
} from '../tenant/workspace.js'
import { type Subject, settingFields, settingOptions } from './command.js'
import { type CliContext, storeCommand } from './context.js'
import { usage } from './exit.js'
import { agreed, each, listing, tellRecord } from './list.js'
import { queueDeps } from './queue-scope.js'
import { fields, type Paint } from './table.js'
import type { Terminal } from './terminal.js'

const ALARM_LIMIT = 'a share and a count such as 0.3%/5, off, or default'

const ALARM_OPTIONS = {
  'alarm-complaints': {
    type: 'string',
    describe: `Complaints within 24 hours that raise an alarm: ${ALARM_LIMIT}`,
  },
  'alarm-hard-bounces': {
    type: 'string',
    describe: `Hard bounces within an hour that raise one: ${ALARM_LIMIT}`,
  },
  'alarm-deferrals': { type: 'string', describe: `Deferrals within an hour that raise one: ${ALARM_LIMIT}` },
  'on-alarm': {
    choices: WORKSPACE.on_alarm.words,
    describe: 'What an alarm does beside telling: hold keeps its mail until somebody releases it',
  },
} as const

const OPTION: Readonly<Record<Alarm, 'alarm-complaints' | 'alarm-hard-bounces' | 'alarm-deferrals'>> = {
  complaints: 'alarm-complaints',
  hard_bounces: 'alarm-hard-bounces',
  deferrals: 'alarm-deferrals',
}

type Args = Readonly<Partial<Record<(typeof OPTION)[Alarm], string | undefined>>> & {
  readonly 'on-alarm'?: string | undefined
}

const limitIn = (alarm: Alarm, text: string): AlarmsWish[Alarm] => {
  const limit = readAlarmLimit(alarm, text)
  if (limit === null)
    throw usage(`--${OPTION[alarm]}: ${text} is not ${ALARM_LIMIT} (0.01% to 100%, 1 to 1000000)`)
  return limit === 'off' ? limit : { rate: limit.rate, at_least: limit.atLeast }
}

/** What the options wish. */
const alarmsIn = (args: Args): Pick<WorkspaceWish, 'alarms' | 'onAlarm'> => {
  const wished = ALARMS.flatMap((alarm) => {
    const text = args[OPTION[alarm]]
    return text === undefined ? [] : [[alarm, limitIn(alarm, text)] as const]
  })
  const onAlarm = args['on-alarm']
  return {
    ...(wished.length > 0 && { alarms: Object.fromEntries(wished) }),
    ...(onAlarm !== undefined && { onAlarm: onAlarm === 'hold' ? 'hold' : 'notify' }),
  }
}

const limitText = (row: WorkspaceRow, alarm: Alarm): string => {
  const limit = limitOf(row.alarms, alarm)
  return limit === 'off' ? 'off' : `${percent(limit.rate)} and ${limit.atLeast}`
}

/** What stands, in words; empty when nothing does. */
export const standingAlarms = ({ alarmed }: WorkspaceRow): readonly string[] =>
  ALARMS.flatMap((alarm) => {
    const raised = alarmed[alarm]
    return raised === undefined
      ? []
      : [`${alarmText(alarm, raised)}, raised at ${new Date(raised.since).toISOString()}`]
  })

/** By it the mail is found that raised the first of them. */
export const alarmSearch = ({ alarmed }: WorkspaceRow): string =>
  ALARM_SEARCH[ALARMS.find((alarm) => alarmed[alarm] !== undefined) ?? 'hard_bounces']

/** True while a hold that an alarm made keeps its mail. */
export const heldByAlarm = ({ id }: WorkspaceRow, holds: readonly HoldRow[]): boolean =>
  holds.some(
    (one) =>
      one.workspaceId === id &&
      one.poolId === null &&
      one.domain === null &&
      one.emailId === null &&
      one.reason.startsWith(ALARM_HOLD),
  )

export const releaseCommand = ({ slug }: WorkspaceRow): string => `postern queue release --workspace ${slug}`

/** Lines for `workspace show`. */
const alarmFields = (row: WorkspaceRow): readonly (readonly [string, string])[] => [
  ['alarms at', ALARMS.map((alarm) => `${alarm.replace('_', ' ')} ${limitText(row, alarm)}`).join(', ')],
  ['on alarm', row.onAlarm],
  ['alarms', standingAlarms(row).join('; ') || 'none'],
]

export const REF = { ref: { type: 'string', demandOption: true, describe: 'Id or slug' } } as const

const scopeOf = ({ id, accountId }: WorkspaceRow): QueueScope => ({
  accountId,
  workspaceId: id,
  poolId: null,
  domain: null,
  emailId: null,
})

const countText = ({ waiting, held, underWay }: QueueCount): string =>
  `${waiting} waiting, ${held} held, ${underWay} under way`

/** The workspace; says first what waits in it. */
const findAndCount = async (context: CliContext, terminal: Terminal, ref: string): Promise<WorkspaceRow> => {
  const row = await findWorkspace(context.deps, context.account.id, ref)
  terminal.say(`${row.slug}: ${countText(await queueMatches(queueDeps(context), scopeOf(row)))}`)
  return row
}

/** The row as it is by then, with what the order did. */
const tell = async (context: CliContext, terminal: Terminal, id: string, changed: number, words: string) => {
  const row = await findWorkspace(context.deps, context.account.id, id)
  const said = `${row.slug}: ${changed} recipients ${words}`
  await tellRecord(context, terminal, { ...workspaceRecord(row), changed }, () => said)
}

const why = (describe: string) =>
  ({ type: 'string', demandOption: true, requiresArg: true, describe }) as const

export const suspend = storeCommand({
  usage: 'suspend <ref>',
  summary: 'Take no mail for a workspace and let nothing of it leave, until it is resumed',
  positionals: REF,
  options: { reason: why('Why; kept with the workspace and in the timeline of each mail') },
  destroys: true,
  examples: [['$0 workspace suspend shop-eu --reason "invoice 17 is open" --yes', 'stop a tenant']],
  run: async (context, args, terminal) => {
    const row = await findAndCount(context, terminal, args.ref)
    const what = `suspend ${row.slug}`
    const asked = `${what}; what is sent for it is refused from then on`
    if (!(await agreed(context, terminal, args, { ...workspaceRecord(row), changed: 0 }, what, asked))) return
    const changed = await suspendWorkspace(context.deps, row, args.reason)
    await tell(context, terminal, row.id, changed, 'rest')
    terminal.say(`until: postern workspace resume ${row.slug}`)
  },
})

export const resume = storeCommand({
  usage: 'resume <ref>',
  summary: 'Take mail for a suspended workspace again, and send what rested',
  positionals: REF,
  destroys: true,
  examples: [['$0 workspace resume shop-eu', '']],
  run: async (context, args, terminal) => {
    const row = await findWorkspace(context.deps, context.account.id, args.ref)
    if (args.dryRun)
      return tellRecord(context, terminal, { ...workspaceRecord(row), changed: 0 }, () => {
        return `would resume ${row.slug}`
      })
    await tell(context, terminal, row.id, await resumeWorkspace(context.deps, row), 'go on')
  },
})

export const remove = storeCommand({
  usage: 'delete <ref>',
  summary: 'End a workspace for good: its keys, what waits in it, and within an hour what its people wrote',
  positionals: REF,
  options: { reason: why('Why; kept in the timeline of what waited until that is erased') },
  destroys: true,
  examples: [['$0 workspace delete shop-eu --reason "contract ended" --yes', 'offboard a tenant']],
  run: async (context, args, terminal) => {
    const row = await findAndCount(context, terminal, args.ref)
    const record = {
      ...removed('workspace', row.id),
      deleted: !args.dryRun,
      dry_run: args.dryRun === true,
    }
    const what = `delete ${row.slug}`
    const asked = `${what} for good; no sender is told of what waits`
    if (!(await agreed(context, terminal, args, record, what, asked))) return
    await deleteWorkspace(context.deps, row, args.reason)
    terminal.data(record, () => `${row.slug} is deleted; the daemon erases what is left within an hour`)
  },
})

const ROUTE_OPTION = {
  route: {
    type: 'string',
    array: true,
    describe:
      'Pool for mail to a domain, such as example.com=eu, or .example.com=eu for those under it; repeatable; example.com=none takes it away',
  },
} as const

/** Those that are, with what is written of some. */
export const routesIn = (
  texts: readonly string[] | undefined,
  before: readonly DomainRoute[],
): readonly DomainRouteWish[] | undefined => {
  if (texts === undefined) return undefined
  const named = new Map<string, string>()
  for (const text of texts) {
    const [, name = '', pool = ''] = /^([^=]+)=(.+)$/.exec(text.trim()) ?? []
    const domain = routeDomain(name)
    if (domain === null || pool === '')
      throw usage(`--route: ${text} is not a domain and a pool such as example.com=eu`)
    if (named.has(domain)) throw usage(`--route: ${domain} is given twice`)
    named.set(domain, pool)
  }
  const kept = before.map(({ domain, poolId }) => ({ domain, pool: named.get(domain) ?? poolId }))
  const known = new Set(before.map(({ domain }) => domain))
  const added = [...named]
    .filter(([domain]) => !known.has(domain))
    .map(([domain, pool]) => ({ domain, pool }))
  return [...kept, ...added].filter(({ pool }) => pool !== 'none')
}

const SOFT_OPTION = {
  'suppress-soft': {
    type: 'string',
    describe: `Suppress after soft bounces, such as mailbox_full=8/30d: 8 of that kind over 30 days (${SOFT_KINDS.join(', ')}); none for never`,
  },
} as const

/** What is written replaces all that was. */
export const softLimitsIn = (text: string | undefined): SoftLimits | undefined => {
  if (text === undefined) return undefined
  const limits = text === 'none' ? [] : text.split(',').map((one) => one.trim())
  return Object.fromEntries(
    limits.map((one) => {
      const [name = '', ...rest] = one.split('=')
      const read = readSoftLimit(name, rest.join('='))
      if (read === null)
        throw usage(
          `--suppress-soft: ${one} is not a kind (${SOFT_KINDS.join(', ')}), a count and days such as mailbox_full=8/30d`,
        )
      return [read.kind, read.limit]
    }),
  )
}

export const softLimitsText = (limits: SoftLimits): string =>
  SOFT_KINDS.flatMap((kind) => {
    const limit = limits[kind]
    return limit === undefined ? [] : [`${kind}=${limit.bounces}/${limit.days}d`]
  }).join(', ') || 'never'

/** Those that are typed as they are read, of which the record has the newest first. */
const SETTINGS = settingsOf(WORKSPACE).toReversed()

const CHANGES = {
  slug: { type: 'string', describe: 'Short name for URLs and commands' },
  pool: { type: 'string', describe: 'Egress pool, by name or id; none is one of its own' },
  ...ROUTE_OPTION,
  'default-from': { type: 'string', describe: 'From address of mails that bring none; none takes it away' },
  ...settingOptions(SETTINGS),
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
    ...settingFields(SETTINGS, workspaceRecord(row)),
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

const print = async (context: CliContext, terminal: Terminal, row: WorkspaceRow): Promise<void> => {
  const { store } = context
  const pool = await store.pool(row.accountId, row.poolId)
  const leader = pool === null ? null : await leaderOf(store, pool)
  const text = pool === null ? row.poolId : poolText(pool, leader)
  const routes = await Promise.all(
    row.routes.map(async ({ domain, poolId }) => {
      const name = (await store.pool(row.accountId, poolId))?.name
      return `${domain}=${name ?? poolId}`
    }),
  )
  await tellRecord(context, terminal, workspaceRecord(row), (paint) => show(paint, row, text, routes))
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
  rows: async ({ store, account }: CliContext) => {
    const pools = await collect((page) => store.pools(account.id, page))
    const names = new Map(pools.map(({ id, name }) => [id, name]))
    return each(
      (page) => store.workspaces(account.id, page),
      (rows) => rows.map((row) => ({ row, pool: names.get(row.poolId) ?? row.poolId })),
    )
  },
  record: ({ row }) => workspaceRecord(row),
  isManaged: true,
  columns: [
    ['slug', ({ row }) => row.slug],
    ['name', ({ row }) => row.name],
    ['pool', 'pool'],
    ['default from', ({ row }) => row.defaultFrom],
    ['suspended', ({ row }) => (row.suspendedAt === null ? 'no' : 'yes')],
    ['id', ({ row }) => row.id],
  ],
})

const showOne = storeCommand({
  usage: 'show <ref>',
  summary: 'One workspace',
  positionals: REF,
  examples: [['$0 workspace show default', '']],
  run: async (context, args, terminal) =>
    print(context, terminal, await findWorkspace(context.deps, context.account.id, args.ref)),
})

const create = storeCommand({
  usage: 'create <name>',
  summary: 'Make a workspace',
  positionals: { name: { type: 'string', demandOption: true, describe: 'Its name, such as "Shop EU"' } },
  options: CHANGES,
  examples: [['$0 workspace create "Shop EU"', 'its slug and its pool will be shop-eu']],
  run: async (context, args, terminal) => {
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
  },
})

const update = storeCommand({
  usage: 'update <ref>',
  summary: 'Change a workspace',
  positionals: REF,
  options: { name: { type: 'string', describe: 'New name' }, ...CHANGES },
  examples: [
    ['$0 workspace update default --pool main', 'send its mail through the pool main'],
    ['$0 workspace update default --route example.com=eu', 'mail to that domain goes through the pool eu'],
  ],
  run: async (context, args, terminal) => {
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
  },
})

export const workspaceSubject: Subject = {
  name: 'workspace',
  commands: [list, showOne, create, update, suspend, resume, remove],
}
