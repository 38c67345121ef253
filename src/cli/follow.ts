/**
 * NAME      follow - the log as it grows, from outside the daemon
 * DESCRIPTION
 *   Reads the store ten times a second until the process is interrupted. What was
 *   given to `tell` is below the mark that is answered, and nothing else is.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventLog, LogFilter, LogRow } from '../store/port/log.js'

const LOOK_MS = 100
const STEP = 500

interface Following {
  readonly store: Pick<EventLog, 'follow' | 'logEnds'>
  readonly filter: LogFilter
  /** A mark of the store. */
  readonly from: string
  readonly tell: (rows: readonly LogRow[]) => Promise<void> | void
  /** The log can not be followed from where we were; it goes on at the oldest mark. */
  readonly gap: () => void
}

/** The mark up to which everything was told. */
export const followLog = async ({ store, filter, from, tell, gap }: Following): Promise<string> => {
  const ended = new AbortController()
  const end = (): void => ended.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, end)
  let mark = from
  while (!ended.signal.aborted) {
    const read = await store.follow(filter, mark, STEP)
    if (read === 'gone') {
      gap()
      mark = (await store.logEnds()).oldest
      continue
    }
    await tell(read.rows)
    mark = read.mark
    if (read.isEnd) await sleep(LOOK_MS, undefined, { signal: ended.signal }).catch(() => {})
  }
  return mark
}
