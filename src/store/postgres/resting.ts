/**
 * NAME      resting - connecting to a database that is away
 * DESCRIPTION
 *   All parts of a session connect by one of these. While nobody can, one tries now and then, after 0.1 s,
 *   then ever later up to 5 s and never with other daemons in step; whoever else wants a connection is told
 *   so at once, since a server that does not answer would keep each of them for seconds. Why it is away is
 *   told once, again each minute that it lasts, and at once where it is another: a server that was shut down may refuse
 *   the password when it is back.
 */
import { systemClock } from '../../base/clock.js'
import { causesOf } from '../../base/fault.js'
import type { Log } from '../../base/log.js'
import type { Connection } from './connection.js'

const FIRST_MS = 100
const LONGEST_MS = 5000
const TOLD_EACH_MS = 60_000

interface Away {
  readonly since: number
  error: unknown
  tries: number
  /** By the tick clock: nobody tries before. */
  until: number
  toldAt: number
  /** The causes that were told in this minute. */
  readonly told: Set<string>
  isTrying: boolean
}

/** Between half of it and the whole. */
const restMs = (tries: number, random: () => number): number =>
  Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(tries, 10)) * (0.5 + random() / 2)

export const resting = (
  connect: (name: string) => Promise<Connection>,
  log?: Pick<Log, 'warn' | 'info'>,
  tick: () => number = systemClock.tick,
  random: () => number = Math.random,
) => {
  let away: Away | null = null

  const note = (error: unknown): void => {
    const now = tick()
    away ??= {
      ...{ since: now, error, tries: 0, until: 0, isTrying: false },
      ...{ toldAt: Number.NEGATIVE_INFINITY, told: new Set() },
    }
    away.error = error
    away.until = now + restMs(away.tries, random)
    away.tries += 1
    if (now - away.toldAt >= TOLD_EACH_MS) {
      away.toldAt = now
      away.told.clear()
    }
    const cause = causesOf(error as Error)
    if (away.told.has(cause)) return
    away.told.add(cause)
    log?.warn({ error: cause }, 'the database is away')
  }
  const back = (): void => {
    if (away !== null) log?.info({ ms: Math.round(tick() - away.since) }, 'the database is back')
    away = null
  }

  return async (name: string): Promise<Connection> => {
    const before = away
    if (before !== null && (before.isTrying || tick() < before.until)) throw before.error
    if (before !== null) before.isTrying = true
    try {
      const connection = await connect(name)
      back()
      return connection
    } catch (error) {
      // of a crowd that began together one is enough
      if (before !== null || away === null) note(error)
      throw error
    } finally {
      if (before !== null) before.isTrying = false
    }
  }
}
