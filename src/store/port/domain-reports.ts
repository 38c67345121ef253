/**
 * NAME      port/domain-reports - what receivers reported of a domain: DMARC and TLS
 * DESCRIPTION
 *   A row is one report about one domain, with what it says of each source. It goes with its domain, and by age.
 */
import type { Page, Rows } from '../../lifecycle/page.js'
import type { DmarcCounts, DomainReportKind, TlsFailure } from '../../mail/report/domain-report.js'

/**
 * Whose mail a source sent, as far as the report tells: `ours` had our return path and passed SPF with it,
 * `signed` had a signature of one of the domain's keys that passed (a forwarder, or an upstream with a return path of its
 * own), `unknown` neither.
 */
export const SOURCE_ORIGINS = ['ours', 'signed', 'unknown'] as const
export type SourceOrigin = (typeof SOURCE_ORIGINS)[number]

export interface ReportedSource extends DmarcCounts {
  /** null: all that are not listed. */
  readonly address: string | null
  readonly origin: SourceOrigin
}

export interface DomainReportRow {
  /** `rpt_...` */
  readonly id: string
  readonly accountId: string
  readonly domainId: string
  readonly kind: DomainReportKind
  /** Of who reports what about which span, and what he calls it: it is kept once. */
  readonly digest: string
  readonly reporter: string
  readonly contact: string | null
  readonly reportId: string
  readonly begins: number
  readonly ends: number
  readonly receivedAt: number
  /** Mails, or sessions. */
  readonly total: number
  readonly failed: number
  /** As it was published. */
  readonly policy: string
  /** Of DMARC. */
  readonly sources: readonly ReportedSource[]
  /** Of TLS. */
  readonly failures: readonly TlsFailure[]
}

/** By when what is reported began. */
export interface ReportFilter {
  readonly kind: DomainReportKind | null
  readonly from: number | null
  readonly to: number | null
}

export interface DomainReports {
  /**
   * `known`: it is there already. `full`: of the domain `most` came within a day before this one. `no_domain`: it is
   * gone.
   */
  addDomainReport(row: DomainReportRow, most: number): Promise<'added' | 'known' | 'full' | 'no_domain'>
  domainReports(domainId: string, filter: ReportFilter, page: Page): Promise<Rows<DomainReportRow>>
}
