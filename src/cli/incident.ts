/**
 * NAME      incident - addresses that bounced for good at the same time, from the command line
 */
import { incidentText, incident as record } from '../record/queue.js'
import type { Decision, KnownIncident } from '../store/port/watch.js'
import { decideIncident, findIncident } from '../tenant/suppression.js'
import { type Command, command, type Globals } from './command.js'
import { withContext } from './context.js'
import { listing } from './list.js'
import { AT, type Columns, tableOf } from './table.js'

const COLUMNS: Columns<KnownIncident> = [
  ['id', 'id'],
  ['domain', ({ domain }) => (domain === '' ? 'several' : domain)],
  ['said', ({ said }) => (said === '' ? 'several texts' : said)],
  ['refused', incidentText],
  ['pending', 'pending'],
  ['since', 'createdAt', AT],
  ['decision', ({ decision }) => decision ?? 'open'],
]

const all = listing({
  path: 'suppression incidents [id]',
  summary: 'Hard bounces that came together, whose suppressions wait for a decision, newest first',
  positionals: { id: { type: 'string', describe: 'Only this one, inc_…' } },
  options: { all: { type: 'boolean', describe: 'Also those that are decided' } },
  examples: [['$0 suppression incidents --all', 'also those of before']],
  what: 'incidents',
  next: null,
  rows:
    ({ store, account }, args) =>
    (page) =>
      store.incidents(account.id, null, args.all !== true, page),
  record,
  columns: COLUMNS,
})

const incidents: Command = {
  ...all,
  /** One that is named is one record, and no list. */
  run: async (args, terminal) => {
    const { id, ...globals } = args as Globals & { readonly id?: string }
    if (id === undefined) return all.run(args, terminal)
    await withContext(globals, async ({ store, account }) => {
      const row = await findIncident(store, account.id, id, null)
      terminal.data(record(row), (paint) => tableOf(COLUMNS)(paint, [row]))
    })
    return undefined
  },
}

const deciding = (verb: string, decision: Decision, summary: string, done: string) =>
  command({
    usage: `${verb} <incident>`,
    summary,
    examples: [[`$0 suppression ${verb} inc_01…`, '']],
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
