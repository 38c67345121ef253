/**
 * NAME      check - what DNS says about a sending domain, and when it is asked again
 *   Each key's TXT record is looked up and compared by what it means (k= and p=), not by how it is written. When all
 *   active keys are there the domain is verified; when all waiting ones are, they begin to sign. A DMARC record is
 *   looked for and advised, never demanded. A name server that fails, or is silent for longer than a check may take,
 *   proves nothing: what was verified stays so.
 *   Each domain is looked up once a day; while its records, or those of keys that wait, are not there yet, a minute
 *   after it was made or rotated, and then ever less often. One domain at a time, so that a name server that is slow
 *   holds up nothing but this. That records are gone is believed when two looks, a quarter of an hour apart, say so:
 *   mail of a workspace that is limited to its domains is refused by it.
 */
import { promises as dns } from 'node:dns'
import type { Log } from '../../base/log.js'
import type { Service } from '../../base/service.js'
import { type CheckedRecord, type DnsRecord, dnsRecords, type SeenInDns } from '../../resource/domain.js'
import type { DkimKeyRow, DomainRow } from '../../store/port/tenants.js'
import { activate, type DomainDeps, domainNotice, findDomain } from './domain.js'

export type TxtLookup = (name: string) => Promise<readonly (readonly string[])[]>

/** A server gets two tries, and the next one its own; all of them together have no longer than this. */
const PATIENCE_MS = 8_000

/** Looks names up; `server` is an address and port such as 127.0.0.1:5353. */
export const txtLookup = (server: string | null, patienceMs = PATIENCE_MS): TxtLookup => {
  return async (name) => {
    // one of its own, since giving up cancels all that a resolver was asked
    const resolver = new dns.Resolver({ timeout: 2_000, tries: 2 })
    if (server !== null) resolver.setServers([server])
    const patience = setTimeout(() => resolver.cancel(), patienceMs)
    try {
      return await resolver.resolveTxt(name)
    } finally {
      clearTimeout(patience)
    }
  }
}

const tagsOf = (record: string): ReadonlyMap<string, string> =>
  new Map(
    record.split(';').flatMap((part) => {
      const at = part.indexOf('=')
      return at < 0 ? [] : [[part.slice(0, at).trim(), part.slice(at + 1).replace(/\s+/g, '')] as const]
    }),
  )

const sameKey = (one: string, other: string): boolean => {
  const [a, b] = [tagsOf(one), tagsOf(other)]
  return a.get('p') === b.get('p') && (a.get('k') ?? 'rsa') === (b.get('k') ?? 'rsa')
}

const ABSENT = new Set(['ENOTFOUND', 'ENODATA'])

const look = async (lookup: TxtLookup, record: DnsRecord): Promise<CheckedRecord> => {
  try {
    const found = (await lookup(record.name)).map((strings) => strings.join(''))
    const mine =
      record.purpose === 'dkim'
        ? found.some((text) => sameKey(text, record.value))
        : found.some((text) => /^v=DMARC1\b/i.test(text))
    const near = found.find((text) => /\bp=/.test(text)) ?? null
    return {
      ...record,
      seen: mine ? 'ok' : near === null ? 'missing' : 'different',
      found: mine ? null : near,
    }
  } catch (error) {
    const code = (error as { code?: string }).code ?? 'failed'
    return ABSENT.has(code)
      ? { ...record, seen: 'missing', found: null }
      : { ...record, seen: 'unknown', found: code }
  }
}

export interface DomainCheck {
  readonly row: DomainRow
  readonly records: readonly CheckedRecord[]
}

/** What DNS says of each record; nothing is written down. */
export const lookUp = (row: DomainRow, lookup: TxtLookup): Promise<readonly CheckedRecord[]> =>
  Promise.all(dnsRecords(row).map((record) => look(lookup, record)))

/** What follows from what DNS says. */
const judgeDomain = (row: DomainRow, records: readonly CheckedRecord[], now: number): DomainRow => {
  const of = (state: DkimKeyRow['state']) => records.filter((record) => record.state === state)
  const all = (list: readonly CheckedRecord[], seen: SeenInDns) =>
    list.every((record) => record.seen === seen)
  const rotated = of('next').length > 0 && all(of('next'), 'ok')
  const published = rotated || all(of('active'), 'ok')
  const unsure = of('active').some(({ seen }) => seen === 'unknown')
  return {
    ...row,
    keys: rotated ? activate(row.keys, now) : row.keys,
    verifiedAt: published ? (row.verifiedAt ?? now) : unsure ? row.verifiedAt : null,
    checkedAt: now,
    updatedAt: Math.max(now, row.updatedAt + 1),
  }
}

/** The records of keys that sign, and are not there. */
const wanting = (records: readonly CheckedRecord[]) =>
  records
    .filter(({ state, seen }) => state === 'active' && seen !== 'ok')
    .map(({ name, type, seen }) => ({ name, type, seen }))

/** Writes down what follows, with an event where the result is another; null when somebody changed the domain meanwhile. */
const recordCheck = async (
  deps: DomainDeps,
  row: DomainRow,
  records: readonly CheckedRecord[],
): Promise<DomainRow | null> => {
  const now = deps.clock.now()
  const after = judgeDomain(row, records, now)
  const notice = domainNotice(row, after, now, { reason: 'dns', records: wanting(records) })
  return (await deps.store.updateDomain(after, row.updatedAt, notice)) ? after : null
}

/** Looks everything up and writes down what follows from it; throws domain.not_found when it is gone by then. */
export const checkDomain = async (
  deps: DomainDeps,
  row: DomainRow,
  lookup: TxtLookup,
): Promise<DomainCheck> => {
  let old = row
  const found = await lookUp(old, lookup)
  const known = new Map(found.map((record) => [record.name, { seen: record.seen, found: record.found }]))
  // keys that were rotated while DNS was asked have not been looked for
  const unseen = { seen: 'unknown', found: null } as const
  const recordsOf = (one: DomainRow): readonly CheckedRecord[] =>
    dnsRecords(one).map((record) => ({ ...record, ...(known.get(record.name) ?? unseen) }))
  for (;;) {
    const after = await recordCheck(deps, old, recordsOf(old))
    if (after !== null) return { row: after, records: recordsOf(after) }
    old = await findDomain(deps, row.accountId, row.id)
  }
}

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
