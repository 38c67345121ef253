/**
 * NAME      domain - a sending domain as the public sees it
 * DESCRIPTION
 *   With the DNS records that are to be published, and after a check with what DNS
 *   says of each. The private halves of its keys are in no record.
 */
import { timeOrNull, toRfc3339 } from '../base/clock.js'
import type { DkimKeyRow, DomainRow } from '../store/port/tenants.js'

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

/** A line of a zone file, in which a string holds 255 octets at most. */
export const zoneLine = ({ name, value }: Pick<DnsRecord, 'name' | 'value'>): string => {
  const strings = value.match(/.{1,250}/g) ?? []
  return `${name}. IN TXT ${strings.map((part) => `"${part.replace(/["\\]/g, '\\$&')}"`).join(' ')}`
}

export const domain = (
  row: DomainRow,
  records: readonly (DnsRecord | CheckedRecord)[] = dnsRecords(row),
) => ({
  id: row.id,
  object: 'domain' as const,
  name: row.name,
  workspace_id: row.workspaceId,
  verified: row.verifiedAt !== null,
  verified_at: timeOrNull(row.verifiedAt),
  checked_at: timeOrNull(row.checkedAt),
  keys: row.keys.map(({ selector, algorithm, state, createdAt, retiredAt }) => ({
    selector,
    algorithm,
    state,
    created_at: toRfc3339(createdAt),
    retired_at: timeOrNull(retiredAt),
  })),
  records,
  created_at: toRfc3339(row.createdAt),
})

export type Domain = ReturnType<typeof domain>
