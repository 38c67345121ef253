/**
 * NAME      resting - a crowd that wants a connection while there is none
 * DESCRIPTION
 *   Whoever waited for long while nobody could connect is told so at once, and does not try for himself: a server that
 *   does not answer would keep each of them for seconds, one after another.
 */
import { systemClock } from '../../../base/clock.js'
import type { Connection } from './connection.js'

/** For so long nobody tries again to connect. */
const REST_MS = 50

export const resting = (open: () => Promise<Connection>) => {
  let failed: { readonly error: unknown; readonly at: number } | null = null
  return async (): Promise<Connection> => {
    if (failed !== null && systemClock.tick() - failed.at < REST_MS) throw failed.error
    try {
      return await open()
    } catch (error) {
      failed = { error, at: systemClock.tick() }
      throw error
    }
  }
}
