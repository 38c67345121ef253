/**
 * NAME      cluster - the daemons that share a database
 * DESCRIPTION
 *   Read from the database itself, so it also answers where no daemon runs here. This command is not listed.
 */
import { cluster } from '../record/queue-state.js'
import { command, type Subject } from './command.js'
import { withContext } from './context.js'
import { tableOf } from './table.js'
import { spanText } from './time.js'

type Daemon = ReturnType<typeof cluster>['daemons'][number]

const daemonTable = tableOf<Daemon>([
  ['daemon', ({ id }) => id.slice(0, 8)],
  ['host', 'host'],
  ['version', 'version'],
  ['writers', ({ writers }) => writers.map(({ role, number }) => `${role} ${number}`).join(', ')],
  ['share', ({ share }) => (share === null ? '' : `${share.part} of ${share.of}`)],
  ['pools', ({ pools }) => pools?.join(', ') ?? 'all'],
  ['heard', ({ lag_ms: lag }) => `${spanText(lag)} ago`],
])

const show = command({
  usage: 'show',
  summary: 'Which daemons share this database, and how they are doing',
  examples: [['$0 cluster show', '']],
  run: (args, terminal) =>
    withContext(args, async ({ store }) => {
      const isLocal = store.system === 'sqlite'
      const writers = await store.writers()
      const { self } = store.cluster()
      const others = isLocal ? writers : writers.filter(({ n }) => n !== self)
      const putBack = (await store.serverState())?.putBack ?? null
      const record = cluster({ system: store.system, writers: others, putBack })
      terminal.data(record, (paint) => {
        if (isLocal) return 'SQLite: one daemon at a time has the store to itself'
        return record.daemons.length === 0 ? 'no daemon runs' : daemonTable(paint, record.daemons)
      })
      if (record.put_back !== null)
        terminal.say(
          `the database was put back at ${record.put_back.at}, without the last ${spanText(record.put_back.lost_ms)}: mail acknowledged then may be lost`,
        )
      if (!record.same_settings) terminal.say('their settings differ: postern doctor on each host says which')
    }),
})

export const clusterSubject: Subject = { name: 'cluster', commands: [show] }
