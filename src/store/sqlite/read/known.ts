/**
 * NAME      known - what is asked for with each mail, kept for a moment
 *   A read by itself takes SQLite's locks and forgets the pages of the read before, which costs more than most reads.
 *   So the first read in a callback of the event loop begins a transaction, which ends when that callback and the
 *   promises that it settled have run. A request or an answer of the writer comes in a callback of its own, so it sees
 *   what was committed before it came. In each snapshot it is compared once whether anything has changed but mail
 *   (thread/changes.ts). Sends do without a snapshot (store/known.ts).
 */
import { createKnown, type KnownReads } from '../../known.js'
import type { Known } from '../../port/upkeep.js'
import { timeOf } from '../../sql/pages.js'
import type { Db } from '../connect.js'
import type { Statements } from '../statements.js'

/** Beyond it all is forgotten: who guesses keys must not fill the memory. */
const MOST = 1_000

/** `told` is what the threads share. */
export const knownIn = (db: Db, reads: KnownReads, told: SharedArrayBuffer): Known => {
  const read = db.prepare<[], number>('SELECT n FROM rules').pluck()
  const shared = new Int32Array(told)
  const hint = (): number => Atomics.load(shared, 0)
  const known = createKnown(reads, () => read.get() ?? 0, hint)
  /** The hint of the last look in this turn. */
  let looked: number | null = null
  const endTurn = (): void => {
    looked = null
  }
  return {
    ...known,
    lookOnce() {
      const now = hint()
      if (looked === now) return
      if (looked === null) setImmediate(endTurn)
      looked = now
      return known.look()
    },
  }
}

export const createLeadRead = (sql: Statements) => ({
  clockLead: (now: number): number => now - timeOf(Number(sql('SELECT last FROM order_state').get()?.last)),
})

/** Begins a snapshot unless one is open; answers its number. */
type Enter = () => number

export const createSnapshot = (db: Db): Enter => {
  const begin = db.prepare('BEGIN')
  const commit = db.prepare('COMMIT')
  let number = 0
  let isOpen = false
  const end = (): void => {
    isOpen = false
    // a read that met a broken disk has ended it already; whoever read was told, and here is nobody to tell
    if (!db.open || !db.inTransaction) return
    try {
      commit.run()
    } catch {
      if (db.inTransaction) db.exec('ROLLBACK')
    }
  }
  // a tick that a microtask asks for comes when no microtask is left
  const endLater = (): void => process.nextTick(end)
  return () => {
    if (isOpen) return number
    begin.run()
    isOpen = true
    queueMicrotask(endLater)
    return ++number
  }
}

export type Remember = <T>(place: string, read: () => T) => T

export const createMemory = (db: Db, enter: Enter): Remember => {
  const changes = db.prepare<[], number>('SELECT n FROM changes').pluck()
  const known = new Map<string, unknown>()
  let lookedIn = 0
  let changed: number | undefined
  const look = (): void => {
    const snapshot = enter()
    if (snapshot === lookedIn) return
    const before = changed
    changed = changes.get()
    lookedIn = snapshot
    if (changed !== before) known.clear()
  }
  return <T>(place: string, read: () => T): T => {
    look()
    if (known.has(place)) return known.get(place) as T
    if (known.size >= MOST) known.clear()
    const found = read()
    known.set(place, found)
    return found
  }
}

type Read = (a?: string, b?: string) => unknown

const kept = (name: string, read: Read, remember: Remember): Read => {
  const start = `${name} `
  const answer = (a?: string, b?: string): unknown =>
    a === undefined ? read() : b === undefined ? read(a) : read(a, b)
  return (a, b) => remember(b === undefined ? start + a : `${start + a} ${b}`, () => answer(a, b))
}

/** The same reads, those of these names remembered; these take two texts at most. */
export const remembering = <R extends object>(
  reads: R,
  names: readonly (keyof R & string)[],
  remember: Remember,
): R => {
  const remembered = names.map((name) => [name, kept(name, reads[name] as Read, remember)])
  return { ...reads, ...Object.fromEntries(remembered) }
}
