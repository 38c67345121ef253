/**
 * NAME      webhook-context - what the commands about webhooks need
 */
import { diallerOf } from '../base/dial/settings.js'
import type { HookDeps, HookScope } from '../webhook/endpoint/deps.js'
import type { Globals } from './command.js'
import { type CliContext, withContext } from './context.js'

export interface WebhookContext extends CliContext {
  readonly hooks: HookDeps
}

export const ENDPOINT = {
  id: { type: 'string', demandOption: true, describe: 'Its id, wh_…' },
} as const

/** The command line sees all of the account. */
export const scopeOf = ({ account }: CliContext): HookScope => ({
  accountId: account.id,
  workspaceId: null,
  mode: null,
})

export const withHooks = <T>(args: Globals, use: (context: WebhookContext) => Promise<T>): Promise<T> =>
  withContext(args, async (context) => {
    const { store, deps, config } = context
    const dialler = diallerOf(config)
    try {
      return await use({ ...context, hooks: { store, pepper: deps.pepper, clock: deps.clock, dialler } })
    } finally {
      await dialler.close()
    }
  })
