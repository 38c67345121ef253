/**
 * NAME      recheck - sending domains are looked up again, by themselves
 * DESCRIPTION
 *   Each domain once a day; while its records, or those of keys that wait, are not
 *   there yet, a minute after it was made or rotated, and then ever less often. One domain at a
 *   time, so that a name server that is slow holds up nothing but this.
 *   That records are gone is believed when two looks, a quarter of an hour apart,
 *   say so: mail of a workspace that is limited to its domains is refused by it.
 */
import type { Log } from '../../base/log.js'
import type { Service } from '../../base/service.js'
import type { DomainRow } from '../../store/port/tenants.js'
import { judgeDomain, lookUp, recordCheck, type TxtLookup } from './check.js'
import type { DomainDeps } from './domain.js'

const ROUND_MS = 30_000
const SOON_MS = 60_000
const CONFIRM_MS = 900_000
/** Domains that one round looks up at most. */
const MOST = 200

interface RecheckParts {
  readonly lookup: TxtLookup
  /** How often a settled domain is looked up. */
  readonly every: number
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>
  /** How often to see which are due; for tests. */
  readonly round?: number
}

/** When it is to be looked up next. */
export const nextCheckAt = (row: DomainRow, every: number): number => {
  const { createdAt, checkedAt, verifiedAt, keys } = row
  const soon = Math.min(SOON_MS, every)
  if (checkedAt === null) return createdAt + soon
  const isSettled = verifiedAt !== null && keys.every(({ state }) => state !== 'next')
  if (isSettled) return checkedAt + every
  const since = Math.max(createdAt, ...keys.map((key) => key.createdAt))
  return checkedAt + Math.min(every, Math.max(soon, (checkedAt - since) / 4))
}

/** `missedAt`: when a look missed the records of a verified domain, which another one has to confirm. */
const isDue = (row: DomainRow, missedAt: number | undefined, every: number, now: number): boolean => {
  if (missedAt !== undefined) return now - missedAt >= Math.min(CONFIRM_MS, every) || missedAt > now
  // a check from the future was made by a clock that was wrong
  return now >= nextCheckAt(row, every) || (row.checkedAt ?? 0) > now
}

export const createDomainRecheck = (deps: DomainDeps, parts: RecheckParts): Service => {
  const { lookup, every, log } = parts
  /** Verified domains whose records one look has missed, and when. */
  const missed = new Map<string, number>()
  let timer: NodeJS.Timeout | null = null
  let isLooking = false

  const look = async (row: DomainRow): Promise<void> => {
    const records = await lookUp(row, lookup)
    if (timer === null) return
    const now = deps.clock.now()
    const falls = row.verifiedAt !== null && judgeDomain(row, records, now).verifiedAt === null
    if (falls && !missed.has(row.id)) return void missed.set(row.id, now)
    missed.delete(row.id)
    // null: somebody changed it meanwhile, and the next round looks at what it is now
    const after = await recordCheck(deps, row, records)
    if (after === null || (after.verifiedAt === null) === (row.verifiedAt === null)) return
    const said = { domain: row.id, name: row.name }
    if (after.verifiedAt === null) log.warn(said, 'domain no longer verified')
    else log.info(said, 'domain verified')
  }

  const round = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    try {
      const now = deps.clock.now()
      const all = await deps.store.allDomains()
      for (const id of missed.keys()) if (!all.some((row) => row.id === id)) missed.delete(id)
      const due = all.filter((row) => isDue(row, missed.get(row.id), every, now))
      for (const row of due.slice(0, MOST)) if (timer !== null) await look(row)
    } catch (error) {
      if (timer !== null) log.error({ error: (error as Error).message }, 'domains not checked')
    } finally {
      isLooking = false
    }
  }

  return {
    name: 'domains',
    async start() {
      timer ??= setInterval(() => void round(), parts.round ?? Math.min(ROUND_MS, every)).unref()
    },
    async stop() {
      if (timer !== null) clearInterval(timer)
      timer = null
    },
  }
}
