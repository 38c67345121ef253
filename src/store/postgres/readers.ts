/**
 * NAME      readers - connections for verbs that only read, and connecting to a database that is away
 *   A verb has one for itself, so that what it reads together is of one snapshot; others wait in order of arrival.
 *   What still runs at the end has its connection until then: one that stayed open would keep the process alive.
 *   A plan is kept from when its tables were small, until the database counts their rows anew, which may take minutes. So
 *   a connection forgets its plans now and then.
 */
import { systemClock } from '../../base/clock.js'
import { causesOf } from '../../base/fault.js'
import type { Log } from '../../base/log.js'
import type { Asking } from '../sql/query.js'
import type { Connection } from './connection.js'
import { answerRead, patience, persistently } from './run.js'

export interface Readers {
  read<T>(verb: () => Asking<T>): Promise<T>
  close(): Promise<void>
}

const MOST = 2
const PLANNED_MS = 10_000

interface Reader {
  readonly connection: Connection
  /** On the tick clock. */
  plannedAt: number
}

const withFreshPlans = async (reader: Reader, tick: () => number): Promise<Connection> => {
  if (tick() - reader.plannedAt >= PLANNED_MS) {
    await reader.connection.query({ text: 'DISCARD PLANS', values: [] })
    reader.plannedAt = tick()
  }
  return reader.connection
}

export const createReaders = (
  open: () => Promise<Connection>,
  tick: () => number = systemClock.tick,
): Readers => {
  const idle: Reader[] = []
  const waiting: (() => void)[] = []
  let busy = 0
  let isClosed = false

  const turn = async (): Promise<void> => {
    if (busy < MOST) busy += 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
  }
  const next = (): void => {
    const one = waiting.shift()
    if (one === undefined) busy -= 1
    else one()
  }

  const once = async <T>(verb: () => Asking<T>): Promise<T> => {
    const reader = idle.pop() ?? { connection: await open(), plannedAt: tick() }
    const { connection } = reader
    try {
      return await answerRead(await withFreshPlans(reader, tick), verb())
    } finally {
      if (connection.isLost || isClosed) await connection.close()
      else idle.push(reader)
    }
  }

  return {
    async read(verb) {
      const until = patience()
      await turn()
      try {
        return await persistently(() => once(verb), until)
      } finally {
        next()
      }
    },
    async close() {
      isClosed = true
      await Promise.all(idle.splice(0).map(({ connection }) => connection.close()))
    },
  }
}

// Connecting to a database that is away. All parts of a session connect by one of these. While nobody can, one tries
// now and then, after 0.1 s, then ever later up to 5 s and never with other daemons in step; whoever else wants a
// connection is told so at once, since a server that does not answer would keep each of them for seconds. Why it is
// away is told once, again each minute that it lasts, and at once where it is another: a server that was shut down
// may refuse the password when it is back.

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
