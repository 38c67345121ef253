/**
 * NAME      readers - connections for verbs that only read
 * DESCRIPTION
 *   A verb has one for itself, so that what it reads together is of one snapshot; others wait in order of arrival.
 *   What still runs at the end has its connection until then: one that stayed open would keep the process alive.
 */
import type { Asking } from '../sql/query.js'
import type { Connection } from './connect/connection.js'
import { resting } from './connect/resting.js'
import { answer, patience, persistently } from './run.js'

export interface Readers {
  read<T>(verb: () => Asking<T>): Promise<T>
  close(): Promise<void>
}

const MOST = 2

export const createReaders = (openAnew: () => Promise<Connection>): Readers => {
  const open = resting(openAnew)
  const idle: Connection[] = []
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
    const connection = idle.pop() ?? (await open())
    try {
      return await answer(connection, verb())
    } finally {
      if (connection.isLost || isClosed) await connection.close()
      else idle.push(connection)
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
      await Promise.all(idle.splice(0).map((connection) => connection.close()))
    },
  }
}
