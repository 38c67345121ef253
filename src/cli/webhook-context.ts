/**
 * NAME      webhook-context - what the commands about webhooks need
 */
import { diallerOf } from '../base/dial/settings.js'
import type { HookGround, HookScope } from '../webhook/endpoint/ground.js'
import type { Globals } from './command.js'
import { type CliContext, withContext } from './context.js'

export interface WebhookContext extends CliContext {
  readonly hooks: HookGround
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
    const { store, ground, config } = context
    const dialler = diallerOf(config)
    try {
      return await use({ ...context, hooks: { store, pepper: ground.pepper, clock: ground.clock, dialler } })
    } finally {
      await dialler.close()
    }
  })
