/** contract-domain-reports - each report is kept once of a domain, and goes with it or by its age */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import { collect } from '../../src/lifecycle/page.js'
import type { DomainReportRow, DomainRow, ReportFilter } from '../../src/store/port/tenants.js'
import { domainFor } from './contract-domains.js'
import { addWorkspace, newAccount, type OpenStore, page, T0 } from './fixture.js'

const DAY = 86_400_000
const HOUR = 3_600_000
const LONG = { bodiesMs: 900 * DAY, emailsMs: 900 * DAY }
const ALL: ReportFilter = { kind: null, from: null, to: null }

export const domainReportFor = (
  { id, accountId }: Pick<DomainRow, 'id' | 'accountId'>,
  over: Partial<DomainReportRow> = {},
): DomainReportRow => ({
  ...{ id: newId('rpt'), accountId, domainId: id, kind: 'dmarc', digest: newId('rpt') },
  ...{ reporter: 'google.com', contact: null, reportId: '1', policy: 'p=none' },
  ...{ begins: T0 - DAY, ends: T0 - 1, receivedAt: T0, total: 7, failed: 2 },
  sources: [
    {
      ...{ address: '192.0.2.1', origin: 'ours', messages: 7, dkim: 5, spf: 3, passed: 5 },
      ...{ quarantined: 1, rejected: 1 },
    },
  ],
  failures: [],
  ...over,
})

export const domainReportsContract = async (t: Test, open: OpenStore): Promise<void> => {
  const store = await open(t)
  const at = await newAccount(store)
  const add = async (name: string, over: Partial<DomainRow> = {}): Promise<DomainRow> => {
    const row = domainFor(at, name, over)
    await store.createDomain(row)
    return row
  }
  const idsOf = async (domainId: string, filter = ALL) =>
    (await collect((one) => store.domainReports(domainId, filter, one))).map(({ id }) => id)

  await t.test('kept once, newest first, of one domain alone', async (t) => {
    const [one, other] = [await add('r1.example'), await add('r2.example')]
    const row = domainReportFor(one, { digest: 'same' })
    const tls = domainReportFor(one, {
      ...{ kind: 'tls', sources: [], contact: 'tls@google.com', policy: 'sts' },
      failures: [{ type: 'certificate-expired', mx: null, sessions: 2 }],
    })
    t.equal(await store.addDomainReport(row, 9), 'added')
    t.equal(await store.addDomainReport({ ...row, id: newId('rpt') }, 9), 'known')
    t.equal(await store.addDomainReport(domainReportFor(other, { digest: 'same' }), 9), 'added')
    t.equal(await store.addDomainReport(tls, 9), 'added')
    t.same((await store.domainReports(one.id, ALL, page())).rows, [tls, row])
    t.equal(
      await store.addDomainReport(domainReportFor({ id: newId('dom'), accountId: at.accountId }), 9),
      'no_domain',
    )
    const elsewhere = await newAccount(store)
    t.equal(
      await store.addDomainReport(domainReportFor({ ...one, accountId: elsewhere.accountId }), 9),
      'no_domain',
    )
  })

  await t.test('found by kind and by when their span began, in pages', async (t) => {
    const one = await add('r3.example')
    const rows = Array.from({ length: 5 }, (_, i) =>
      domainReportFor(one, { begins: T0 + i * HOUR, kind: i === 4 ? 'tls' : 'dmarc' }),
    )
    for (const row of rows) await store.addDomainReport(row, 9)
    const ids = rows.map(({ id }) => id).reverse()
    t.same(await idsOf(one.id), ids)
    t.same(await idsOf(one.id, { ...ALL, kind: 'dmarc' }), ids.slice(1))
    t.same(await idsOf(one.id, { kind: null, from: T0 + HOUR, to: T0 + 3 * HOUR }), ids.slice(2, 4))
    const first = await store.domainReports(one.id, ALL, page({ limit: 2 }))
    t.same([first.rows.map(({ id }) => id), first.older !== null], [ids.slice(0, 2), true])
    const next = await store.domainReports(one.id, ALL, page({ limit: 2, anchor: first.older }))
    t.same(
      next.rows.map(({ id }) => id),
      ids.slice(2, 4),
    )
  })

  await t.test('so many of a domain within a day', async (t) => {
    const [one, other] = [await add('r4.example'), await add('r5.example')]
    for (let i = 0; i < 3; i++) t.equal(await store.addDomainReport(domainReportFor(one), 3), 'added')
    t.equal(await store.addDomainReport(domainReportFor(one), 3), 'full')
    t.equal(await store.addDomainReport(domainReportFor(other), 3), 'added')
    t.equal(await store.addDomainReport(domainReportFor(one, { receivedAt: T0 + DAY }), 3), 'added')
  })

  await t.test('gone with the domain, with its workspace, and by age', async (t) => {
    const second = await addWorkspace(store, at, 'of-reports')
    const bound = await add('r6.example', { workspaceId: second.workspace.id })
    const [gone, aged] = [await add('r7.example'), await add('r8.example')]
    for (const row of [bound, gone]) t.equal(await store.addDomainReport(domainReportFor(row), 9), 'added')
    t.equal(await store.removeDomain(at.accountId, gone.id), true)
    t.same(await idsOf(gone.id), [])
    await store.deleteWorkspace(at.accountId, second.workspace.id, 'no longer', T0)
    t.same(await idsOf(bound.id), [])
    const [old, young] = [
      domainReportFor(aged, { receivedAt: T0 }),
      domainReportFor(aged, { receivedAt: T0 + HOUR }),
    ]
    for (const row of [old, young]) await store.addDomainReport(row, 9)
    await store.sweep(T0 + DAY, LONG)
    t.same(await idsOf(aged.id), [young.id, old.id], 'all are kept where nothing is said')
    await store.sweep(T0 + DAY + 1, { ...LONG, domainReportsMs: DAY })
    t.same(await idsOf(aged.id), [young.id])
  })
}
