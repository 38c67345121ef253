/**
 * NAME      queue-orders - the queue's verbs that change it
 * DESCRIPTION
 *   Each says first what it will meet. What cannot be taken back (purge, reroute)
 *   asks, or wants --yes off a terminal; --dry-run only looks. The reason ends up
 *   in the timeline of every mail that was touched. What is on the wire at that
 *   moment is never touched.
 */
import * as record from '../record/queue.js'
import { removed } from '../record/tenants.js'
import type { QueueAction, QueueCount, QueueScope } from '../store/port/operations.js'
import { findHold, holdQueue, orderQueue, queueMatches, releaseHold } from '../tenant/orders.js'
import { type Consent, command, type Globals } from './command.js'
import { type CliContext, withContext } from './context.js'
import { usage } from './exit.js'
import { isNamed, namesOf, queueDeps, SCOPE, scopeFor, scopeText } from './queue-scope.js'
import { wakeRelay } from './relay-state.js'
import type { Terminal } from './terminal.js'

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

export const hold = command({
  usage: 'hold',
  summary: 'Let nothing of this leave, now and later, until it is released',
  options: { ...SCOPE, reason: NEEDED },
  destroys: true,
  examples: [['$0 queue hold --domain example.com --reason "they asked us to stop"', 'hold what goes there']],
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const scope = await scopeFor(context, 'hold', args)
      const plan = { verb: 'hold', scope, reason: args.reason, to: null, asks: false } as const
      await carryOut(context, terminal, args, plan)
    }),
})

const plan = (verb: 'release' | 'retry', scope: QueueScope, reason: string) =>
  ({ verb, scope, reason, to: null, asks: false }) as const

export const release = command({
  usage: 'release [hold]',
  summary: 'Lift a hold, by its id or by its scope, and let its mail go on',
  positionals: { hold: { type: 'string', describe: 'Its id, as queue holds shows it' } },
  options: { ...SCOPE, reason: REASON },
  destroys: true,
  examples: [
    ['$0 queue release --domain example.com', ''],
    ['$0 queue release hold_01…', 'by its id'],
  ],
  run: (args, terminal) =>
    withContext(args, async (context) => {
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
    }),
})

export const retry = command({
  usage: 'retry',
  summary: 'Try at once what would be tried later',
  options: { ...SCOPE, reason: REASON },
  destroys: true,
  examples: [['$0 queue retry --domain example.com', 'their server is back']],
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const scope = await scopeFor(context, 'retry', args)
      await carryOut(context, terminal, args, plan('retry', scope, args.reason ?? 'retried'))
    }),
})

export const reroute = command({
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
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const scope = await scopeFor(context, 'reroute', args)
      const plan = { verb: 'reroute', scope, reason: args.reason, to: args.to, asks: true } as const
      await carryOut(context, terminal, args, plan)
    }),
})

export const purge = command({
  usage: 'purge',
  summary: 'Give up what waits: it becomes bounced, or canceled while scheduled',
  options: { ...SCOPE, reason: NEEDED },
  destroys: true,
  examples: [['$0 queue purge --workspace shop --reason "sent by mistake" --dry-run', 'see first how many']],
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const scope = await scopeFor(context, 'purge', args)
      const plan = { verb: 'purge', scope, reason: args.reason, to: null, asks: true } as const
      await carryOut(context, terminal, args, plan)
    }),
})
