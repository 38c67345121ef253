/**
 * NAME      queue-ages - how long mail has waited, and which domains asked for a slower pace
 */
import * as record from '../record/queue.js'
import { AGE_NAMES, QUEUE_GROUPS } from '../store/port/operations.js'
import { command } from './command.js'
import { withContext } from './context.js'
import { namesOf } from './queue-scope.js'
import { relayState } from './relay-state.js'
import { table } from './terminal.js'
import { ago } from './time.js'

const MOST_LOOKED_AT = 100_000

export const ages = command({
  usage: 'ages',
  summary: 'How long what waits has waited, by pool, workspace or recipient domain',
  options: { by: { choices: QUEUE_GROUPS, default: 'pool', describe: 'What the rows are' } },
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const of = { accountId: context.account.id, workspaceId: null }
      const by = QUEUE_GROUPS.find((one) => one === args.by) ?? 'pool'
      const found = await context.store.queueAges(of, by, MOST_LOOKED_AT, Date.now())
      const names = await namesOf(context)
      terminal.data(found.rows.map(record.queueAge), (paint) =>
        table(
          paint,
          [by, 'waiting', ...AGE_NAMES.map((name) => name.replace('_', ' ')), 'oldest', 'last response'],
          found.rows.map((row) => [
            names.get(row.key) ?? row.key,
            row.recipients,
            ...row.ages,
            ago(row.oldestAt),
            row.lastResponse,
          ]),
        ),
      )
      if (found.scheduled > 0) terminal.say(`${found.scheduled} more wait for a time of their own`)
      if (!found.complete) terminal.say(`more wait than the ${MOST_LOOKED_AT} that were looked at`)
      if (found.rows.length === 0) terminal.say('nothing waits')
    }),
})

export const throttles = command({
  usage: 'throttles',
  summary: 'Recipient domains that asked the running daemon for a slower pace',
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const state = await relayState(context)
      const rows = state?.throttled ?? []
      const names = await namesOf(context)
      terminal.data(rows, (paint) =>
        table(
          paint,
          ['domain', 'pool', 'at once', 'paused until', 'since', 'because it said'],
          rows.map((row) => [
            row.domain,
            names.get(row.egress_pool_id) ?? row.egress_pool_id,
            row.at_once,
            row.until,
            ago(Date.parse(row.since)),
            row.last_response,
          ]),
        ),
      )
      if (state === null) terminal.say('no daemon answers')
      else if (rows.length === 0) terminal.say('no domain keeps mail waiting')
    }),
})
