/**
 * NAME      reports - what receivers reported of a domain, added up
 *   The newest thousand of a span are counted, a page at a time, so that a domain about which somebody sends thousands
 *   of made-up reports costs no more than a large one.
 */
import { pagesOf } from '../../lifecycle/page.js'
import { type Counted, type CountedSource, type ReportSummary, reportRecords } from '../../resource/domain.js'
import type {
  DomainReportRow,
  DomainReports,
  DomainRow,
  ReportedSource,
  SourceOrigin,
} from '../../store/port/tenants.js'

const MOST = 1_000
const LISTED = 100
const DAY = 86_400_000
/** What is counted where nobody says how far back. */
const USUAL_SPAN = 30 * DAY

const NOTHING: Counted = { messages: 0, passed: 0, failed: 0, dkim: 0, spf: 0, quarantined: 0, rejected: 0 }

const added = (sum: Counted, one: Omit<ReportedSource, 'address' | 'origin'>): Counted => ({
  messages: sum.messages + one.messages,
  passed: sum.passed + one.passed,
  failed: sum.failed + one.messages - one.passed,
  dkim: sum.dkim + one.dkim,
  spf: sum.spf + one.spf,
  quarantined: sum.quarantined + one.quarantined,
  rejected: sum.rejected + one.rejected,
})

/** An address is once ours for good: a report that does not tell it says nothing else. */
const RANK: readonly SourceOrigin[] = ['ours', 'signed', 'unknown']

const busiest = (sources: readonly CountedSource[]): readonly CountedSource[] => {
  const named = sources.filter(({ address }) => address !== null).sort((a, b) => b.messages - a.messages)
  const rest = [...sources.filter(({ address }) => address === null), ...named.slice(LISTED)]
  const others = rest.reduce<Counted>(added, NOTHING)
  return others.messages === 0
    ? named.slice(0, LISTED)
    : [...named.slice(0, LISTED), { address: null, origin: 'unknown', ...others }]
}

const sourcesOf = (rows: readonly DomainReportRow[]): readonly CountedSource[] => {
  const found = new Map<string | null, CountedSource>()
  for (const one of rows.flatMap(({ sources }) => sources)) {
    const known = found.get(one.address)
    const origin = RANK.find((rank) => rank === one.origin || rank === known?.origin) ?? 'unknown'
    found.set(one.address, { address: one.address, origin, ...added(known ?? NOTHING, one) })
  }
  return [...found.values()]
}

const tlsOf = (rows: readonly DomainReportRow[]): ReportSummary['tls'] => {
  const found = new Map<string, DomainReportRow['failures'][number]>()
  for (const one of rows.flatMap(({ failures }) => failures)) {
    const key = `${one.type} ${one.mx ?? ''}`
    found.set(key, { ...one, sessions: one.sessions + (found.get(key)?.sessions ?? 0) })
  }
  const tls = rows.filter(({ kind }) => kind === 'tls')
  return {
    sessions: tls.reduce((sum, { total }) => sum + total, 0),
    failed: tls.reduce((sum, { failed }) => sum + failed, 0),
    failures: [...found.values()].sort((a, b) => b.sessions - a.sessions).slice(0, LISTED),
  }
}

const reportersOf = (rows: readonly DomainReportRow[]): ReportSummary['reporters'] => {
  const found = new Map<string, ReportSummary['reporters'][number]>()
  for (const { kind, reporter, total, failed } of rows) {
    const known = found.get(`${kind} ${reporter}`) ?? { kind, reporter, reports: 0, total: 0, failed: 0 }
    found.set(`${kind} ${reporter}`, {
      ...known,
      reports: known.reports + 1,
      total: known.total + total,
      failed: known.failed + failed,
    })
  }
  return [...found.values()].sort((a, b) => b.total - a.total).slice(0, LISTED)
}

/** null: for thirty days, and until now. */
export interface ReportSpan {
  readonly since: number | null
  readonly until: number | null
}

export const boundsOf = ({ since, until }: ReportSpan, now: number) => {
  const to = until ?? now
  return { from: since ?? to - USUAL_SPAN, to }
}

export const summariseReports = async (
  store: Pick<DomainReports, 'domainReports'>,
  domain: DomainRow,
  bounceDomain: string,
  span: ReportSpan,
  now: number,
): Promise<ReportSummary> => {
  const { from, to } = boundsOf(span, now)
  const rows: DomainReportRow[] = []
  let isCut = false
  const fetch = (page: Parameters<typeof store.domainReports>[2]) =>
    store.domainReports(domain.id, { kind: null, from, to }, page)
  for await (const page of pagesOf(fetch, MOST)) {
    rows.push(...page.rows)
    isCut = page.hasOlder
  }
  const sources = sourcesOf(rows)
  const own = sources.filter(({ origin }) => origin !== 'unknown')
  return {
    domain: domain.name,
    begins: from,
    ends: to,
    reports: rows.length,
    isCut,
    policy: rows.find(({ kind }) => kind === 'dmarc')?.policy ?? null,
    mail: sources.reduce<Counted>(added, NOTHING),
    own: own.reduce<Counted>(added, NOTHING),
    sources: busiest(sources),
    reporters: reportersOf(rows),
    tls: tlsOf(rows),
    publish: reportRecords(domain.name, bounceDomain),
  }
}
