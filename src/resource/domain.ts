/**
 * NAME      domain - a sending domain, with the DNS records that are to be published for it
 * DESCRIPTION
 *   After a check also with what DNS says of each. The private halves of its keys are in no record.
 */
import { reportAddress } from '../mail/return-path.js'
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

export type ReportRecord = Pick<DnsRecord, 'type' | 'name' | 'value'>

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

/** What asks receivers for reports about a domain, at the addresses where they are read. All of it is only advised. */
export const reportRecords = (name: string, bounceDomain: string): readonly ReportRecord[] => {
  const isNear = `.${bounceDomain}`.endsWith(`.${name}`) || `.${name}`.endsWith(`.${bounceDomain}`)
  const txt = (name: string, value: string): ReportRecord => ({ type: 'TXT', name, value })
  const dmarc = `v=DMARC1; p=none; rua=mailto:${reportAddress('dmarc', bounceDomain)}`
  return [
    txt(`_dmarc.${name}`, dmarc),
    // RFC 7489 section 7.1: reports to another domain want its consent
    ...(isNear ? [] : [txt(`${name}._report._dmarc.${bounceDomain}`, 'v=DMARC1')]),
    txt(`_smtp._tls.${name}`, `v=TLSRPTv1; rua=mailto:${reportAddress('tls', bounceDomain)}`),
  ]
}

/** All that stands in the zone file of a domain: of two records for DMARC, the one that asks for reports. */
export const publishedRecords = (row: DomainRow, bounceDomain: string): readonly ReportRecord[] => [
  ...dnsRecords(row).filter(({ purpose }) => purpose === 'dkim'),
  ...reportRecords(row.name, bounceDomain),
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
