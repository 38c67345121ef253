/**
 * NAME      audit - who changed what, from the command line
 */
import { auditEntry } from '../record/tenants.js'
import type { AuditFilter, AuditRow } from '../store/port/identity.js'
import { command, type Subject } from './command.js'
import { withContext } from './context.js'
import { listed } from './rows.js'
import { tableOf } from './terminal.js'
import { readPast } from './time.js'

const rowsTable = tableOf<AuditRow>([
  ['at', ({ at }) => new Date(at).toISOString()],
  ['who', ({ actor }) => actor.name ?? actor.id],
  ['from', ({ actor }) => actor.address ?? actor.kind],
  ['action', 'action'],
  ['what', ({ object }) => object.id ?? object.type],
  ['detail', ({ detail }) => JSON.stringify(detail)],
])

const list = command({
  usage: 'list',
  summary: 'Who changed what, when and from where, newest first',
  options: {
    action: { type: 'string', describe: 'An action, or how it begins: api_key' },
    actor: { type: 'string', describe: 'Id of a person, key or session, or cli:UID' },
    target: { type: 'string', describe: 'Id of what was changed' },
    workspace: { type: 'string', describe: 'Id of a workspace' },
    since: { type: 'string', describe: 'From then on: 2h, or 2027-01-31T00:00:00Z' },
    until: { type: 'string', describe: 'Before then' },
    limit: { type: 'number', default: 100, describe: 'No more than so many' },
  },
  examples: [['$0 audit list --since 7d --action queue', 'what was done to the queue in a week']],
  run: (args, terminal) =>
    withContext(args, async ({ store, account }) => {
      const filter: AuditFilter = {
        action: args.action ?? null,
        actorId: args.actor ?? null,
        objectId: args.target ?? null,
        workspaceId: args.workspace ?? null,
        since: readPast('since', args.since),
        until: readPast('until', args.until),
      }
      const rows = await listed((page) => store.audit(account.id, filter, page), args, terminal)
      terminal.data(rows.map(auditEntry), (paint) => rowsTable(paint, rows))
    }),
})

export const auditSubject: Subject = { name: 'audit', commands: [list] }
