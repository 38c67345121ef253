/**
 * NAME      domain - a sending domain with the DNS records that are to be published for it, and what receivers reported of it
 *   After a check also with what DNS says of each. The private halves of its keys are in no record. A report may come from
 *   somebody else than it says.
 */
import { reportAddress } from '../mail/return-path.js'
import {
  type DkimKeyRow,
  type DomainReportRow,
  type DomainRow,
  SOURCE_ORIGINS,
} from '../store/port/tenants.js'
import {
  constant,
  flag,
  id,
  list,
  MANAGED,
  type Rights,
  record,
  recordsOf,
  text,
  time,
  whole,
  words,
} from './member.js'

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
export type SeenInDns = (typeof SEEN)[number]

export interface CheckedRecord extends DnsRecord {
  readonly seen: SeenInDns
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

export const REPORT_KINDS = ['dmarc', 'tls'] as const

const COUNTS = {
  messages: whole({ says: 'Mails with the domain in From' }),
  passed: whole({
    says: 'Of them with a signature or a return path that passed and fits the domain of From',
  }),
  failed: whole({ says: 'Of them with neither' }),
  dkim: whole({ says: 'Of them with such a signature' }),
  spf: whole({ says: 'Of them with such a return path' }),
  quarantined: whole({ says: 'Of them put aside by the receiver' }),
  rejected: whole({ says: 'Of them refused by the receiver' }),
}

const ADDRESS = text({ none: true, says: 'null: all that are not listed, taken together' })
const ORIGIN = words(SOURCE_ORIGINS, {
  says: '`ours`: with our return path, and SPF passed; `signed`: with a signature of the domain that passed (forwarded, or an upstream with a return path of its own); `unknown`: neither',
})

const SOURCE = {
  address: ADDRESS,
  origin: ORIGIN,
  ...COUNTS,
  failed: whole({
    says: COUNTS.failed.says,
    of: ({ messages, passed }: { readonly messages: number; readonly passed: number }) => messages - passed,
  }),
}

const SESSIONS = whole({ says: 'Connections, good and failed' })

const FAILURE = {
  type: text({ says: 'Such as `certificate-expired` (RFC 8460 section 4.3)' }),
  mx: text({ none: true, says: 'The receiver, where it is named' }),
  sessions: whole({ says: 'Connections that failed so' }),
}

export const DOMAIN_REPORT = {
  id: id('rpt'),
  object: constant('domain_report'),
  kind: words(REPORT_KINDS, {
    says: 'About the mail of the domain (`dmarc`), or about connections to its servers (`tls`)',
  }),
  reporter: text({ says: 'Who says that it reports; nothing proves it' }),
  contact: text({ none: true, says: 'Whom to ask about the report' }),
  report_id: text({ says: 'What the reporter calls it' }),
  begins_at: time({ from: 'begins', says: 'What it is about began then' }),
  ends_at: time({ from: 'ends', says: 'And ended then' }),
  policy: text({ empty: true, says: 'As it was published; of TLS the types of policies' }),
  total: whole({ says: 'Mails; of TLS sessions' }),
  failed: whole({ says: 'Of them' }),
  sources: list(SOURCE, { says: 'Addresses that sent mail with the domain in From; of TLS none' }),
  failures: list(FAILURE, { says: 'Of TLS: sessions that failed, by type and receiver' }),
  received_at: time({ says: 'When it came' }),
}

export const domainReportRecord = recordsOf<DomainReportRow>()(DOMAIN_REPORT)

export interface ReportSummary {
  readonly domain: string
  readonly begins: number
  readonly ends: number
  readonly reports: number
  readonly isCut: boolean
  readonly policy: string | null
  readonly mail: Counted
  readonly own: Counted
  readonly sources: readonly CountedSource[]
  readonly reporters: readonly {
    readonly kind: DomainReportRow['kind']
    readonly reporter: string
    readonly reports: number
    readonly total: number
    readonly failed: number
  }[]
  readonly tls: {
    readonly sessions: number
    readonly failed: number
    readonly failures: DomainReportRow['failures']
  }
  readonly publish: readonly ReportRecord[]
}

export interface Counted {
  readonly messages: number
  readonly passed: number
  readonly failed: number
  readonly dkim: number
  readonly spf: number
  readonly quarantined: number
  readonly rejected: number
}

export type CountedSource = Counted & Pick<DomainReportRow['sources'][number], 'address' | 'origin'>

export const REPORT_SUMMARY = {
  object: constant('domain_report_summary'),
  domain: text(),
  since: time({ from: 'begins', says: 'Reports about spans that began from then on' }),
  until: time({ from: 'ends', says: 'And before then' }),
  reports: whole({ says: 'How many of them' }),
  cut: flag({ from: 'isCut', says: 'true: there are more, and the newest thousand were counted' }),
  policy: text({ none: true, says: 'The policy for DMARC that the newest of them found' }),
  mail: record(COUNTS, { says: 'All mail that was reported' }),
  own: record(COUNTS, { says: 'Of `mail` what came from a source that is `ours` or `signed`' }),
  sources: list(
    { ...SOURCE, failed: COUNTS.failed },
    { says: 'The hundred busiest; then all others, taken together' },
  ),
  reporters: list(
    {
      kind: words(REPORT_KINDS),
      reporter: DOMAIN_REPORT.reporter,
      reports: whole({ says: 'How many came from there' }),
      total: DOMAIN_REPORT.total,
      failed: DOMAIN_REPORT.failed,
    },
    { says: 'Who reported, by how much' },
  ),
  tls: record({
    sessions: SESSIONS,
    failed: whole({ says: 'Of them' }),
    failures: list(FAILURE, { says: 'What failed most' }),
  }),
  publish: list(
    { type: words(['TXT']), name: text(), value: text() },
    { says: 'What asks receivers for these reports' },
  ),
}

export const reportSummaryRecord = recordsOf<ReportSummary>()(REPORT_SUMMARY)

export const DOMAIN_RIGHTS = {
  createDomain: 'member',
  listDomains: 'viewer',
  getDomain: 'viewer',
  listDomainReports: 'viewer',
  getDomainReportSummary: 'viewer',
  checkDomain: 'member',
  verifyDomain: 'member',
  updateDomain: 'member',
  rotateDomain: 'member',
  deleteDomain: 'member',
} as const satisfies Rights
