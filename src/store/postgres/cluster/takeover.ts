/**
 * NAME      takeover - what becomes of writers that are dead
 * DESCRIPTION
 *   Its epoch is ended, so that it stores nothing more, and its leases are recovered in the same transaction: in later
 *   statements, which see what it stored last. Its sessions are told to end first: one that was stopped in the middle of a
 *   transaction would keep its row locked. But for one that waits for a synchronous standby: its transaction is in, and
 *   whoever waits for its row learns that.
 */

import { type Asking, all, first, run } from '../../sql/query.js'
import type { Places } from '../../sql/table.js'
import type { Effects } from '../hints.js'
import { type Recovered, recovering } from '../settle/recover.js'

export interface Dead {
  readonly n: number
  readonly boot: number
  readonly heartbeat: number
  readonly owner: string
}

/** By which the sessions of a daemon are known. */
export const sessionName = (owner: string, part: string | number): string =>
  `postern/${owner.slice(0, 8)}/${part}`

/** This session is that of a writer. */
export const nameSession = (owner: string, boot: number): Asking<unknown> =>
  first("SELECT set_config('application_name', ?, false)", sessionName(owner, boot))

/** All others of these writers. */
export const endSessions = (owner: string, boots: readonly number[]): Asking<unknown> =>
  all(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = ANY(CAST(? AS TEXT[])) AND pid <> pg_backend_pid() AND datname = current_database()
       AND wait_event IS DISTINCT FROM 'SyncRep'`,
    boots.map((boot) => sessionName(owner, boot)),
  )

/** What a daemon that was killed has left; only who has the lock of its data folder knows that it is dead. */
export function* endPredecessor(owner: string): Asking<void> {
  const boots = (yield* all('SELECT boot FROM writers WHERE owner = ?', owner)).map(({ boot }) =>
    Number(boot),
  )
  if (boots.length === 0) return
  yield* endSessions(owner, boots)
  yield* run('UPDATE writers SET epoch = epoch + 1, owner = NULL, boot = NULL WHERE owner = ?', owner)
}

const END = `UPDATE writers SET epoch = epoch + 1, owner = NULL, boot = NULL
  WHERE n = ? AND boot = ? AND heartbeat = ?`

export const takingOver = (places: Places, effects: Effects) => {
  const { ofBoots, ofNobody } = recovering(places, effects)
  return {
    ofNobody,
    /** Null when it was not any more as it had been seen. */
    *takeOver({ n, boot, heartbeat }: Dead, now: number): Asking<Recovered | null> {
      const isEnded = (yield* run(END, n, boot, heartbeat)) === 1
      return isEnded ? yield* ofBoots([boot], now) : null
    },
  }
}
