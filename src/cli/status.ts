/**
 * NAME      status - whether mail flows, in the sentences that the dashboard and the API say
 * DESCRIPTION
 *   Asked of the store, and of the relay of the running daemon where one answers. Ends with 69 where a pool
 *   sends nothing that nobody held, so that a script sees it, too.
 */
import { queueStateRecord } from '../record/queue-state.js'
import { queueStates } from '../tenant/queue/state.js'
import { findWorkspace } from '../tenant/workspace.js'
import { command } from './command.js'
import { withContext } from './context.js'
import { relayView } from './relay-state.js'

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
      terminal.data(state, (paint) => {
        const { tone, title, says } = state
        const colour = { ok: paint.green, wait: paint.yellow, bad: paint.red }[tone]
        return `${colour(title)}\n${says}`
      })
      return state.tone === 'bad' ? 69 : 0
    }),
})
