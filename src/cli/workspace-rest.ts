/**
 * NAME      workspace-rest - a workspace suspended, resumed, and deleted
 * DESCRIPTION
 *   Each says first how much waits. To suspend asks, or wants --yes off a terminal:
 *   what its programs send from then on is refused. To delete is for good.
 *   --dry-run only looks.
 */

import { removed, workspaceRecord } from '../record/tenants.js'
import type { QueueCount, QueueScope } from '../store/port/operations.js'
import type { WorkspaceRow } from '../store/port/tenants.js'
import { queueMatches } from '../tenant/orders.js'
import { deleteWorkspace, findWorkspace, resumeWorkspace, suspendWorkspace } from '../tenant/workspace.js'
import { command } from './command.js'
import { type CliContext, withContext } from './context.js'
import { queueDeps } from './queue-scope.js'
import type { Terminal } from './terminal.js'

export const REF = { ref: { type: 'string', demandOption: true, describe: 'Id or slug' } } as const

const scopeOf = ({ id, accountId }: WorkspaceRow): QueueScope => ({
  accountId,
  workspaceId: id,
  poolId: null,
  domain: null,
  emailId: null,
})

const countText = ({ waiting, held, underWay }: QueueCount): string =>
  `${waiting} waiting, ${held} held, ${underWay} under way`

/** The workspace; says first what waits in it. */
const findAndCount = async (context: CliContext, terminal: Terminal, ref: string): Promise<WorkspaceRow> => {
  const row = await findWorkspace(context.deps, context.account.id, ref)
  terminal.say(`${row.slug}: ${countText(await queueMatches(queueDeps(context), scopeOf(row)))}`)
  return row
}

/** The row as it is by then, with what the order did. */
const tell = async (context: CliContext, terminal: Terminal, id: string, changed: number, words: string) => {
  const row = await findWorkspace(context.deps, context.account.id, id)
  terminal.data({ ...workspaceRecord(row), changed }, () => `${row.slug}: ${changed} recipients ${words}`)
}

export const suspend = command({
  usage: 'suspend <ref>',
  summary: 'Take no mail for a workspace and let nothing of it leave, until it is resumed',
  positionals: REF,
  options: {
    reason: {
      type: 'string',
      demandOption: true,
      requiresArg: true,
      describe: 'Why; kept with the workspace and in the timeline of each mail',
    },
  },
  destroys: true,
  examples: [['$0 workspace suspend shop-eu --reason "invoice 17 is open" --yes', 'stop a tenant']],
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const row = await findAndCount(context, terminal, args.ref)
      if (args.dryRun)
        return terminal.data({ ...workspaceRecord(row), changed: 0 }, () => `would suspend ${row.slug}`)
      await terminal.confirm(`suspend ${row.slug}; what is sent for it is refused from then on`, args.yes)
      const changed = await suspendWorkspace(context.deps, row, args.reason)
      await tell(context, terminal, row.id, changed, 'rest')
      terminal.say(`until: postern workspace resume ${row.slug}`)
    }),
})

export const resume = command({
  usage: 'resume <ref>',
  summary: 'Take mail for a suspended workspace again, and send what rested',
  positionals: REF,
  destroys: true,
  examples: [['$0 workspace resume shop-eu', '']],
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const row = await findWorkspace(context.deps, context.account.id, args.ref)
      if (args.dryRun)
        return terminal.data({ ...workspaceRecord(row), changed: 0 }, () => `would resume ${row.slug}`)
      await tell(context, terminal, row.id, await resumeWorkspace(context.deps, row), 'go on')
    }),
})

export const remove = command({
  usage: 'delete <ref>',
  summary: 'End a workspace for good: its keys, what waits in it, and within an hour what its people wrote',
  positionals: REF,
  options: {
    reason: {
      type: 'string',
      demandOption: true,
      requiresArg: true,
      describe: 'Why; kept in the timeline of what waited until that is erased',
    },
  },
  destroys: true,
  examples: [['$0 workspace delete shop-eu --reason "contract ended" --yes', 'offboard a tenant']],
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const row = await findAndCount(context, terminal, args.ref)
      const record = {
        ...removed('workspace', row.id),
        deleted: !args.dryRun,
        dry_run: args.dryRun === true,
      }
      if (args.dryRun) return terminal.data(record, () => `would delete ${row.slug}`)
      await terminal.confirm(`delete ${row.slug} for good; no sender is told of what waits`, args.yes)
      await deleteWorkspace(context.deps, row, args.reason)
      terminal.data(record, () => `${row.slug} is deleted; the daemon erases what is left within an hour`)
    }),
})
