/**
 * NAME      dmarc - an aggregate report about DMARC (RFC 7489 appendix C, RFC 9990), out of its XML
 * DESCRIPTION
 *   Elements are known by where they stand, without the prefix of a namespace; what is unknown is passed over. A
 *   document type is refused, so there are no entities but the five of XML and characters by number.
 */
import type { DmarcCounts, DmarcReport, DmarcSource } from './domain-report.js'
import { addressIn, countIn, domainIn, spanOf, worded } from './report-words.js'
import { refuse } from './unpack.js'

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

export const readDmarc = async (pieces: AsyncIterable<Buffer>): Promise<DmarcReport> => {
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
