/**
 * NAME      readers - connections for verbs that only read
 * DESCRIPTION
 *   A verb has one for itself, so that what it reads together is of one snapshot; others wait in order of arrival.
 *   What still runs at the end has its connection until then: one that stayed open would keep the process alive.
 *   A plan is kept from when its tables were small, until the database counts their rows anew, which may take minutes. So
 *   a connection forgets its plans now and then.
 */
import { systemClock } from '../../base/clock.js'
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
