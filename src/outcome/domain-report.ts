/**
 * NAME      domain-report - reports of receivers about our domains are read and kept
 *     They come to `dmarc-reports@` and `tls-reports@` of the bounce domain; either address takes both kinds.
 *     Anybody can send one, and nothing proves who did: it is kept for a domain that is here, as what its reporter says,
 *     once however often it comes, and so many of a domain a day, half of them from one client. Of the same domain in several accounts those have it
 *     whose domain DNS has verified.
 *     Reports are read one after another, so that many of them leave room for other work of the thread.
 *   NOTES
 *     A domain speaks for those under it: what is reported of news.shop.example is kept for shop.example, where
 *     nothing nearer is here.
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.js'
import { newId } from '../base/id.js'
import { clientOf } from '../base/network.js'
import {
  type DmarcCounts,
  type DmarcReport,
  type DmarcSource,
  type DomainReport,
  type DomainReportKind,
  readDomainReport,
  type TlsFailure,
  type TlsReport,
} from '../mail/report/domain-report.js'
import { UnreadableReportError } from '../mail/report/unpack.js'
import { isReportAddress } from '../mail/return-path.js'
import type { Store } from '../store/port/store.js'
import type { DomainReportRow, DomainRow, ReportedSource, SourceOrigin } from '../store/port/tenants.js'

interface DomainReportParts {
  readonly store: Pick<Store, 'allDomains' | 'addDomainReport'>
  readonly clock: Clock
  /** Of return paths, and of the addresses where these reports come. */
  readonly domain: string
}

/** What became of a mail that came there; fit for a log but for `reporter`, which is the writer's. */
export interface TakenReport {
  readonly kind: DomainReportKind | null
  /** `unreadable` says why in `why`; `none`: no report was in it. */
  readonly result: 'read' | 'known' | 'no_domain' | 'full' | 'unreadable' | 'none'
  readonly why: string | null
  readonly reporter: string | null
  /** Ids of those that it was kept for; of a report that is `full` those that had room. */
  readonly domains: readonly string[]
}

export interface DomainReportIntake {
  takesReports(address: string): boolean
  /** Resolves when it is on disk. `ip`: who brings it, where that is known. */
  takeReport(raw: Uint8Array, ip?: string): Promise<TakenReport>
}

const DAY = 86_400_000
const OLDEST = 90 * DAY
const AHEAD = 2 * DAY
/** More receivers than these report of no domain. */
const MOST_A_DAY = 200
/** From one client; the rest is for others. */
const MOST_OF_ONE = 100
const MOST_SOURCES = 100
/** Domains of ours that one report of a domain above them may be about. */
const MOST_BELOW = 10

const COUNTS = ['messages', 'dkim', 'spf', 'passed', 'quarantined', 'rejected'] as const

const added = (one: DmarcCounts, other: DmarcCounts): DmarcCounts =>
  Object.fromEntries(COUNTS.map((name) => [name, one[name] + other[name]])) as unknown as DmarcCounts

type Owners = ReadonlyMap<string, readonly DomainRow[]>

const ownersIn = (all: readonly DomainRow[]): Owners => {
  const byName = new Map<string, DomainRow[]>()
  for (const row of all) byName.set(row.name, [...(byName.get(row.name) ?? []), row])
  for (const [name, rows] of byName) {
    const verified = rows.filter(({ verifiedAt }) => verifiedAt !== null)
    if (verified.length > 0) byName.set(name, verified)
    else if (rows.length > 1) byName.delete(name)
  }
  return byName
}

/** The nearest name above a domain, or its own, that is here. */
const nearest = (owners: Owners, domain: string): string | null => {
  for (let name = domain; name !== ''; name = name.slice(name.indexOf('.') + 1)) {
    if (owners.has(name)) return name
    if (!name.includes('.')) break
  }
  return null
}

const isUnder = (name: string, domain: string): boolean => name === domain || name.endsWith(`.${domain}`)

const originOf = ({ name, keys }: DomainRow, bounces: string, source: DmarcSource): SourceOrigin => {
  if (source.returnPaths.includes(bounces)) return 'ours'
  return keys.some(({ selector }) => source.signedBy.includes(`${selector}._domainkey.${name}`))
    ? 'signed'
    : 'unknown'
}

const RANK: readonly SourceOrigin[] = ['ours', 'signed', 'unknown']

/** The same address is one source, whatever domain under this one it named; the busiest are listed, ours before others. */
const sourcesOf = (
  row: DomainRow,
  bounces: string,
  sources: readonly DmarcSource[],
  others: DmarcCounts,
): readonly ReportedSource[] => {
  const found = new Map<string, ReportedSource>()
  for (const source of sources) {
    const { address } = source
    const known = found.get(address)
    const origins = [originOf(row, bounces, source), ...(known === undefined ? [] : [known.origin])]
    const origin = RANK.find((one) => origins.includes(one)) ?? 'unknown'
    found.set(address, { address, origin, ...added(source, known ?? NOTHING) })
  }
  const listed = [...found.values()].sort(
    (a, b) => RANK.indexOf(a.origin) - RANK.indexOf(b.origin) || b.messages - a.messages,
  )
  const rest = listed.slice(MOST_SOURCES).reduce(added, others)
  return rest.messages === 0
    ? listed.slice(0, MOST_SOURCES)
    : [...listed.slice(0, MOST_SOURCES), { address: null, origin: 'unknown', ...rest }]
}

const NOTHING: DmarcCounts = { messages: 0, dkim: 0, spf: 0, passed: 0, quarantined: 0, rejected: 0 }

type About = Pick<DomainReportRow, 'total' | 'failed' | 'policy' | 'sources' | 'failures'>
type Aboutness = readonly (readonly [DomainRow, About])[]

const aboutDmarc = (report: DmarcReport, owners: Owners, bounces: string): Aboutness => {
  const byName = new Map<string, DmarcSource[]>()
  const home = nearest(owners, report.domain)
  if (home !== null) byName.set(home, [])
  // the record of shop.example is that of news.shop.example, too; `example` has none
  else if (!report.domain.includes('.')) return []
  for (const source of report.sources) {
    const name = isUnder(source.domain, report.domain) ? nearest(owners, source.domain) : home
    if (name !== null) byName.set(name, [...(byName.get(name) ?? []), source])
  }
  // a forged one of `co.uk` would be about everybody
  if (home === null && byName.size > MOST_BELOW) return []
  return [...byName].flatMap(([name, sources]) =>
    (owners.get(name) ?? []).map((row) => {
      const all = sourcesOf(row, bounces, sources, name === home ? report.others : NOTHING)
      const { messages, passed } = all.reduce<DmarcCounts>(added, NOTHING)
      return [
        row,
        { total: messages, failed: messages - passed, policy: report.policy, sources: all, failures: [] },
      ] as const
    }),
  )
}

const aboutTls = ({ policies }: TlsReport, owners: Owners): Aboutness => {
  const byName = new Map<string, TlsReport['policies'][number][]>()
  for (const policy of policies) {
    const name = nearest(owners, policy.domain)
    if (name !== null) byName.set(name, [...(byName.get(name) ?? []), policy])
  }
  const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0)
  return [...byName].flatMap(([name, own]) => {
    const failures: readonly TlsFailure[] = own.flatMap((one) => one.failures).slice(0, MOST_SOURCES)
    const about: About = {
      total: sum(own.map(({ sessions }) => sessions)),
      failed: sum(own.map(({ failed }) => failed)),
      policy: [...new Set(own.map(({ policy }) => policy))].join(', ').slice(0, 200),
      sources: [],
      failures,
    }
    return (owners.get(name) ?? []).map((row) => [row, about] as const)
  })
}

const reportedIn = (report: DomainReport): readonly string[] =>
  report.kind === 'dmarc' ? [report.domain] : report.policies.map(({ domain }) => domain)

/** Some reporters give several reports the same id. */
const digestOf = (report: DomainReport): string => {
  const { kind, reporter, reportId, begins, ends } = report
  return createHash('sha256')
    .update(JSON.stringify([kind, reporter, reportId, begins, ends, ...reportedIn(report)]))
    .digest('base64url')
    .slice(0, 22)
}

const rowOf = (report: DomainReport, domain: DomainRow, about: About, now: number): DomainReportRow => ({
  id: newId('rpt', now),
  accountId: domain.accountId,
  domainId: domain.id,
  kind: report.kind,
  digest: digestOf(report),
  reporter: report.reporter,
  contact: report.contact,
  reportId: report.reportId,
  begins: report.begins,
  ends: report.ends,
  receivedAt: now,
  ...about,
})

const NOT_TAKEN: TakenReport = { kind: null, result: 'none', why: null, reporter: null, domains: [] }

/** What each client brought about each domain, since this process began or the day did. */
interface Brought {
  day: number
  readonly counts: Map<string, number>
}

/** How many of a domain there may be before one more of this client; what is known stays so. */
const roomFor = ({ counts }: Brought, place: string): number =>
  (counts.get(place) ?? 0) < MOST_OF_ONE ? MOST_A_DAY : 0

const keep = async (
  parts: DomainReportParts,
  report: DomainReport,
  brought: Brought,
  ip: string | undefined,
): Promise<TakenReport> => {
  const { store, clock, domain } = parts
  const now = clock.now()
  const { kind, reporter } = report
  const taken = { ...NOT_TAKEN, kind, reporter }
  if (report.ends > now + AHEAD || report.begins < now - OLDEST)
    return { ...taken, result: 'unreadable', why: 'it is about a time that is long ago, or to come' }
  if (brought.day !== Math.floor(now / DAY)) brought.counts.clear()
  brought.day = Math.floor(now / DAY)
  const owners = ownersIn(await store.allDomains())
  const about = kind === 'dmarc' ? aboutDmarc(report, owners, domain.toLowerCase()) : aboutTls(report, owners)
  const results: Awaited<ReturnType<typeof store.addDomainReport>>[] = []
  const domains: string[] = []
  for (const [row, one] of about) {
    const place = `${row.id} ${ip === undefined ? '' : clientOf(ip)}`
    const most = ip === undefined ? MOST_A_DAY : roomFor(brought, place)
    const result = await store.addDomainReport(rowOf(report, row, one, now), most)
    results.push(result)
    if (result !== 'added') continue
    domains.push(row.id)
    brought.counts.set(place, (brought.counts.get(place) ?? 0) + 1)
  }
  // one that is full comes again, and what was kept of it is known then
  const result = (['full', 'added', 'known'] as const).find((one) => results.includes(one)) ?? 'no_domain'
  return { ...taken, result: result === 'added' ? 'read' : result, domains }
}

const take = async (
  parts: DomainReportParts,
  raw: Uint8Array,
  brought: Brought,
  ip: string | undefined,
): Promise<TakenReport> => {
  try {
    const report = await readDomainReport(raw)
    return report === null ? NOT_TAKEN : await keep(parts, report, brought, ip)
  } catch (error) {
    if (!(error instanceof UnreadableReportError)) throw error
    return { ...NOT_TAKEN, result: 'unreadable', why: error.message }
  }
}

/** `note` hears what became of each. */
export const createDomainReportIntake = (
  parts: DomainReportParts,
  note: (taken: TakenReport) => void = () => {},
): DomainReportIntake => {
  const brought: Brought = { day: 0, counts: new Map() }
  let before: Promise<unknown> = Promise.resolve()
  return {
    takesReports: (address) => isReportAddress(address, parts.domain),
    async takeReport(raw, ip) {
      const mine = before.then(() => take(parts, raw, brought, ip))
      before = mine.catch(() => {})
      const taken = await mine
      note(taken)
      return taken
    },
  }
}
