/**
 * NAME      context - what the verbs of one writer share
 * DESCRIPTION
 *   The connection, the small integers behind workspace and pool ids, the set of
 *   hot leases, and the effects of the running batch. Effects are what others
 *   are told after the commit and never before; a rollback forgets them.
 */
import { randomInt } from 'node:crypto'
import { type Clock, systemClock } from '../../../base/clock.js'
import type { Settled } from '../../../lifecycle/facts.js'
import { createHotSet, type HotSet } from '../../sql/mails.js'
import type { Db } from '../connect.js'
import { createGiver, type Giver } from '../order/giver.js'
import { createStatements, type Statements } from '../read/statements.js'
import type { ClaimedArray } from '../thread/wire.js'
import { createHolds, createPauses, type Holds, type Pauses } from './holds.js'

interface Effects {
  due: boolean
  leased: ClaimedArray[]
  settled: Settled[]
}

interface Names {
  workspace(id: string): number
  pool(id: string): number
  /** Of a key or a credential; the first mail of it gives it one. */
  submitter(id: string): number
  workspaceId(n: number): string
  poolId(n: number): string
  /** What the workspace wants done with mail that may have been taken. It can change, so it is read each time. */
  ambiguous(n: number): 'retry' | 'hold'
  forget(): void
}

export interface WriteContext {
  readonly db: Db
  readonly sql: Statements
  /** This run of the writer; leases carry it. */
  readonly boot: number
  readonly names: Names
  /** Of a mail with one recipient it keeps the row that settle.ts would find. */
  readonly hot: HotSet<readonly unknown[]>
  readonly holds: Holds
  readonly pauses: Pauses
  /** Gives each row that is stored its place. */
  readonly order: Giver
  readonly effects: Effects
  forgetEffects(): void
  /** What a rollback makes wrong in memory, its owner puts right here. */
  onRollback(forget: () => void): void
  /** Everything that this batch said to anyone is void. */
  rolledBack(): void
}

/** Ids and row numbers never change, so only a rolled-back insert can make this memory wrong. */
const createNames = (db: Db): Names => {
  const numbers = new Map<string, number>()
  const ids = new Map<string, string>()
  const byId = {
    workspaces: db.prepare<[string], number>('SELECT n FROM workspaces WHERE id = ?').pluck(),
    pools: db.prepare<[string], number>('SELECT n FROM pools WHERE id = ?').pluck(),
  }
  const byNumber = {
    workspaces: db.prepare<[number], string>('SELECT id FROM workspaces WHERE n = ?').pluck(),
    pools: db.prepare<[number], string>('SELECT id FROM pools WHERE n = ?').pluck(),
  }
  const ambiguous = db
    .prepare<[number], 'retry' | 'hold'>('SELECT ambiguous FROM workspaces WHERE n = ?')
    .pluck()
  const number = (of: 'workspaces' | 'pools', id: string): number => {
    const known = numbers.get(id)
    if (known !== undefined) return known
    const n = byId[of].get(id)
    if (n === undefined) throw new Error(`no row ${id} in ${of}`)
    numbers.set(id, n)
    return n
  }
  const id = (of: 'workspaces' | 'pools', n: number): string => {
    const key = `${of}${n}`
    const known = ids.get(key)
    if (known !== undefined) return known
    const found = byNumber[of].get(n)
    if (found === undefined) throw new Error(`no row ${n} in ${of}`)
    ids.set(key, found)
    return found
  }
  const find = db.prepare<[string], number>('SELECT n FROM submitters WHERE id = ?').pluck()
  const add = db.prepare('INSERT INTO submitters (id) VALUES (?)')
  return {
    submitter(of) {
      const n = numbers.get(of) ?? find.get(of) ?? Number(add.run(of).lastInsertRowid)
      numbers.set(of, n)
      return n
    },
    workspace: (ref) => number('workspaces', ref),
    pool: (ref) => number('pools', ref),
    workspaceId: (n) => id('workspaces', n),
    poolId: (n) => id('pools', n),
    ambiguous: (n) => ambiguous.get(n) ?? 'retry',
    forget: () => {
      numbers.clear()
      ids.clear()
    },
  }
}

export const createWriteContext = (db: Db, clock: Clock = systemClock): WriteContext => {
  const effects: Effects = { due: false, leased: [], settled: [] }
  const hot = createHotSet<readonly unknown[]>()
  const names = createNames(db)
  const sql = createStatements(db)
  const forgets: (() => void)[] = [names.forget]
  return {
    db,
    sql,
    boot: randomInt(1, 2 ** 47),
    names,
    hot,
    holds: createHolds(db),
    pauses: createPauses(db, sql.ask),
    order: createGiver(db, clock),
    effects,
    forgetEffects: () => {
      effects.due = false
      effects.leased = []
      effects.settled = []
    },
    onRollback: (forget) => {
      forgets.push(forget)
    },
    rolledBack: () => {
      for (const forget of forgets) forget()
    },
  }
}
