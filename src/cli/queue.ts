/**
 * NAME      queue - what waits, and for how long
 */
import * as record from '../record/queue.js'
import { STOPPING_REASONS, type Waiting, waitingInFull } from '../record/queue.js'
import { QUEUE_STATES, type QueueEntry } from '../store/port/operations.js'
import { queueDepths } from '../tenant/queue-state.js'
import { createWaiting } from '../tenant/waiting.js'
import type { Subject } from './command.js'
import type { CliContext } from './context.js'
import { each, listing, whole } from './list.js'
import { ages, throttles } from './queue-ages.js'
import { exportQueue, forget, importQueue, lots, takeBack } from './queue-carry.js'
import { hold, purge, release, reroute, retry } from './queue-orders.js'
import { namesOf, SCOPE, scopeFor, scopeText } from './queue-scope.js'
import { relayView } from './relay-state.js'
import { AGO, paintStatus } from './table.js'
import type { Terminal } from './terminal.js'
import { spanText } from './time.js'

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
  rows: async (context, _args, terminal) => {
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

const holds = listing({
  path: 'queue holds',
  summary: 'The holds that stand',
  examples: [['$0 queue holds', '']],
  what: 'holds',
  next: null,
  rows: async (context) => {
    const names = await namesOf(context)
    return each(
      (page) => context.store.listHolds(context.account.id, page),
      (rows) => rows.map((row) => ({ row, what: scopeText(row, names) })),
    )
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
