/**
 * NAME      context - what the verbs of one writer share
 *   The connection, the small integers behind workspace and pool ids, the set of hot leases, and the effects of the
 *   running batch. Effects are what others are told after the commit and never before; a rollback forgets them.
 */
import { randomInt } from 'node:crypto'
import { type Clock, systemClock } from '../../../base/clock.js'
import type { Claimed, Settled } from '../../../lifecycle/facts.js'
import { type Pause, waitsSince } from '../../../lifecycle/orders.js'
import { createHotSet, type HotSet } from '../../sql/mails.js'
import { holdOver, type RecipientStanding, STANDING_HOLDS, type StandingHold } from '../../sql/orders.js'
import type { Ask } from '../../sql/query.js'
import { notePauses } from '../../sql/schedule.js'
import type { Db } from '../connect.js'
import { createGiver, type Giver } from '../giver.js'
import { createStatements, type Statements } from '../statements.js'

// What must not leave now, and the pauses of each workspace. Holds, and the workspaces that are suspended, in the
// writer's memory. Other processes write holds too, so they are read again in each transaction: a few microseconds
// for a table that is nearly always empty. They are asked wherever mail could leave: when it is accepted hot, when it
// is claimed, and before its MAIL.

interface Holds {
  /** Reads them anew: at the start of a transaction, and after writing one. */
  look(): void
  readonly any: boolean
  /** The hold that keeps this recipient, or null. */
  over(recipient: RecipientStanding): StandingHold | null
  /** True while a hold of this id stands, or a workspace of this id is suspended. */
  has(id: string | null): boolean
}

const createHolds = (db: Db): Holds => {
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

export interface Pauses {
  /** Pools have changed: writes down which are paused by now, and which no more. */
  note(now: number): void
  /** Since when a mail in this pool would wait if nothing had been paused, and when the last pause of it ended. */
  of(pool: number, now: number): (queuedAt: number) => readonly [queuedAt: number, resumedAt: number | null]
  /** Newest first. */
  list(pool: number): readonly Pause[]
}

const createPauses = (db: Db, ask: Ask): Pauses => {
  const read = db
    .prepare<[number], [...Pause]>(
      'SELECT paused_at, resumed_at FROM pauses WHERE pool = ? ORDER BY paused_at DESC',
    )
    .raw()
  return {
    note: (now) => ask(notePauses(now)),
    of(pool, now) {
      const pauses = read.all(pool)
      return (queuedAt) => waitsSince(pauses, queuedAt, now)
    },
    list: (pool) => read.all(pool),
  }
}

interface Effects {
  due: boolean
  leased: Claimed[]
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
