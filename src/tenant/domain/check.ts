/**
 * NAME      check - what DNS says about a sending domain
 * DESCRIPTION
 *   Each key's TXT record is looked up and compared by what it means (k= and p=),
 *   not by how it is written. When all active keys are there the domain is
 *   verified; when all waiting ones are, they begin to sign. A DMARC record is
 *   looked for and advised, never demanded. A name server that fails proves
 *   nothing: what was verified stays so.
 */
import { promises as dns } from 'node:dns'
import type { DkimKeyRow, DomainRow } from '../../store/port-domains.js'
import { activate, type DomainGround } from './domain.js'

export interface DnsRecord {
  readonly purpose: 'dkim' | 'dmarc'
  readonly type: 'TXT'
  readonly name: string
  readonly value: string
  /** Of its key; null for what is only advised. */
  readonly state: DkimKeyRow['state'] | null
}

export type Seen = 'ok' | 'missing' | 'different' | 'unknown'

export interface CheckedRecord extends DnsRecord {
  readonly seen: Seen
  /** What DNS says instead, or why it said nothing. */
  readonly found: string | null
}

export type TxtLookup = (name: string) => Promise<readonly (readonly string[])[]>

/** What is to be published for a domain. */
export const dnsRecords = (row: DomainRow): readonly DnsRecord[] => [
  ...row.keys.map((key) => ({
    purpose: 'dkim' as const,
    type: 'TXT' as const,
    name: `${key.selector}._domainkey.${row.name}`,
    value: key.record,
    state: key.state,
  })),
  { purpose: 'dmarc', type: 'TXT', name: `_dmarc.${row.name}`, value: 'v=DMARC1; p=none', state: null },
]

/** Looks names up; `server` is an address and port such as 127.0.0.1:5353. */
export const txtLookup = (server: string | null): TxtLookup => {
  const resolver = new dns.Resolver({ timeout: 3_000, tries: 2 })
  if (server !== null) resolver.setServers([server])
  return (name) => resolver.resolveTxt(name)
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

/** Looks everything up and writes down what follows from it. */
export const checkDomain = async (
  { store, clock }: DomainGround,
  row: DomainRow,
  lookup: TxtLookup,
): Promise<DomainCheck> => {
  const records = await lookUp(row, lookup)
  const of = (state: DkimKeyRow['state']) => records.filter((record) => record.state === state)
  const all = (list: readonly CheckedRecord[], seen: Seen) => list.every((record) => record.seen === seen)
  const now = clock.now()
  const rotated = of('next').length > 0 && all(of('next'), 'ok')
  const keys = rotated ? activate(row.keys, now) : row.keys
  const published = rotated || all(of('active'), 'ok')
  const unsure = of('active').some(({ seen }) => seen === 'unknown')
  const verifiedAt = published ? (row.verifiedAt ?? now) : unsure ? row.verifiedAt : null
  const updatedAt = rotated ? now : row.updatedAt
  const after: DomainRow = { ...row, keys, verifiedAt, checkedAt: now, updatedAt }
  await store.updateDomain(after)
  return { row: after, records }
}
