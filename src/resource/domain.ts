/**
 * NAME      domain - a sending domain, with the DNS records that are to be published for it
 * DESCRIPTION
 *   After a check also with what DNS says of each. The private halves of its keys are in no record.
 */
import type { DkimKeyRow, DomainRow } from '../store/port/tenants.js'
import { MANAGED } from './managed.js'
import { constant, flag, id, list, recordsOf, text, time, words } from './member.js'

export interface DnsRecord {
  readonly purpose: 'dkim' | 'dmarc'
  readonly type: 'TXT'
  readonly name: string
  readonly value: string
  /** Of its key; null for what is only advised. */
  readonly state: DkimKeyRow['state'] | null
}

const SEEN = ['ok', 'missing', 'different', 'unknown'] as const
export type Seen = (typeof SEEN)[number]

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

const KEY_STATES = ['next', 'active', 'retired'] as const

const DNS_RECORD = {
  purpose: words(['dkim', 'dmarc']),
  type: words(['TXT']),
  name: text(),
  value: text(),
  state: words(KEY_STATES, {
    none: true,
    says: 'Of the key that it publishes; null for what is only advised',
  }),
}

const domainWith = <const R>(records: R) => ({
  id: id('dom'),
  object: constant('domain'),
  name: text(),
  workspace_id: text({ none: true, says: 'null: for all workspaces of the account' }),
  verified: flag({ of: (row: DomainRow) => row.verifiedAt !== null }),
  verified_at: time({ none: true }),
  checked_at: time({ none: true }),
  keys: list({
    selector: text(),
    algorithm: words(['rsa', 'ed25519']),
    state: words(KEY_STATES, {
      says: '`next` waits to be found in DNS, `active` signs, `retired` stays published while its mail is under way',
    }),
    created_at: time(),
    retired_at: time({ none: true }),
  }),
  records,
  created_at: time(),
  managed: MANAGED,
})

export const DOMAIN = domainWith(list(DNS_RECORD, { of: dnsRecords }))
export const CHECKED_DOMAIN = domainWith(
  list({
    ...DNS_RECORD,
    seen: words(SEEN),
    found: text({ none: true, says: 'What DNS says instead, or why it said nothing' }),
  }),
)

export const domainRecord = recordsOf<DomainRow>()(DOMAIN)
/** With what a check saw of each record. */
export const checkedDomain = recordsOf<DomainRow & { readonly records: readonly CheckedRecord[] }>()(
  CHECKED_DOMAIN,
)
export type Domain = ReturnType<typeof domainRecord>
