/**
 * NAME      domain-report - what receivers report of a domain: DMARC (RFC 7489 appendix C, RFC 9990) and TLS (RFC 8460)
 * DESCRIPTION
 *   The reading of one report, as a value. All of it is what somebody says who need not be who he says: whether the
 *   domain is one of ours, and which sources are, is for outcome/ to decide.
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

export interface TlsPolicy {
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
