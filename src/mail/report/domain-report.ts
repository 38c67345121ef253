import { isIP, SocketAddress } from 'node:net'
import { wellFormed } from '../encoding.js'
import { attachmentsIn, type Form, formOf, refuse, UnreadableReportError, unpacked } from './unpack.js'

/**
 * NAME      domain-report - what receivers report of a domain: DMARC (RFC 7489 appendix C, RFC 9990) and TLS (RFC 8460)
 * DESCRIPTION
 *   Reads the report that a mail brings, as a value. All of it is what somebody says who need not be who he says: whether
 *   the domain is one of ours, and which sources are, is for outcome/ to decide.
 *   The first part that holds is read as a whole; where none does, the reason is thrown (UnreadableReportError), and a
 *   mail that has none in it is null. Rows are added up by their source as they come, so that a report of a hundred
 *   thousand takes no more memory than one of a hundred; where there are too many sources, the rest counts without its
 *   source.
 * NOTES
 *   Elements of the XML are known by where they stand, without the prefix of a namespace; what is unknown is passed over.
 *   A document type is refused, so there are no entities but the five of XML and characters by number.
 */
export type DomainReportKind = 'dmarc' | 'tls'

export interface DmarcCounts {
  readonly messages: number
  /** Of them with a signature, or a return path, that passed and fits the domain. */
  readonly dkim: number
  readonly spf: number
  /** With one of the two. */
  readonly passed: number
  readonly quarantined: number
  readonly rejected: number
}

/** Mails of one address that named one domain in From. */
export interface DmarcSource extends DmarcCounts {
  /** The domain of From, lower case. */
  readonly domain: string
  readonly address: string
  /** `selector._domainkey.domain` of some signatures that passed, whatever their domain. */
  readonly signedBy: readonly string[]
  /** Domains of some return paths that passed SPF. */
  readonly returnPaths: readonly string[]
}

export interface TlsFailure {
  /** Such as `certificate-expired`. */
  readonly type: string
  /** Of the receiver. */
  readonly mx: string | null
  readonly sessions: number
}

interface Told {
  readonly reporter: string
  readonly contact: string | null
  readonly reportId: string
  /** Epoch milliseconds. */
  readonly begins: number
  readonly ends: number
}

export interface DmarcReport extends Told {
  readonly kind: 'dmarc'
  readonly domain: string
  /** As it was published: `p=reject; adkim=s`. */
  readonly policy: string
  readonly sources: readonly DmarcSource[]
  /** What is not in `sources`. */
  readonly others: DmarcCounts
}

interface TlsPolicy {
  readonly domain: string
  /** `sts`, `tlsa`, `no-policy-found`. */
  readonly policy: string
  readonly sessions: number
  readonly failed: number
  readonly failures: readonly TlsFailure[]
}

export interface TlsReport extends Told {
  readonly kind: 'tls'
  readonly policies: readonly TlsPolicy[]
}

export type DomainReport = DmarcReport | TlsReport

/* Words of a report, checked. */

const DAY = 86_400_000
const LONGEST = 32 * DAY

/** On one line, and of a bounded length. */
const worded = (text: unknown, most = 200): string =>
  typeof text === 'string'
    ? wellFormed(text.slice(0, most * 4))
        .replace(/\s+/g, ' ')
        .trim()
        .slice(0, most)
    : ''

/** A domain as it is compared; empty when it is none. */
const domainIn = (text: unknown): string => {
  const name = worded(text, 254).toLowerCase().replace(/\.$/, '')
  return /^[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9])?$/.test(name) ? name : ''
}

/** Null: no address. */
const addressIn = (text: string): string | null => {
  const family = isIP(text)
  if (family === 0 || text.includes('%')) return null
  return family === 4 ? text : new SocketAddress({ address: text, family: 'ipv6' }).address
}

const COUNT = /^\d{1,9}$/

/** A number of mails or sessions: whole, not negative, below a thousand million. */
const countIn = (value: unknown): number =>
  (typeof value === 'string' || typeof value === 'number') && COUNT.test(String(value))
    ? Number(value)
    : refuse('a count that is no number of mails or sessions')

/** The time that it is about: at most a month long. */
const spanOf = (begins: number, ends: number): { readonly begins: number; readonly ends: number } => {
  if (!Number.isSafeInteger(begins) || !Number.isSafeInteger(ends) || begins < 0)
    return refuse('its times are missing or none')
  if (ends < begins || ends - begins > LONGEST) return refuse('it is not about a span of up to a month')
  return { begins, ends }
}

/* DMARC, out of XML. */

const MOST_SOURCES = 2_000
const MOST_DEPTH = 16
const MOST_TEXT = 1_000
const MOST_SIGNERS = 4

type Mutable<T> = { -readonly [K in keyof T]: T[K] extends readonly (infer E)[] ? E[] : T[K] }
type Counts = Mutable<DmarcCounts>

const NONE: DmarcCounts = { messages: 0, dkim: 0, spf: 0, passed: 0, quarantined: 0, rejected: 0 }

/** Texts by the path of their element. */
type Texts = Map<string, string>

const PUBLISHED = ['p', 'sp', 'np', 'adkim', 'aspf', 'pct', 't', 'testing'] as const

/** What is read; all else is passed over. */
const READ: ReadonlySet<string> = new Set([
  ...['org_name', 'email', 'report_id', 'date_range/begin', 'date_range/end'].map(
    (name) => `report_metadata/${name}`,
  ),
  ...['domain', ...PUBLISHED].map((name) => `policy_published/${name}`),
  ...['row/source_ip', 'row/count', 'identifiers/header_from'].map((name) => `record/${name}`),
  ...['disposition', 'dkim', 'spf'].map((name) => `record/row/policy_evaluated/${name}`),
  ...['domain', 'selector', 'result'].map((name) => `record/auth_results/dkim/${name}`),
  ...['domain', 'result'].map((name) => `record/auth_results/spf/${name}`),
])

const addTo = (sum: Counts, count: number, texts: Texts): void => {
  const says = (what: string): string => texts.get(`row/policy_evaluated/${what}`)?.toLowerCase() ?? ''
  const [dkim, spf] = [says('dkim') === 'pass', says('spf') === 'pass']
  sum.messages += count
  sum.dkim += dkim ? count : 0
  sum.spf += spf ? count : 0
  sum.passed += dkim || spf ? count : 0
  sum.quarantined += says('disposition') === 'quarantine' ? count : 0
  sum.rejected += says('disposition') === 'reject' ? count : 0
}

const note = (list: string[], one: string): void => {
  if (one !== '' && list.length < MOST_SIGNERS && !list.includes(one)) list.push(one)
}

/** What is gathered while the document goes by. */
class Gathering {
  readonly texts: Texts = new Map()
  readonly sources = new Map<string, Mutable<DmarcSource>>()
  readonly others: Counts = { ...NONE }
  #record: Texts = new Map()
  #signed: string[] = []
  #paths: string[] = []

  text(path: string, text: string): void {
    if (!READ.has(path)) return
    if (!path.startsWith('record/')) this.texts.set(path, text)
    else this.#record.set(path.slice(7), text)
  }

  /** Its results come after one another, under the same names. */
  private ended(method: 'dkim' | 'spf'): void {
    const of = (name: string): string => this.#record.get(`auth_results/${method}/${name}`) ?? ''
    const domain = domainIn(of('domain'))
    if (of('result').toLowerCase() === 'pass' && domain !== '') {
      if (method === 'spf') note(this.#paths, domain)
      else note(this.#signed, domainIn(`${of('selector')}._domainkey.${domain}`))
    }
    for (const name of ['domain', 'selector', 'result']) this.#record.delete(`auth_results/${method}/${name}`)
  }

  private record(): void {
    const texts = this.#record
    const address = addressIn(worded(texts.get('row/source_ip'), 60)) ?? refuse('a source that is no address')
    const count = countIn(texts.get('row/count')?.trim())
    const domain = domainIn(texts.get('identifiers/header_from'))
    const key = `${domain} ${address}`
    let sum = this.sources.get(key)
    if (sum === undefined && this.sources.size < MOST_SOURCES) {
      sum = { domain, address, ...NONE, signedBy: [], returnPaths: [] }
      this.sources.set(key, sum)
    }
    addTo(sum ?? this.others, count, texts)
    for (const one of this.#signed) if (sum !== undefined) note(sum.signedBy, one)
    for (const one of this.#paths) if (sum !== undefined) note(sum.returnPaths, one)
    this.#record = new Map()
    this.#signed = []
    this.#paths = []
  }

  ends(path: string): void {
    if (path === 'record') this.record()
    else if (path === 'record/auth_results/dkim') this.ended('dkim')
    else if (path === 'record/auth_results/spf') this.ended('spf')
  }
}

const reportOf = ({ texts, sources, others }: Gathering): DmarcReport => {
  const of = (path: string): string => worded(texts.get(path))
  const seconds = (name: string): number => {
    const text = of(`report_metadata/date_range/${name}`)
    return /^\d{1,11}(?:\.\d{1,9})?$/.test(text) ? Math.floor(Number(text)) * 1000 : Number.NaN
  }
  const domain = domainIn(of('policy_published/domain'))
  const [reporter, reportId] = [of('report_metadata/org_name'), of('report_metadata/report_id')]
  if (reporter === '' || reportId === '' || domain === '') return refuse('it lacks what each report has')
  return {
    kind: 'dmarc',
    reporter,
    reportId,
    contact: of('report_metadata/email') || null,
    ...spanOf(seconds('begin'), seconds('end')),
    domain,
    policy: PUBLISHED.flatMap((name) => {
      const value = worded(texts.get(`policy_published/${name}`), 20)
      return value === '' ? [] : [`${name}=${value}`]
    }).join('; '),
    sources: [...sources.values()],
    others,
  }
}

const ENCODINGS = new Set(['utf-8', 'utf8', 'us-ascii', 'ascii', 'iso-8859-1', 'iso-8859-15', 'windows-1252'])

/** Of a declaration that is read octet by octet, and so is in none of these: .NET writes it so. */
const WIDE_NAMES = new Set(['utf-16', 'utf-16le', 'utf-16be', 'unicode'])

const decoderFor = (first: Buffer): TextDecoder => {
  const begins = first.toString('latin1', 0, 200)
  if (begins.startsWith('\xff\xfe')) return new TextDecoder('utf-16le')
  if (begins.startsWith('\xfe\xff')) return new TextDecoder('utf-16be')
  const said = /^(?:\xef\xbb\xbf)?\s*<\?xml[^>]*?\bencoding\s*=\s*["']([\w.-]{1,40})["']/.exec(begins)?.[1]
  const name = said?.toLowerCase() ?? 'utf-8'
  if (WIDE_NAMES.has(name)) return new TextDecoder()
  return new TextDecoder(ENCODINGS.has(name) ? name : refuse('in an encoding that is not read'))
}

/** Hears the parser; `isWhole` once the first element was closed. */
const createListener = (to: Gathering) => {
  const path: string[] = []
  let text = ''
  const heard = {
    isWhole: false,
    onopentagname(name: string): void {
      const local = name.slice(name.lastIndexOf(':') + 1).slice(0, 60)
      if (path.length === 0 && (local !== 'feedback' || heard.isWhole)) refuse('XML of another kind')
      if (path.push(local) > MOST_DEPTH) refuse('XML that is nested too deeply')
      text = ''
    },
    ontext(some: string): void {
      if (text.length < MOST_TEXT) text += some.slice(0, MOST_TEXT - text.length)
    },
    onclosetag(_name: string, isImplied: boolean): void {
      const at = path.slice(1).join('/')
      if (text.trim() !== '') to.text(at, text)
      text = ''
      to.ends(at)
      path.pop()
      if (path.length === 0) heard.isWhole = !isImplied
    },
    onprocessinginstruction(name: string): void {
      if (name.startsWith('!')) refuse('XML with a document type')
    },
  }
  return heard
}

const readDmarc = async (pieces: AsyncIterable<Buffer>): Promise<DmarcReport> => {
  const { Parser } = await import('htmlparser2')
  const gathered = new Gathering()
  const heard = createListener(gathered)
  const parser = new Parser(heard, { xmlMode: true })
  let decoder: TextDecoder | null = null
  for await (const piece of pieces) {
    decoder ??= decoderFor(piece)
    parser.write(decoder.decode(piece, { stream: true }))
  }
  parser.end()
  return heard.isWhole ? reportOf(gathered) : refuse('XML that is not whole')
}

/* TLS, out of JSON. */

/** JSON is read as a whole, while all others wait. */
const MOST_OCTETS = 1024 * 1024
const MOST_POLICIES = 200
const MOST_FAILURES = 50

type Members = Readonly<Record<string, unknown>>

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** The same type at the same receiver is one failure; the rarest are left out where there are too many. */
const failuresOf = (details: readonly unknown[]): readonly TlsFailure[] => {
  const found = new Map<string, TlsFailure>()
  for (const detail of details) {
    const one = membersOf(detail)
    const type = worded(one['result-type'], 60).toLowerCase() || 'unknown'
    const mx = domainIn(one['receiving-mx-hostname']) || null
    const key = `${type} ${mx ?? ''}`
    const sessions = countIn(one['failed-session-count'] ?? 0) + (found.get(key)?.sessions ?? 0)
    if (found.has(key) || found.size < 1_000) found.set(key, { type, mx, sessions })
  }
  return [...found.values()].sort((a, b) => b.sessions - a.sessions).slice(0, MOST_FAILURES)
}

const policyOf = (value: unknown): TlsPolicy => {
  const { policy, summary, 'failure-details': details } = membersOf(value)
  const of = membersOf(policy)
  const domain = domainIn(of['policy-domain'])
  if (domain === '') return refuse('a policy without its domain')
  const failed = countIn(membersOf(summary)['total-failure-session-count'])
  return {
    domain,
    policy: worded(of['policy-type'], 60).toLowerCase() || 'unknown',
    sessions: failed + countIn(membersOf(summary)['total-successful-session-count']),
    failed,
    failures: failuresOf(listOf(details)),
  }
}

const jsonOf = async (pieces: AsyncIterable<Buffer>): Promise<unknown> => {
  const all: Buffer[] = []
  let size = 0
  for await (const piece of pieces) {
    size += piece.length
    if (size > MOST_OCTETS) refuse('larger than 1 MiB')
    all.push(piece)
  }
  try {
    return JSON.parse(
      Buffer.concat(all)
        .toString()
        .replace(/^\ufeff/, ''),
    )
  } catch {
    return refuse('JSON that is broken')
  }
}

const readTlsReport = async (pieces: AsyncIterable<Buffer>): Promise<TlsReport> => {
  const report = membersOf(await jsonOf(pieces))
  const range = membersOf(report['date-range'])
  const [begins, ends] = [range['start-datetime'], range['end-datetime']].map((at) => Date.parse(worded(at)))
  const [reporter, reportId] = [worded(report['organization-name']), worded(report['report-id'])]
  const policies = listOf(report.policies)
  if (reporter === '' || reportId === '' || policies.length === 0)
    return refuse('it lacks what each report has')
  if (policies.length > MOST_POLICIES) return refuse('of too many policies')
  return {
    kind: 'tls',
    reporter,
    reportId,
    contact: worded(report['contact-info']) || null,
    ...spanOf(begins as number, ends as number),
    policies: policies.map(policyOf),
  }
}

/** Parts that look like a report and are none, such as words that begin with a brace; each may cost as much as a report. */
const MOST_UNREADABLE = 3

const readOctets = async (octets: Buffer, form: Form): Promise<DomainReport | null> => {
  const text = unpacked(octets, form)
  const first = await text.next()
  const inner = first.done === true ? null : formOf(first.value)
  async function* all(): AsyncGenerator<Buffer> {
    if (first.done !== true) yield first.value
    yield* text
  }
  if (inner === 'xml') return readDmarc(all())
  if (inner === 'json') return readTlsReport(all())
  await text.return(undefined)
  return null
}

/** Null: the mail has no report in it. */
export const readDomainReport = async (raw: Uint8Array): Promise<DomainReport | null> => {
  const unreadable: UnreadableReportError[] = []
  for await (const octets of attachmentsIn(raw)) {
    const form = formOf(octets)
    if (form === null) continue
    try {
      const report = await readOctets(octets, form)
      if (report !== null) return report
    } catch (error) {
      if (!(error instanceof UnreadableReportError)) throw error
      unreadable.push(error)
      if (unreadable.length === MOST_UNREADABLE) break
    }
  }
  // the last: what comes before the report itself is words for people
  const last = unreadable.at(-1)
  if (last !== undefined) throw last
  return null
}
