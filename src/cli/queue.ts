/**
 * NAME      queue - what waits, and for how long
 */
import * as record from '../record/queue.js'
import { STOPPING_REASONS, type Waiting, waitingInFull } from '../record/queue.js'
import { QUEUE_STATES } from '../store/port/operations.js'
import { queueDepths } from '../tenant/queue-state.js'
import { createWaiting } from '../tenant/waiting.js'
import { command, type Subject } from './command.js'
import { type CliContext, withContext } from './context.js'
import { ages, throttles } from './queue-ages.js'
import { exportQueue, forget, importQueue, lots, takeBack } from './queue-carry.js'
import { hold, purge, release, reroute, retry } from './queue-orders.js'
import { namesOf, SCOPE, scopeFor, scopeText } from './queue-scope.js'
import { relayView } from './relay-state.js'
import { listed, MOST } from './rows.js'
import { paintStatus, type Terminal, table } from './terminal.js'
import { ago, spanText } from './time.js'

const whyOf = async (context: CliContext) =>
  createWaiting(
    { store: context.store, clock: context.deps.clock, view: await relayView(context) },
    context.account.id,
  )

type Reason = Waiting | null | undefined

const wordOf = (reason: Reason): string | undefined => reason?.reason.replaceAll('_', ' ')

const sayRemedies = (terminal: Terminal, reasons: readonly Reason[]): void => {
  const lines = reasons.flatMap((one) =>
    one == null || one.remedy === null || !STOPPING_REASONS.includes(one.reason)
      ? []
      : [`${one.plain}: ${one.remedy}`],
  )
  for (const line of new Set(lines)) terminal.say(line)
}

const top = command({
  usage: 'top',
  summary: 'How much waits, by pool and workspace',
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const depths = await queueDepths(context.store, { accountId: context.account.id, workspaceId: null })
      const names = await namesOf(context)
      const why = await whyOf(context)
      const reasons = await Promise.all(depths.map((row) => why.ofAll(row.workspaceId, row.poolId)))
      const records = depths.map((row, i) => record.depth(row, reasons[i] ?? null, waitingInFull))
      terminal.data(records, (paint) =>
        table(
          paint,
          ['pool', 'workspace', 'due', 'under way', 'waiting', 'held', 'oldest', 'waits for'],
          depths.map((row, i) => [
            names.get(row.poolId) ?? row.poolId,
            names.get(row.workspaceId) ?? row.workspaceId,
            row.due,
            row.leased,
            row.waiting,
            row.held,
            row.oldestDueAt === null || row.oldestDueAt > Date.now() ? null : ago(row.oldestDueAt),
            wordOf(reasons[i]),
          ]),
        ),
      )
      sayRemedies(terminal, reasons)
      if (depths.length === 0) terminal.say('the queue is empty')
    }),
})

const list = command({
  usage: 'list',
  summary: 'Recipients that wait, soonest first; then those under way and those held',
  options: {
    ...SCOPE,
    state: { choices: QUEUE_STATES, describe: 'Only these' },
    limit: { type: 'number', default: 50, describe: 'How many at most' },
  },
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const scope = await scopeFor(context, 'list', args, true)
      const filter = { ...scope, state: args.state ?? null }
      const rows = await listed(
        (page) => context.store.queueEntries(filter, page),
        { limit: args.limit },
        terminal,
      )
      const why = await whyOf(context)
      const reasons = await Promise.all(rows.map(why.of))
      const records = rows.map((row, i) => record.entry(row, reasons[i] ?? null, waitingInFull))
      const now = Date.now()
      const next = ({ dueAt, underWay }: (typeof rows)[number]): string => {
        if (underWay) return 'under way'
        if (dueAt === null) return 'held'
        return dueAt <= now ? 'now' : `in ${spanText(dueAt - now)}`
      }
      terminal.data(records, (paint) =>
        table(
          paint,
          ['email', 'recipient', 'status', 'tries', 'next', 'waits for', 'last response'],
          rows.map((row, i) => [
            row.emailId,
            row.address,
            row.status,
            row.attempts,
            next(row),
            wordOf(reasons[i]),
            row.lastResponse,
          ]),
          (text, column) => (column === 2 ? paintStatus(paint, text) : text),
        ),
      )
      sayRemedies(terminal, reasons)
    }),
})

const holds = command({
  usage: 'holds',
  summary: 'The holds that stand',
  options: MOST,
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const rows = await listed((page) => context.store.listHolds(context.account.id, page), args, terminal)
      const names = await namesOf(context)
      terminal.data(
        rows.map((row) => record.hold(row)),
        (paint) =>
          table(
            paint,
            ['what', 'why', 'since', 'id'],
            rows.map((row) => [scopeText(row, names), row.reason, ago(row.createdAt), row.id]),
          ),
      )
      if (rows.length === 0) terminal.say('nothing is held by an order')
    }),
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
