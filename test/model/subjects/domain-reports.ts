/**
 * NAME      domain-reports - reports of receivers, by the domain that they are about
 */
import type { DomainReports } from '../../../src/store/port/tenants.js'
import type { Plain } from '../plain.js'
import type { State } from '../state.js'
import { listed } from '../tenants.js'

const DAY = 86_400_000

export const createDomainReports = ({ domains, domainReports }: State): Plain<DomainReports> => ({
  addDomainReport(row, most) {
    if (domains.get(row.domainId)?.accountId !== row.accountId) return 'no_domain'
    const own = domainReports.where(({ domainId }) => domainId === row.domainId)
    if (own.some(({ digest }) => digest === row.digest)) return 'known'
    if (own.filter(({ receivedAt }) => receivedAt > row.receivedAt - DAY).length >= most) return 'full'
    domainReports.add(row.id, row)
    return 'added'
  },
  domainReports: (domainId, { kind, from, to }, page) =>
    listed(
      domainReports,
      (row) =>
        row.domainId === domainId &&
        (kind === null || row.kind === kind) &&
        (from === null || row.begins >= from) &&
        (to === null || row.begins < to),
      page,
    ),
})
