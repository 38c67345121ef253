/**
 * NAME      queue-ages - how long mail has waited, and which domains asked for a slower pace
 */
import * as record from '../record/queue.js'
import { AGE_NAMES, QUEUE_GROUPS, type QueueAge } from '../store/port/operations.js'
import { listing, whole } from './list.js'
import { namesOf } from './queue-scope.js'
import { NO_DAEMON, type RelayState, relayState } from './relay-state.js'
import { AGO } from './table.js'

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
  examples: [['$0 queue ages --by recipient_domain', 'which domains keep mail waiting']],
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
