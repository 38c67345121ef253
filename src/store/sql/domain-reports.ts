/**
 * NAME      domain-reports - reports of receivers, by the domain that they are about
 */
import type { DomainReportRow, DomainReports } from '../port/domain-reports.js'
import { type AskedReads, type AskedWrites, type Asking, first, run } from './query.js'
import { insertNew, isThere, type Places, pagesOf, table } from './table.js'

const REPORTS = table<DomainReportRow>('domain_reports', {
  id: 'plain',
  accountId: 'plain',
  domainId: 'plain',
  kind: 'plain',
  digest: 'plain',
  reporter: 'plain',
  contact: 'plain',
  reportId: 'plain',
  begins: 'plain',
  ends: 'plain',
  receivedAt: 'plain',
  total: 'plain',
  failed: 'plain',
  policy: 'plain',
  sources: 'json',
  failures: 'json',
})

export const DOMAIN_REPORTS_STEP = `
CREATE TABLE domain_reports (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  domain_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  digest TEXT NOT NULL,
  reporter TEXT NOT NULL,
  contact TEXT,
  report_id TEXT NOT NULL,
  begins INTEGER NOT NULL,
  ends INTEGER NOT NULL,
  received_at INTEGER NOT NULL,
  total INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  policy TEXT NOT NULL,
  sources TEXT NOT NULL, -- JSON
  failures TEXT NOT NULL, -- JSON
  ord INTEGER NOT NULL,
  UNIQUE (domain_id, digest)
);
CREATE INDEX domain_reports_domain ON domain_reports (domain_id, ord);
CREATE INDEX domain_reports_came ON domain_reports (domain_id, received_at);
CREATE INDEX domain_reports_age ON domain_reports (received_at);
`

const DAY = 86_400_000
const STEP = 200

const pages = pagesOf(REPORTS)

export const domainReportReads: AskedReads<DomainReports> = {
  domainReports(domainId, { kind, from, to }, page) {
    const wanted = [
      ['kind = ?', kind],
      ['begins >= ?', from],
      ['begins < ?', to],
    ].filter(([, value]) => value !== null)
    const where = ['domain_id = ?', ...wanted.map(([text]) => text)].join(' AND ')
    return pages(where, [domainId, ...wanted.map(([, value]) => value)], page)
  },
}

export const domainReportWrites = (places: Places): AskedWrites<DomainReports> => {
  const add = insertNew(REPORTS, places)
  return {
    *addDomainReport(row, most) {
      const { accountId, domainId, digest, receivedAt } = row
      const mine = 'SELECT 1 FROM domains WHERE account_id = ? AND id = ?'
      if (!(yield* isThere(mine, accountId, domainId))) return 'no_domain'
      const same = 'SELECT 1 FROM domain_reports WHERE domain_id = ? AND digest = ?'
      if (yield* isThere(same, domainId, digest)) return 'known'
      const text = 'SELECT count(*) AS n FROM domain_reports WHERE domain_id = ? AND received_at > ?'
      if (Number((yield* first(text, domainId, receivedAt - DAY))?.n) >= most) return 'full'
      return (yield* add(row)) ? 'added' : 'known'
    },
  }
}

const OLD = `DELETE FROM domain_reports WHERE id IN
  (SELECT id FROM domain_reports WHERE received_at < ? LIMIT ${STEP})`

/** How many of those that came before this time are gone. */
export const sweepDomainReports = (before: number): Asking<number> => run(OLD, before)
