/**
 * NAME      queue-orders - the queue's verbs that change it
 * DESCRIPTION
 *   Each says first what it will meet. What cannot be taken back (purge, reroute)
 *   asks, or wants --yes off a terminal; --dry-run only looks. The reason ends up
 *   in the timeline of every mail that was touched. What is on the wire at that
 *   moment is never touched.
 */
import type { QueueAction, QueueCount, QueueScope } from '../store/port-operations.js'
import { holdQueue, orderQueue, queueMatches } from '../tenant/queue/orders.js'
import { type Consent, command, type Globals } from './command.js'
import { type House, withHouse } from './context.js'
import { namesOf, queueGround, SCOPE, scopeFor, scopeRecord, scopeText } from './queue-scope.js'
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

const perform = async (house: House, { verb, scope, reason, to }: Plan) => {
  const ground = queueGround(house)
  if (verb !== 'hold') return { hold: null, changed: await orderQueue(ground, verb, scope, reason, to) }
  const { hold, changed } = await holdQueue(ground, scope, reason)
  return { hold: hold.id, changed }
}

const DONE: Readonly<Record<Verb, string>> = {
  hold: 'held',
  release: 'released',
  retry: 'due now',
  reroute: 'rerouted',
  purge: 'purged',
}

const carryOut = async (
  house: House,
  terminal: Terminal,
  args: Globals & Consent,
  plan: Plan,
): Promise<void> => {
  const { verb, scope, to } = plan
  const count = await queueMatches(queueGround(house), scope)
  const where = scopeText(scope, await namesOf(house))
  terminal.say(`${where}: ${matchText(count)}`)
  const record = {
    action: verb,
    ...scopeRecord(scope),
    to,
    matched: { waiting: count.waiting, held: count.held, under_way: count.underWay },
    dry_run: args.dryRun === true,
  }
  if (args.dryRun) {
    terminal.data({ ...record, hold_id: null, changed: 0 }, () => {
      return `would ${verb} ${concerned(verb, count)} of ${where}`
    })
    return
  }
  if (plan.asks) {
    const target = to === null ? '' : ` to ${to}`
    await terminal.confirm(`${verb} ${concerned(verb, count)} of ${where}${target}`, args.yes)
  }
  const { hold, changed } = await perform(house, plan)
  terminal.data({ ...record, hold_id: hold, changed }, () => `${changed} ${DONE[verb]}`)
  if (hold !== null) terminal.say(`it stands (${hold}) until: postern queue release, with the same scope`)
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
    withHouse(args, async (house) => {
      const scope = await scopeFor(house, 'hold', args)
      const plan = { verb: 'hold', scope, reason: args.reason, to: null, asks: false } as const
      await carryOut(house, terminal, args, plan)
    }),
})

const plain = (verb: 'release' | 'retry', summary: string, unsaid: string) =>
  command({
    usage: verb,
    summary,
    options: { ...SCOPE, reason: REASON },
    destroys: true,
    run: (args, terminal) =>
      withHouse(args, async (house) => {
        const scope = await scopeFor(house, verb, args)
        const plan = { verb, scope, reason: args.reason ?? unsaid, to: null, asks: false }
        await carryOut(house, terminal, args, plan)
      }),
  })

export const release = plain('release', 'Lift a hold of this scope, and let its mail go on', 'released')
export const retry = plain('retry', 'Try at once what would be tried later', 'retried')

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
    withHouse(args, async (house) => {
      const scope = await scopeFor(house, 'reroute', args)
      const plan = { verb: 'reroute', scope, reason: args.reason, to: args.to, asks: true } as const
      await carryOut(house, terminal, args, plan)
    }),
})

export const purge = command({
  usage: 'purge',
  summary: 'Give up what waits: it becomes bounced, or canceled while scheduled',
  options: { ...SCOPE, reason: NEEDED },
  destroys: true,
  run: (args, terminal) =>
    withHouse(args, async (house) => {
      const scope = await scopeFor(house, 'purge', args)
      const plan = { verb: 'purge', scope, reason: args.reason, to: null, asks: true } as const
      await carryOut(house, terminal, args, plan)
    }),
})
