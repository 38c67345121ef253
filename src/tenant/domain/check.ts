/**
 * NAME      check - what DNS says about a sending domain
 * DESCRIPTION
 *   Each key's TXT record is looked up and compared by what it means (k= and p=),
 *   not by how it is written. When all active keys are there the domain is
 *   verified; when all waiting ones are, they begin to sign. A DMARC record is
 *   looked for and advised, never demanded. A name server that fails, or is silent
 *   for longer than a check may take, proves nothing: what was verified stays so.
 */
import { promises as dns } from 'node:dns'
import { type CheckedRecord, type DnsRecord, dnsRecords, type Seen } from '../../resource/domain.js'
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
export const judgeDomain = (row: DomainRow, records: readonly CheckedRecord[], now: number): DomainRow => {
  const of = (state: DkimKeyRow['state']) => records.filter((record) => record.state === state)
  const all = (list: readonly CheckedRecord[], seen: Seen) => list.every((record) => record.seen === seen)
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
export const recordCheck = async (
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
