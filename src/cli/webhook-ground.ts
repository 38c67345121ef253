/**
 * NAME      webhook-ground - what the commands about webhooks stand on
 */
import { diallerOf } from '../base/dial/settings.js'
import type { HookGround, HookScope } from '../webhook/endpoint/ground.js'
import type { Globals } from './command.js'
import { type House, withHouse } from './context.js'

export interface HookHouse extends House {
  readonly hooks: HookGround
}

export const ENDPOINT = {
  id: { type: 'string', demandOption: true, describe: 'Its id, wh_…' },
} as const

/** The command line sees all of the account. */
export const scopeOf = ({ account }: House): HookScope => ({
  accountId: account.id,
  workspaceId: null,
  mode: null,
})

export const withHooks = <T>(args: Globals, use: (house: HookHouse) => Promise<T>): Promise<T> =>
  withHouse(args, async (house) => {
    const { store, ground, config } = house
    const dialler = diallerOf(config)
    try {
      return await use({ ...house, hooks: { store, pepper: ground.pepper, clock: ground.clock, dialler } })
    } finally {
      await dialler.close()
    }
  })
