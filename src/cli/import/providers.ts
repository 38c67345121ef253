/**
 * NAME      providers - whose list a file is, and what it says of an address
 *   One row a provider: by which columns or members its lists are known, and why an address is on one of them. What the
 *   provider itself does not suppress, or only for some of the mail, is passed over with the reason: it would
 *   keep receipts from people who want them.
 *   Cells of CSV and members of JSON are asked for by the same names, letters and digits only: `createdat` is `created_at`,
 *   `CreatedAt` and `Created At`. What is nested is joined: `reasoncode`. Times come in the forms that exports have: seconds
 *   (or milliseconds) since 1970, RFC 3339, RFC 2822, and `2016-01-21 19:08:17`, which is UTC, as is a day.
 */
import type { SuppressionRow } from '../../store/port/tenants.js'

/** Its text, trimmed; '' where there is none. */
type Cells = (name: string) => string

const plainNames = new Map<string, string>()

export const plainName = (name: string): string => {
  const found = plainNames.get(name)
  if (found !== undefined) return found
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '')
  if (plainNames.size < 1000) plainNames.set(name, plain)
  return plain
}

const put = (into: Map<string, string>, name: string, value: unknown, depth: number): void => {
  if (value === null || value === undefined || into.size > 100) return
  if (Array.isArray(value)) into.set(name, value.slice(0, 100).map(String).join(','))
  else if (typeof value !== 'object') into.set(name, String(value).trim())
  else if (depth < 2)
    for (const [inner, one] of Object.entries(value)) put(into, name + plainName(inner), one, depth + 1)
}

export const cellsOfObject = (value: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> => {
  const cells = new Map<string, string>()
  for (const [name, one] of Object.entries(value)) put(cells, plainName(name), one, 0)
  return cells
}

const DAY_OR_TIME =
  /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?) ?(Z|UTC|[+-]\d\d:?\d\d)?)?$/i
const RFC_2822 =
  /^(?:[a-z]{3}, {0,2})?\d{1,2} [a-z]{3} \d{4} \d\d:\d\d(?::\d\d)? (?:GMT|UTC|UT|[+-]\d{4})(?: \([a-z]{1,5}\))?$/i

/** Epoch milliseconds; NaN when it is none of the forms. */
export const timeIn = (text: string): number => {
  if (/^\d{8,10}(?:\.\d+)?$/.test(text)) return Math.floor(Number(text) * 1000)
  if (/^\d{12,13}$/.test(text)) return Number(text)
  const [, day, time = '00:00', zone = 'Z'] = DAY_OR_TIME.exec(text) ?? []
  if (day !== undefined)
    return Date.parse(`${day}T${time}${/^utc$/i.test(zone) ? 'Z' : zone.replace(/(\d\d)(\d\d)$/, '$1:$2')}`)
  return RFC_2822.test(text) ? Date.parse(text.replace(/ \(.*/, '')) : Number.NaN
}

export interface ToldAddress {
  readonly email: string
  readonly why: SuppressionRow['origin']
  /** The provider's words. */
  readonly words: string
  /** As they stand there; '' where nothing is said. */
  readonly since: string
  readonly expires: string
  /** The mailing list of which mail it is about; of our own lists. */
  readonly list?: string
}

/** `passed`: it is understood, and not for us; `bad`: it is not understood. */
export type SaidRow = ToldAddress | { readonly passed: string } | { readonly bad: string }

export interface ListProvider {
  readonly name: string
  readonly title: string
  /** Whether its lists have these columns. */
  knows(has: (...names: readonly string[]) => boolean): boolean
  /** `list` is which of its lists, where the name of the file or `--from` says so. */
  read(cell: Cells, list: string): SaidRow
}

/** Stands among the names of members, as none can. */
export const IS_JSON = '{}'

type Origins = Readonly<Record<string, SuppressionRow['origin']>>

const known = (origins: Origins, word: string): SuppressionRow['origin'] | undefined =>
  Object.hasOwn(origins, word) ? origins[word] : undefined

/** What our own lists and those of many others call the reason. */
const WHY: Origins = {
  ...{ bounce: 'bounce', bounced: 'bounce', hardbounce: 'bounce', hardbounced: 'bounce', invalid: 'bounce' },
  ...{ softbounce: 'soft_bounce' },
  ...{ complaint: 'complaint', spam: 'complaint', spamcomplaint: 'complaint', spamreport: 'complaint' },
  ...{ abuse: 'complaint', complained: 'complaint' },
  ...{ unsubscribe: 'unsubscribe', unsubscribed: 'unsubscribe', optout: 'unsubscribe', unsub: 'unsubscribe' },
  ...{ manual: 'manual', import: 'import' },
}

const whyOf = (text: string): SuppressionRow['origin'] | undefined =>
  known(WHY, text.toLowerCase().replace(/[^a-z]/g, ''))

const told = (
  email: string,
  why: SuppressionRow['origin'],
  words: string,
  since: string,
  expires = '',
): ToldAddress => ({ email, why, words, since, expires })

const unknown = (word: string): SaidRow => ({
  bad: word === '' ? 'says not why' : `${word.slice(0, 40)} is no reason that is known here`,
})

const sendgrid: ListProvider = {
  name: 'sendgrid',
  title: 'SendGrid',
  knows: (has) =>
    has('email', 'created') || has('email', 'groupid') || (has('email', 'createdat') && has('groupname')),
  read(cell, list) {
    const [email, since, status, reason] = [cell('email'), cell('created'), cell('status'), cell('reason')]
    const words = [status, reason].filter(Boolean).join(' ')
    if (list === 'groups' || cell('groupid') !== '' || cell('groupname') !== '')
      return { passed: 'unsubscribed from one group only' }
    if (list === 'blocks') return { passed: 'a block, which SendGrid does not suppress' }
    if (list === 'spam') return told(email, 'complaint', words, since)
    if (list === 'unsubscribes') return told(email, 'unsubscribe', words, since)
    if (list === 'bounces' || list === 'invalid') return told(email, 'bounce', words, since)
    // which list it is does not stand in it
    if (cell('ip') !== '') return told(email, 'complaint', words, since)
    if (words === '') return told(email, 'unsubscribe', words, since)
    return /^(4|5\.7)/.test(status)
      ? { passed: 'a block by its status, which SendGrid does not suppress' }
      : told(email, 'bounce', words, since)
  },
}

const ses: ListProvider = {
  name: 'ses',
  title: 'Amazon SES',
  knows: (has) => has('emailaddress', 'reason') && (has('lastupdatetime') || has(IS_JSON)),
  read(cell) {
    const why = cell('reason').toUpperCase()
    if (why !== 'BOUNCE' && why !== 'COMPLAINT') return unknown(cell('reason'))
    return told(cell('emailaddress'), why === 'BOUNCE' ? 'bounce' : 'complaint', '', cell('lastupdatetime'))
  },
}

/** Of Mailgun's `tags`: `*`, `["*"]`, `newsletter, *`. */
const silencesAll = (tags: string): boolean => tags === '' || /(?:^|[^\w*])\*(?:[^\w*]|$)/.test(tags)

const mailgun: ListProvider = {
  name: 'mailgun',
  title: 'Mailgun',
  knows: (has) => has('address', 'createdat'),
  read(cell, list) {
    const [email, since] = [cell('address'), cell('createdat')]
    const words = [cell('code'), cell('error')].filter(Boolean).join(' ')
    if (list === 'unsubscribes' || cell('tags') !== '')
      return silencesAll(cell('tags'))
        ? told(email, 'unsubscribe', '', since)
        : { passed: 'unsubscribed from some tags only' }
    return told(email, list === 'bounces' || words !== '' ? 'bounce' : 'complaint', words, since)
  },
}

const postmark: ListProvider = {
  name: 'postmark',
  title: 'Postmark',
  knows: (has) => has('emailaddress', 'suppressionreason'),
  read(cell) {
    const [email, reason, origin] = [cell('emailaddress'), cell('suppressionreason'), cell('origin')]
    const why = { HardBounce: 'bounce', SpamComplaint: 'complaint' } as const
    if (reason === 'HardBounce' || reason === 'SpamComplaint')
      return told(email, why[reason], '', cell('createdat'))
    if (reason !== 'ManualSuppression') return unknown(reason)
    return told(email, origin === 'Recipient' ? 'unsubscribe' : 'manual', '', cell('createdat'))
  },
}

const BREVO: Origins = {
  ...{ hardbounce: 'bounce', contactflaggedasspam: 'complaint', adminblocked: 'manual' },
  ...{
    unsubscribedviama: 'unsubscribe',
    unsubscribedviaemail: 'unsubscribe',
    unsubscribedviaapi: 'unsubscribe',
  },
}

const brevo: ListProvider = {
  name: 'brevo',
  title: 'Brevo',
  knows: (has) => has('email', 'blockedat'),
  read(cell) {
    const code = cell('reasoncode') || cell('reason')
    const why = known(BREVO, code.toLowerCase())
    if (why === undefined) return unknown(code)
    return told(cell('email'), why, cell('reasonmessage'), cell('blockedat'))
  },
}

const MANDRILL: Origins = {
  ...{ 'hard-bounce': 'bounce', 'soft-bounce': 'soft_bounce', spam: 'complaint', unsub: 'unsubscribe' },
  ...{ custom: 'manual' },
}

const mandrill: ListProvider = {
  name: 'mandrill',
  title: 'Mandrill',
  knows: (has) => has('email', 'reason', 'detail'),
  read(cell) {
    const why = known(MANDRILL, cell('reason').toLowerCase())
    if (why === undefined) return unknown(cell('reason'))
    // only a soft bounce ends there
    const expires = why === 'soft_bounce' ? cell('expiresat') : ''
    return told(cell('email'), why, cell('detail'), cell('createdat'), expires)
  },
}

const SPARKPOST: Origins = {
  ...{ bouncerule: 'bounce', spamcomplaint: 'complaint', compliance: 'manual', manuallyadded: 'manual' },
  ...{ listunsubscribe: 'unsubscribe', unsubscribelink: 'unsubscribe' },
}

const sparkpost: ListProvider = {
  name: 'sparkpost',
  title: 'SparkPost',
  knows: (has) => has('recipient', 'type', 'source'),
  read(cell) {
    if (cell('type') === 'non_transactional') return { passed: 'holds for marketing mail only' }
    const source = cell('source')
    const why = known(SPARKPOST, source.toLowerCase().replace(/[^a-z]/g, ''))
    if (why === undefined) return unknown(source)
    return told(cell('recipient'), why, cell('description'), cell('created') || cell('updated'))
  },
}

const postal: ListProvider = {
  name: 'postal',
  title: 'Postal',
  knows: (has) => has('type', 'address', 'reason', 'timestamp'),
  read(cell) {
    const ends = cell('keepuntil')
    const expires = ends === 'NULL' || ends === '\\N' ? '' : ends
    return told(cell('address'), 'bounce', cell('reason'), cell('timestamp'), expires)
  },
}

const listOf = (name: string, title: string, knows: ListProvider['knows']): ListProvider => ({
  name,
  title,
  knows,
  read(cell) {
    const [origin, reason] = [cell('origin'), cell('reason')]
    const why = whyOf(origin)
    if (why === undefined) return unknown(origin)
    const what = told(cell('email'), why, reason, cell('createdat'), cell('expiresat'))
    return { ...what, ...(name === 'postern' && { list: cell('list') }) }
  },
})

const postern = listOf('postern', 'Postern', (has) =>
  has('email', 'reason', 'origin', 'createdat', 'expiresat'),
)
const resend = listOf('resend', 'Resend', (has) => has('email', 'origin', 'createdat'))

/** What each column may be called, the best first. */
const ALSO = {
  email: ['email', 'emailaddress', 'address', 'recipient', 'recipientemail', 'mail'],
  reason: ['reason', 'suppressionreason', 'description', 'error', 'cause', 'type', 'status'],
  why: ['why', 'origin', 'type', 'category', 'reason', 'suppressionreason', 'source', 'status'],
  since: ['since', 'createdat', 'created', 'date', 'timestamp', 'addedat'],
  expires: ['expiresat', 'expires', 'expiry'],
} as const

const anyOf = (cell: Cells, names: readonly string[]): string => cell(names.find((name) => cell(name)) ?? '')

/** Anything with a column of addresses. */
const csv: ListProvider = {
  name: 'csv',
  title: 'a list of addresses',
  knows: (has) => ALSO.email.some((name) => has(name)),
  read(cell) {
    const why = ALSO.why.map((name) => whyOf(cell(name))).find((one) => one !== undefined)
    const [words, since] = [anyOf(cell, ALSO.reason), anyOf(cell, ALSO.since)]
    return told(anyOf(cell, ALSO.email), why ?? 'import', words, since, anyOf(cell, ALSO.expires))
  },
}

/** The first that knows a list has it. */
const PROVIDERS: readonly ListProvider[] = [
  ...[postern, postmark, postal, sparkpost, mandrill, mailgun, sendgrid, brevo, ses, resend, csv],
]

export const PROVIDER_NAMES = PROVIDERS.map(({ name }) => name)

/** Null: none of them, or not the one that is wanted. */
export const providerOf = (names: ReadonlySet<string>, wanted: string | null): ListProvider | null => {
  const has = (...all: readonly string[]) => all.every((name) => names.has(name))
  return PROVIDERS.find(({ name, knows }) => (wanted === null || wanted === name) && knows(has)) ?? null
}

const LISTS = [
  ...([
    ['blocks', /block/],
    ['bounces', /bounce/],
    ['spam', /spam|complaint|abuse/],
  ] as const),
  ...([
    ['invalid', /invalid/],
    ['groups', /group|asm/],
    ['unsubscribes', /unsubscribe/],
  ] as const),
] as const

export const LIST_NAMES = LISTS.map(([name]) => name)

/** Which list of its provider a file is, by its name; '' where that does not say so, or says several. */
export const listNamed = (file: string): string => {
  const found = LISTS.filter(([, words]) => words.test(file.toLowerCase()))
  return found.length === 1 ? (found[0]?.[0] ?? '') : ''
}

/** Columns of a CSV without a header, by its first line. */
export const columnsWithoutHeader = (first: readonly string[]): readonly string[] =>
  /^(BOUNCE|COMPLAINT)$/.test(first[1] ?? '')
    ? ['emailaddress', 'reason', 'lastupdatetime']
    : ['email', 'reason', 'why', 'since', 'expires']
