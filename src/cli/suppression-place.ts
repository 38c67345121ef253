/**
 * NAME      suppression-place - which list of suppressions a command is about
 */
import { type ListPlace, listOfAccount, listOfWorkspace } from '../tenant/suppression.js'
import { findWorkspace } from '../tenant/workspace.js'
import type { OptionArgs } from './command.js'
import type { CliContext } from './context.js'
import { usage } from './exit.js'

export const PLACE = {
  workspace: { type: 'string', default: 'default', describe: 'Workspace, by id or slug' },
  account: { type: 'boolean', default: false, describe: 'The list that holds for every workspace' },
  mode: { choices: ['live', 'test'], default: 'live', describe: 'The list for live or for test mail' },
} as const

export const LIST = {
  list: { type: 'string', describe: 'Only for the mail of this mailing list' },
} as const

export type PlaceArgs = OptionArgs<typeof PLACE>

export const placeOf = async ({ deps, account }: CliContext, args: PlaceArgs): Promise<ListPlace> => {
  if (!args.account) {
    const workspace = await findWorkspace(deps, account.id, args.workspace)
    return listOfWorkspace(workspace, args.mode === 'test' ? 'test' : 'live')
  }
  if (args.mode === 'test') throw usage('--account: test mail has no list for the whole account')
  return listOfAccount(account.id)
}
