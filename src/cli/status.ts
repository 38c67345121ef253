/**
 * NAME      status - whether mail flows, in the sentences that the dashboard and the API say
 * DESCRIPTION
 *   Asked of the store, and of the relay of the running daemon where one answers. Ends with 69 where a pool
 *   sends nothing that nobody held, so that a script sees it, too. Alarms of workspaces follow; they are of live mail.
 */
import { queueStateRecord } from '../record/queue-state.js'
import { workspaceRecord } from '../record/tenants.js'
import type { WorkspaceRow } from '../store/port/tenants.js'
import { queueStates } from '../tenant/queue-state.js'
import { findWorkspace } from '../tenant/workspace.js'
import { command } from './command.js'
import { type CliContext, withContext } from './context.js'
import { relayView } from './relay-state.js'
import { standingAlarms } from './workspace-alarms.js'

/** Of one workspace (null: of all), those of which too much goes wrong. */
const alarmedIn = async (
  { store, account }: CliContext,
  workspaceId: string | null,
): Promise<readonly WorkspaceRow[]> => {
  const standing = await store.standingAlarms()
  const ids = new Set(standing.map((one) => one.workspaceId).filter((id) => id === (workspaceId ?? id)))
  const rows = await Promise.all([...ids].map((id) => store.workspace(account.id, id)))
  return rows.filter((row) => row !== null)
}

export const statusCommand = command({
  usage: 'status',
  summary: 'Whether mail flows: what waits, what is held and by what, and which pool is down',
  options: {
    workspace: { type: 'string', describe: 'Only its mail, by id or slug' },
    test: { type: 'boolean', describe: 'Of test mail' },
  },
  run: (args, terminal) =>
    withContext(args, async (context) => {
      const { store, deps, account } = context
      const { clock } = deps
      const workspaceId =
        args.workspace === undefined ? null : (await findWorkspace(deps, account.id, args.workspace)).id
      const of = { accountId: account.id, workspaceId, isOperator: true }
      const states = await queueStates({ store, clock, view: await relayView(context), hasRelay: true }, of)
      const state = queueStateRecord(args.test === true ? states.test : states.live, clock.now())
      const rows = args.test === true ? [] : await alarmedIn(context, workspaceId)
      const alarms = rows.flatMap((row) =>
        workspaceRecord(row).alarmed.map((one) => ({ workspace_id: row.id, ...one })),
      )
      terminal.data({ ...state, alarms }, (paint) => {
        const { tone, title, says } = state
        const colour = { ok: paint.green, wait: paint.yellow, bad: paint.red }[tone]
        const told = rows.flatMap((row) => standingAlarms(row).map((said) => `alarm: ${row.slug}: ${said}`))
        return [colour(title), says, ...told.map(paint.red)].join('\n')
      })
      return state.tone === 'bad' ? 69 : 0
    }),
})
