/**
 * NAME      audit - who changed what, from the command line
 */
import { auditEntry } from '../resource/people.js'
import type { AuditFilter } from '../store/port/identity.js'
import type { Subject } from './command.js'
import { listing } from './list.js'
import { AT, readPast } from './table.js'

const list = listing({
  path: 'audit list',
  summary: 'Who changed what, when and from where, newest first',
  options: {
    action: { type: 'string', describe: 'An action, or how it begins: api_key' },
    actor: { type: 'string', describe: 'Id of a person, key or session, or cli:UID' },
    target: { type: 'string', describe: 'Id of what was changed' },
    workspace: { type: 'string', describe: 'Id of a workspace' },
    since: { type: 'string', describe: 'From then on: 2h, or 2027-01-31T00:00:00Z' },
    until: { type: 'string', describe: 'Before then' },
  },
  examples: [['$0 audit list --since 7d --action queue', 'what was done to the queue in a week']],
  what: 'entries',
  next: null,
  most: 100,
  rows: ({ store, account }, args) => {
    const filter: AuditFilter = {
      action: args.action ?? null,
      actorId: args.actor ?? null,
      objectId: args.target ?? null,
      workspaceId: args.workspace ?? null,
      since: readPast('since', args.since),
      until: readPast('until', args.until),
    }
    return (page) => store.audit(account.id, filter, page)
  },
  record: auditEntry,
  columns: [
    ['at', 'at', AT],
    ['who', ({ actor }) => actor.name ?? actor.id],
    ['from', ({ actor }) => actor.address ?? actor.kind],
    ['action', 'action'],
    ['what', ({ object }) => object.id ?? object.type],
    ['detail', ({ detail }) => JSON.stringify(detail)],
  ],
})

export const auditSubject: Subject = { name: 'audit', commands: [list] }
