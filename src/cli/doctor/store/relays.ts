/**
 * NAME      relays - does some daemon carry the mail of every pool?
 * DESCRIPTION
 *   Of several daemons each may leave something out (serve --only, relay.pools). What all of them leave out would wait
 *   without a word.
 */
import { serves } from '../../../relay/share.js'
import type { CliContext } from '../../context.js'
import { collect } from '../../list.js'
import { type Finding, fail } from '../finding.js'

const WAITS = 'start one with relay, or name the pool in relay.pools of one: postern cluster show'

/** While daemons run; that none does is told by another check. */
export const checkRelays = async ({ store, account }: CliContext): Promise<readonly Finding[]> => {
  const writers = store.system === 'sqlite' ? [] : await store.writers()
  if (!writers.some(({ role }) => role === 'main')) return []
  const relays = writers.filter(({ role }) => role === 'relay')
  const pools = await collect((page) => store.pools(account.id, page))
  return pools
    .filter((pool) => pool.kind === 'relay' && !relays.some(({ pools: some }) => serves(some, pool)))
    .map(({ name }) => fail('relay', `no daemon carries the mail of pool ${name}`, WAITS, 69))
}
