/**
 * NAME      incident - addresses that bounced for good at the same time, from the command line
 */
import { incidentText, incident as record } from '../record/queue.js'
import type { Decision, KnownIncident } from '../store/port/watch.js'
import { decideIncident, findIncident } from '../tenant/suppression.js'
import { command } from './command.js'
import { withContext } from './context.js'
import { listed, MOST } from './rows.js'
import { tableOf } from './terminal.js'

const rowsTable = tableOf<KnownIncident>([
  ['id', 'id'],
  ['domain', ({ domain }) => (domain === '' ? 'several' : domain)],
  ['said', ({ said }) => (said === '' ? 'several texts' : said)],
  ['refused', incidentText],
  ['pending', 'pending'],
  ['since', ({ createdAt }) => new Date(createdAt).toISOString()],
  ['decision', ({ decision }) => decision ?? 'open'],
])

const incidents = command({
  usage: 'incidents [id]',
  summary: 'Hard bounces that came together, whose suppressions wait for a decision, newest first',
  positionals: { id: { type: 'string', describe: 'Only this one, inc_…' } },
  options: { all: { type: 'boolean', describe: 'Also those that are decided' }, limit: MOST.limit },
  run: (args, terminal) =>
    withContext(args, async ({ store, account }) => {
      if (args.id !== undefined) {
        const row = await findIncident(store, account.id, args.id, null)
        return terminal.data(record(row), (paint) => rowsTable(paint, [row]))
      }
      const rows = await listed(
        (page) => store.incidents(account.id, null, args.all !== true, page),
        { limit: args.limit },
        terminal,
      )
      terminal.data(rows.map(record), (paint) => rowsTable(paint, rows))
    }),
})

const deciding = (verb: string, decision: Decision, summary: string, done: string) =>
  command({
    usage: `${verb} <incident>`,
    summary,
    positionals: { incident: { type: 'string', demandOption: true, describe: 'Its id, inc_…' } },
    run: (args, terminal) =>
      withContext(args, async ({ deps, store, account }) => {
        const find = () => findIncident(store, account.id, args.incident, null)
        const many = await decideIncident(deps, await find(), decision)
        terminal.data(record(await find()), () => `${many} addresses ${done}`)
      }),
  })

export const incidentCommands = [
  incidents,
  deciding('accept', 'accepted', 'The addresses of an incident are dead: suppress them', 'are suppressed'),
  deciding('dismiss', 'dismissed', 'The addresses of an incident live: forget its suppressions', 'go on'),
]
