/**
 * NAME      follower - counts what the log says
 * DESCRIPTION
 *   Follows the log in small steps. What a step counts and the place that it comes
 *   to are stored by one verb, which refuses when the place has moved: after a
 *   crash, or beside another follower, each record is counted once.
 *   Where the log is gone before it was counted, its numbers are missing, and the
 *   log of the daemon says so.
 */
import type { Log } from '../base/log.js'
import { repeated, type Service } from '../base/service.js'
import { overIn } from '../base/time/trouble.js'
import { providerOf } from '../mail/provider/provider.js'
import type { EventLog, LogRow } from '../store/port/log.js'
import type { Statistics } from '../store/port/statistics.js'
import type { Tenants } from '../store/port/tenants/tenants.js'
import { fold } from './fold.js'

interface StatisticsParts {
  readonly store: Pick<EventLog, 'follow' | 'logEnds'> &
    Pick<Statistics, 'statisticsPlace' | 'addStatistics'> &
    Pick<Tenants, 'workspace'>
  readonly log: Pick<Log, 'warn' | 'error' | 'info'>
}

/** Records of one step. */
const LEAST = 250
const MOST = 1_000
/** What a step should add at most: some milliseconds of the writer. */
const MOST_ROWS = 1_000
/** What comes within it is added together: figures are late by no more, and the disk is asked once. */
const LOOK_MS = 1_000
/** After a failure. */
const REST_MS = 1_000

const tagsIn = async (
  { store }: StatisticsParts,
  rows: readonly LogRow[],
): Promise<(workspaceId: string) => readonly string[]> => {
  const tags = new Map<string, readonly string[]>()
  for (const { accountId, workspaceId, mail } of rows) {
    if (workspaceId === null || mail === null || mail.tags.length === 0 || tags.has(workspaceId)) continue
    tags.set(workspaceId, (await store.workspace(accountId, workspaceId))?.statisticsTags ?? [])
  }
  return (workspaceId) => tags.get(workspaceId) ?? []
}

/** The size of the next step: records of the same domains share their rows, so that long steps cost less. */
const nextSize = (size: number, rows: number): number =>
  rows > MOST_ROWS ? Math.max(LEAST, size / 2) : rows * 2 <= MOST_ROWS ? Math.min(MOST, size * 2) : size

interface Counted {
  /** False when there is nothing left to count now. */
  readonly more: boolean
  /** Records that the next step should have. */
  readonly size: number
}

/** Counts some records. */
export const countSome = async (parts: StatisticsParts, size = LEAST): Promise<Counted> => {
  const { store, log } = parts
  const place = await store.statisticsPlace()
  const found = await store.follow(null, place, size)
  if (found === 'gone') {
    log.warn({ event: 'statistics_gap' }, 'records of the log are gone that statistics had not counted yet')
    const { oldest } = await store.logEnds()
    await store.addStatistics(place, oldest, [])
    return { more: true, size }
  }
  if (found.mark === place) return { more: !found.isEnd, size }
  const rows = fold(found.rows, { tagsOf: await tagsIn(parts, found.rows), providerOf })
  // whoever had the place before may have counted less: it is asked for again
  const isCounted = await store.addStatistics(place, found.mark, rows)
  return { more: !isCounted || !found.isEnd, size: nextSize(size, rows.length) }
}

export const createStatistics = (parts: StatisticsParts): Service => {
  let size = LEAST
  let countedTo: string | null = null
  const turn = async (isStopping: () => boolean): Promise<number> => {
    const { newest } = await parts.store.logEnds()
    if (newest === countedTo) return LOOK_MS
    let more = true
    while (more && !isStopping()) ({ more, size } = await countSome(parts, size))
    // what came since has a place above
    if (!more) countedTo = newest
    return LOOK_MS
  }
  return repeated('statistics', turn, {
    restMs: REST_MS,
    told: ({ message }) => parts.log.error({ event: 'statistics_failed', error: message }, 'not counted'),
    over: overIn(parts.log, 'not counted'),
  })
}
