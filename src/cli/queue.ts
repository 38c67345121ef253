/**
 * NAME      queue - what waits, for how long, and the verbs that change it
 *   Each verb says first what it will meet. What cannot be taken back (purge, reroute) asks, or wants --yes off a
 *   terminal; --dry-run only looks. The reason ends up in the timeline of every mail that was touched. What is on the
 *   wire at that moment is never touched.
 */
import * as record from '../record/queue.js'
import { recipients, STOPPING_REASONS, type Waiting, waitingInFull } from '../record/queue.js'
import { removed } from '../resource/member.js'
import {
  AGE_NAMES,
  QUEUE_GROUPS,
  QUEUE_STATES,
  type QueueAction,
  type QueueAge,
  type QueueCount,
  type QueueEntry,
  type QueueScope,
} from '../store/port/operations.js'
import { findHold, holdQueue, orderQueue, queueMatches, releaseHold } from '../tenant/orders.js'
import { createWaiting, queueDepths } from '../tenant/waiting.js'
import type { Consent, Globals, Subject } from './command.js'
import { type CliContext, storeCommand } from './context.js'
import { usage } from './exit.js'
import { each, listing, whole } from './list.js'
import { exportQueue, forget, importQueue, lots, takeBack } from './queue-carry.js'
import { isNamed, namesOf, queueDeps, SCOPE, scopeFor, scopeText } from './queue-scope.js'
import { NO_DAEMON, type RelayState, relayState, relayView, wakeRelay } from './relay-state.js'
import { AGO, paintStatus, spanText } from './table.js'
import type { Terminal } from './terminal.js'

const MOST_LOOKED_AT = 100_000

interface Throttled {
  readonly row: RelayState['throttled'][number]
  readonly pool: string
}

interface Aged {
  readonly row: QueueAge
  readonly name: string
}

export const ages = listing({
  path: 'queue ages',
  summary: 'How long what waits has waited, by pool, workspace or recipient domain',
  options: { by: { choices: QUEUE_GROUPS, default: 'pool', describe: 'What the rows are' } },
  examples: [['$0 queue ages --by domain', 'which domains keep mail waiting']],
  what: 'mails that wait',
  next: null,
  most: null,
  rows: async (context, args, terminal) => {
    const of = { accountId: context.account.id, workspaceId: null }
    const by = QUEUE_GROUPS.find((one) => one === args.by) ?? 'pool'
    const found = await context.store.queueAges(of, by, MOST_LOOKED_AT, Date.now())
    const names = await namesOf(context)
    const after = (): void => {
      if (found.scheduled > 0) terminal.say(`${found.scheduled} more wait for a time of their own`)
      if (!found.complete) terminal.say(`more wait than the ${MOST_LOOKED_AT} that were looked at`)
    }
    return { fetch: whole(found.rows.map((row) => ({ row, name: names.get(row.key) ?? row.key }))), after }
  },
  record: ({ row }: Aged) => record.queueAge(row),
  columns: [
    ['what', 'name'],
    ['waiting', ({ row }) => row.recipients],
    ...AGE_NAMES.map((name, i) => [name.replace('_', ' '), ({ row }: Aged) => row.ages[i]] as const),
    ['oldest', ({ row }) => row.oldestAt, AGO],
    ['last response', ({ row }) => row.lastResponse],
  ],
})

export const throttles = listing({
  path: 'queue throttles',
  summary: 'Recipient domains that asked the running daemon for a slower pace',
  examples: [['$0 queue throttles', '']],
  what: 'domains that keep mail waiting',
  next: null,
  most: null,
  rows: async (context, _args, terminal) => {
    const state = await relayState(context)
    const names = await namesOf(context)
    const rows = (state?.throttled ?? []).map((row) => {
      return { row, pool: names.get(row.egress_pool_id) ?? row.egress_pool_id }
    })
    return {
      fetch: whole(rows),
      after: () => {
        if (state === null) terminal.say(NO_DAEMON)
      },
    }
  },
  record: ({ row }: Throttled) => row,
  columns: [
    ['domain', ({ row }) => row.domain],
    ['pool', 'pool'],
    ['at once', ({ row }) => row.at_once],
    ['paused until', ({ row }) => row.until],
    ['since', ({ row }) => Date.parse(row.since), AGO],
    ['because it said', ({ row }) => row.last_response],
  ],
})

type Verb = QueueAction | 'hold'

interface Plan {
  readonly verb: Verb
  readonly scope: QueueScope
  readonly reason: string
  /** The pool of a reroute. */
  readonly to: string | null
  /** It cannot be undone by another verb. */
  readonly asks: boolean
}

/** The part of what matches that a verb is about. */
const concerned = (verb: Verb, { waiting, held, underWay }: QueueCount): number => {
  if (verb === 'release') return held
  if (verb === 'hold' || verb === 'retry') return waiting
  return verb === 'purge' || verb === 'reroute' ? waiting + held + underWay : waiting + held
}

const matchText = ({ waiting, held, underWay }: QueueCount): string =>
  `${waiting} waiting, ${held} held, ${underWay} under way`

const DONE: Readonly<Record<Verb, string>> = {
  hold: 'held',
  release: 'released',
  retry: 'due now',
  reroute: 'rerouted',
  purge: 'purged',
}

const carryOut = async (
  context: CliContext,
  terminal: Terminal,
  args: Globals & Consent,
  plan: Plan,
): Promise<void> => {
  const { verb, scope, to } = plan
  const count = await queueMatches(queueDeps(context), scope)
  const where = scopeText(scope, await namesOf(context))
  terminal.say(`${where}: ${matchText(count)}`)
  const done = { action: verb, scope, to, count }
  if (args.dryRun)
    return terminal.data(record.order({ ...done, changed: 0, dryRun: true }), () => {
      return `would ${verb} ${concerned(verb, count)} of ${where}`
    })
  if (plan.asks) {
    const target = to === null ? '' : ` to ${to}`
    await terminal.confirm(`${verb} ${concerned(verb, count)} of ${where}${target}`, args.yes)
  }
  const deps = queueDeps(context)
  if (verb === 'hold') {
    const { hold, changed } = await holdQueue(deps, scope, plan.reason)
    terminal.data(record.placedHold(hold, count, changed), () => `${changed} ${DONE.hold}`)
    terminal.say(`it stands (${hold.id}) until: postern queue release ${hold.id}`)
    return
  }
  const changed = await orderQueue(deps, verb, scope, plan.reason, to)
  if (verb === 'retry') await wakeRelay(context)
  terminal.data(record.order({ ...done, changed, dryRun: false }), () => `${changed} ${DONE[verb]}`)
}

const REASON = {
  type: 'string',
  describe: 'Why; kept in the timeline of each mail',
  requiresArg: true,
} as const
const NEEDED = { ...REASON, demandOption: true } as const

export const hold = storeCommand({
  usage: 'hold',
  summary: 'Let nothing of this leave, now and later, until it is released',
  options: { ...SCOPE, reason: NEEDED },
  destroys: true,
  examples: [['$0 queue hold --domain example.com --reason "they asked us to stop"', 'hold what goes there']],
  run: async (context, args, terminal) => {
    const scope = await scopeFor(context, 'hold', args)
    const plan = { verb: 'hold', scope, reason: args.reason, to: null, asks: false } as const
    await carryOut(context, terminal, args, plan)
  },
})

const plan = (verb: 'release' | 'retry', scope: QueueScope, reason: string) =>
  ({ verb, scope, reason, to: null, asks: false }) as const

export const release = storeCommand({
  usage: 'release [hold]',
  summary: 'Lift a hold, by its id or by its scope, and let its mail go on',
  positionals: { hold: { type: 'string', describe: 'Its id, as queue holds shows it' } },
  options: { ...SCOPE, reason: REASON },
  destroys: true,
  examples: [
    ['$0 queue release --domain example.com', ''],
    ['$0 queue release hold_01…', 'by its id'],
  ],
  run: async (context, args, terminal) => {
    const { hold: id, reason = 'released' } = args
    if (id === undefined)
      return carryOut(
        context,
        terminal,
        args,
        plan('release', await scopeFor(context, 'release', args), reason),
      )
    if (isNamed(args)) throw usage('a hold is released by its id or by its scope, not by both')
    const accountId = context.account.id
    if (args.dryRun) {
      const row = await findHold(context.store, accountId, id)
      return terminal.data(record.hold(row), () => `would release ${id}`)
    }
    const changed = await releaseHold(queueDeps(context), { accountId, workspaceId: null }, id, reason)
    terminal.data({ ...removed('hold', id), changed }, () => `${changed} ${DONE.release}`)
  },
})

export const retry = storeCommand({
  usage: 'retry',
  summary: 'Try at once what would be tried later',
  options: { ...SCOPE, reason: REASON },
  destroys: true,
  examples: [['$0 queue retry --domain example.com', 'their server is back']],
  run: async (context, args, terminal) => {
    const scope = await scopeFor(context, 'retry', args)
    await carryOut(context, terminal, args, plan('retry', scope, args.reason ?? 'retried'))
  },
})

export const reroute = storeCommand({
  usage: 'reroute',
  summary: 'Move what waits to another pool',
  options: {
    ...SCOPE,
    to: { type: 'string', demandOption: true, requiresArg: true, describe: 'Egress pool, by name or id' },
    reason: NEEDED,
  },
  destroys: true,
  examples: [
    ['$0 queue reroute --pool main --to spare --reason "main is down" --yes', 'empty one pool into another'],
  ],
  run: async (context, args, terminal) => {
    const scope = await scopeFor(context, 'reroute', args)
    const plan = { verb: 'reroute', scope, reason: args.reason, to: args.to, asks: true } as const
    await carryOut(context, terminal, args, plan)
  },
})

export const purge = storeCommand({
  usage: 'purge',
  summary: 'Give up what waits: it becomes bounced, or canceled while scheduled',
  options: { ...SCOPE, reason: NEEDED },
  destroys: true,
  examples: [['$0 queue purge --workspace shop --reason "sent by mistake" --dry-run', 'see first how many']],
  run: async (context, args, terminal) => {
    const scope = await scopeFor(context, 'purge', args)
    const plan = { verb: 'purge', scope, reason: args.reason, to: null, asks: true } as const
    await carryOut(context, terminal, args, plan)
  },
})

const whyOf = async (context: CliContext) =>
  createWaiting(
    { store: context.store, clock: context.deps.clock, view: await relayView(context) },
    context.account.id,
  )

type Reason = Waiting | null | undefined

const wordOf = (reason: Reason): string | undefined => reason?.reason.replaceAll('_', ' ')

const remediesOf = (reasons: readonly Reason[]): readonly string[] =>
  reasons.flatMap((one) =>
    one == null || one.remedy === null || !STOPPING_REASONS.includes(one.reason)
      ? []
      : [`${one.plain}: ${one.remedy}`],
  )

const sayEach = (terminal: Terminal, lines: Iterable<string>): void => {
  for (const line of new Set(lines)) terminal.say(line)
}

const top = listing({
  path: 'queue top',
  summary: 'How much waits, by pool and workspace',
  examples: [['$0 queue top', '']],
  what: 'mails that wait',
  next: null,
  most: null,
  rows: async (context: CliContext, _args: unknown, terminal: Terminal) => {
    const depths = await queueDepths(context.store, { accountId: context.account.id, workspaceId: null })
    const names = await namesOf(context)
    const why = await whyOf(context)
    const rows = await Promise.all(
      depths.map(async (row) => ({
        row,
        reason: (await why.ofAll(row.workspaceId, row.poolId)) ?? null,
        pool: names.get(row.poolId) ?? row.poolId,
        workspace: names.get(row.workspaceId) ?? row.workspaceId,
      })),
    )
    const reasons = rows.map(({ reason }) => reason)
    return { fetch: whole(rows), after: () => sayEach(terminal, remediesOf(reasons)) }
  },
  record: ({ row, reason }) => record.depth(row, reason, waitingInFull),
  columns: [
    ['pool', 'pool'],
    ['workspace', 'workspace'],
    ['due', ({ row }) => row.due],
    ['under way', ({ row }) => row.leased],
    ['waiting', ({ row }) => row.waiting],
    ['held', ({ row }) => row.held],
    [
      'oldest',
      ({ row: { oldestDueAt: at } }) => (at === null || at > Date.now() ? null : at),
      { time: 'ago' },
    ],
    ['waits for', ({ reason }) => wordOf(reason)],
  ],
})

const nextText = ({ dueAt, underWay }: QueueEntry): string => {
  if (underWay) return 'under way'
  if (dueAt === null) return 'held'
  const left = dueAt - Date.now()
  return left <= 0 ? 'now' : `in ${spanText(left)}`
}

const list = listing({
  path: 'queue list',
  summary: 'Recipients that wait, soonest first; then those under way and those held',
  options: { ...SCOPE, state: { choices: QUEUE_STATES, describe: 'Only these' } },
  examples: [['$0 queue list --domain example.com', 'what waits for that domain, and why']],
  what: 'recipients that wait',
  next: null,
  most: 50,
  rows: async (context, args, terminal) => {
    const filter = { ...(await scopeFor(context, 'list', args, true)), state: args.state ?? null }
    const why = await whyOf(context)
    const remedies = new Set<string>()
    const fetch = each(
      (page) => context.store.queueEntries(filter, page),
      async (rows) => {
        const reasons = await Promise.all(rows.map(why.of))
        for (const line of remediesOf(reasons)) remedies.add(line)
        return rows.map((row, i) => ({ row, reason: reasons[i] ?? null }))
      },
    )
    return { fetch, after: () => sayEach(terminal, remedies) }
  },
  record: ({ row, reason }) => record.entry(row, reason, waitingInFull),
  columns: [
    ['email', ({ row }) => row.emailId],
    ['recipient', ({ row }) => row.address],
    ['status', ({ row }) => row.status, { paint: paintStatus }],
    ['tries', ({ row }) => row.attempts],
    ['next', ({ row }) => nextText(row)],
    ['waits for', ({ reason }) => wordOf(reason)],
    ['last response', ({ row }) => row.lastResponse],
  ],
})

/** Recipients that no hold keeps: a backup, an export, a crash or a suspension does. */
const heldBeside = async ({ store, account }: CliContext): Promise<number> => {
  const holds = new Set((await store.holds(account.id)).map(({ id }) => id))
  const held = await store.heldDepth({ accountId: account.id, workspaceId: null })
  return held.reduce((sum, one) => (holds.has(one.heldBy) ? sum : sum + one.held), 0)
}

const holds = listing({
  path: 'queue holds',
  summary: 'The holds that stand',
  examples: [['$0 queue holds', '']],
  what: 'holds',
  next: null,
  rows: async (context: CliContext, _args: Globals, terminal: Terminal) => {
    const names = await namesOf(context)
    const fetch = each(
      (page) => context.store.listHolds(context.account.id, page),
      (rows) => rows.map((row) => ({ row, what: scopeText(row, names) })),
    )
    const others = await heldBeside(context)
    const say = (): void =>
      terminal.say(
        `${recipients(others)} held by none of these, and postern queue list --state held says why`,
      )
    return { fetch, after: () => others > 0 && say() }
  },
  record: ({ row }) => record.hold(row),
  columns: [
    ['what', 'what'],
    ['why', ({ row }) => row.reason],
    ['since', ({ row }) => row.createdAt, AGO],
    ['id', ({ row }) => row.id],
  ],
})

export const queueSubject: Subject = {
  name: 'queue',
  commands: [
    top,
    ages,
    throttles,
    list,
    holds,
    hold,
    release,
    retry,
    reroute,
    purge,
    exportQueue,
    importQueue,
    lots,
    takeBack,
    forget,
  ],
}
