/**
 * NAME      tls-report - a report about TLS (RFC 8460), out of its JSON
 */
import type { TlsFailure, TlsPolicy, TlsReport } from './domain-report.js'
import { countIn, domainIn, spanOf, worded } from './report-words.js'
import { refuse } from './unpack.js'

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

export const readTlsReport = async (pieces: AsyncIterable<Buffer>): Promise<TlsReport> => {
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
