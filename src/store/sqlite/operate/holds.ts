/**
 * NAME      holds - the holds that stand
 * DESCRIPTION
 *   Holds, and the workspaces that are suspended, in the writer's memory. Other processes
 *   write holds too, so they are read again in each transaction: a few microseconds for a
 *   table that is nearly always empty. They are asked wherever mail could leave: when it
 *   is accepted hot, when it is claimed, and before its MAIL.
 */
import { holdOver, STANDING_HOLDS, type Standing, type StandingHold } from '../../sql/orders.js'
import type { Db } from '../connect.js'

export interface Holds {
  /** Reads them anew: at the start of a transaction, and after writing one. */
  look(): void
  readonly any: boolean
  /** The hold that keeps this recipient, or null. */
  over(recipient: Standing): StandingHold | null
  /** True while a hold of this id stands, or a workspace of this id is suspended. */
  has(id: string | null): boolean
}

export const createHolds = (db: Db): Holds => {
  const read = db.prepare<[], StandingHold>(STANDING_HOLDS)
  const accountOf = db.prepare<[number], string>('SELECT account_id FROM workspaces WHERE n = ?').pluck()
  let standing: readonly StandingHold[] = []

  let accounts = new Map<number, string>()
  const accountIdOf = (workspace: number): string => {
    const known = accounts.get(workspace) ?? accountOf.get(workspace) ?? ''
    accounts.set(workspace, known)
    return known
  }

  return {
    look: () => {
      standing = read.all()
      accounts = new Map()
    },
    get any() {
      return standing.length > 0
    },
    over: (one) => holdOver(standing, accountIdOf(one.workspace), one),
    has: (id) => standing.some((hold) => hold.id === id),
  }
}
