/** Reports of receivers about domains: for whom they are kept, and what is made of their sources. */
import t, { type Test } from 'tap'
import { newId } from '../../src/base/id.js'
import { collect } from '../../src/lifecycle/page.js'
import { createDomainReportIntake } from '../../src/outcome/domain-report.js'
import type { DomainRow } from '../../src/store/port/tenants.js'
import { summariseReports } from '../../src/tenant/domain/reports.js'
import { createMemory, openMemoryStore } from '../model/open.js'
import {
  BEGIN,
  DAY,
  mailOf,
  part,
  type Row,
  SHAPES,
  TLS_SHAPES,
  tlsOf,
  xmlOf,
} from '../parts/domain-reports.js'
import { domainFor } from '../store/contract-domains.js'
import { newAccount } from '../store/fixture.js'

const NOW = (BEGIN + 1.5 * DAY) * 1000
const DOMAIN = 'bounces.test'
const ALL = { kind: null, from: null, to: null }

const setUp = async (
  _t: Test,
  ...domains: readonly (readonly [name: string, over?: Partial<DomainRow>])[]
) => {
  const store = openMemoryStore(createMemory())
  await store.open()
  const at = await newAccount(store)
  const rows: DomainRow[] = []
  for (const [name, over] of domains) {
    const row = domainFor(at, name, over)
    await store.createDomain(row)
    rows.push(row)
  }
  const intake = createDomainReportIntake({ store, clock: { now: () => NOW } as never, domain: DOMAIN })
  const keptOf = ({ id }: DomainRow) => collect((page) => store.domainReports(id, ALL, page))
  return { store, at, rows: rows as [DomainRow, ...DomainRow[]], intake, keptOf }
}

const xml = (shape: Parameters<typeof xmlOf>[0]) => mailOf(part('text/xml', Buffer.from(xmlOf(shape))))

t.test('both addresses of the bounce domain, and no other', async (t) => {
  const { intake } = await setUp(t)
  for (const address of ['dmarc-reports@bounces.test', 'TLS-Reports@Bounces.Test'])
    t.equal(intake.takesReports(address), true, address)
  for (const address of ['dmarc-reports@other.test', 'reports@bounces.test', 'fbl@bounces.test', 'x', ''])
    t.equal(intake.takesReports(address), false, address)
})

t.test('each shape is kept once, for the domain that it is about', async (t) => {
  const { intake, rows, keptOf, store } = await setUp(t, ['shop.example'], ['other.example'])
  for (const mail of Object.values(SHAPES)) {
    t.match(await intake.takeReport(mail()), { result: 'read', kind: 'dmarc', domains: [rows[0].id] })
    t.match(await intake.takeReport(mail()), { result: 'known' }, 'again')
  }
  t.match(await intake.takeReport(TLS_SHAPES.google?.({ good: 9, failed: 1 }) as Buffer), {
    result: 'read',
    kind: 'tls',
  })
  const kept = await keptOf(rows[0])
  t.equal(kept.length, Object.keys(SHAPES).length + 1)
  t.equal((await keptOf(rows[1] as DomainRow)).length, 0)
  const summary = await summariseReports(store, rows[0], DOMAIN, { since: null, until: null }, NOW)
  const count = 12 * Object.keys(SHAPES).length
  t.match(summary, {
    reports: kept.length,
    isCut: false,
    mail: { messages: count, passed: count, failed: 0 },
    own: { messages: count },
    sources: [{ address: '203.0.113.24', origin: 'signed', messages: count }],
    tls: { sessions: 10, failed: 1 },
  })
  t.same(
    new Set(summary.reporters.map(({ reporter }) => reporter)),
    new Set(kept.map(({ reporter }) => reporter)),
  )
})

t.test('whose a source is', async (t) => {
  const { intake, rows, keptOf } = await setUp(t, ['shop.example'])
  const sources: readonly (readonly [Row, string])[] = [
    [
      { ip: '192.0.2.1', count: 5, dkim: 'pass', signed: 'pn1r@shop.example', returnPath: 'bounces.test' },
      'ours',
    ],
    [{ ip: '192.0.2.2', count: 4, dkim: 'fail', returnPath: 'bounces.test' }, 'ours'],
    [{ ip: '192.0.2.3', count: 3, dkim: 'pass', signed: 'pn1r@shop.example' }, 'signed'],
    [{ ip: '192.0.2.4', count: 9, dkim: 'pass', signed: 'k1@shop.example' }, 'unknown'],
    [
      {
        ip: '192.0.2.5',
        count: 8,
        dkim: 'fail',
        signed: 'pn1r@evil.example',
        returnPath: 'bounces.test.evil.example',
      },
      'unknown',
    ],
  ]
  await intake.takeReport(xml({ rows: sources.map(([row]) => row) }))
  const [report] = await keptOf(rows[0])
  t.same(
    report?.sources.map(({ address, origin, messages }) => [address, origin, messages]),
    [...sources.slice(0, 3), ...sources.slice(3)].map(([{ ip, count }, origin]) => [ip, origin, count]),
    'ours first, each group by its mails',
  )
  t.match(report, { total: 29, failed: 12 })
  const many = Array.from({ length: 300 }, (_, i) => ({ ip: `10.0.${i >> 8}.${i & 255}`, count: i + 1 }))
  await intake.takeReport(xml({ id: 'many', rows: many }))
  const [large] = await keptOf(rows[0])
  t.match(large, { sources: { length: 101 }, total: (300 * 301) / 2, failed: (300 * 301) / 2 })
  t.match(large?.sources.at(-1), { address: null, messages: (200 * 201) / 2 })
})

t.test('a subdomain is told where it is here, else at the domain above it', async (t) => {
  const { intake, rows, keptOf } = await setUp(
    t,
    ['example.com'],
    ['news.example.com'],
    ['elsewhere.example'],
  )
  const mail = xml({
    domain: 'example.com',
    rows: [
      { ip: '192.0.2.1', count: 1, from: 'example.com' },
      { ip: '192.0.2.1', count: 2, from: 'a.news.example.com' },
      { ip: '192.0.2.1', count: 4, from: 'shop.example.com' },
      // what is under another domain is the reporter's mistake, or a lie
      { ip: '192.0.2.1', count: 8, from: 'elsewhere.example' },
    ],
  })
  t.match(await intake.takeReport(mail), { result: 'read', domains: { length: 2 } })
  const totals = await Promise.all(rows.map(async (row) => (await keptOf(row)).map(({ total }) => total)))
  t.same(totals, [[13], [2], []])
})

t.test('of the same domain in two accounts, it is that of which DNS has shown the keys', async (t) => {
  const { store, intake, rows, keptOf, at } = await setUp(t, ['shop.example'])
  const other = await newAccount(store)
  const theirs = domainFor(other, 'shop.example')
  await store.createDomain(theirs)
  t.match(await intake.takeReport(xml({ id: '1' })), { result: 'no_domain' }, 'nobody knows whose it is')
  const [mine] = rows
  await store.updateDomain({ ...mine, verifiedAt: NOW, updatedAt: mine.updatedAt + 1 }, mine.updatedAt, null)
  t.match(await intake.takeReport(xml({ id: '1' })), { result: 'read', domains: [mine.id] })
  t.same([(await keptOf(mine)).length, (await keptOf(theirs)).length], [1, 0])
  t.equal(await store.removeDomain(at.accountId, mine.id), true)
  t.equal((await keptOf(mine)).length, 0)
})

t.test('what is not kept, and why', async (t) => {
  const { intake, rows, keptOf } = await setUp(t, ['shop.example'])
  t.match(await intake.takeReport(xml({ domain: 'nobody.example' })), { result: 'no_domain' })
  t.match(
    await intake.takeReport(mailOf(part('application/json', Buffer.from(tlsOf({ domain: 'example' }))))),
    {
      result: 'no_domain',
    },
  )
  t.match(await intake.takeReport(mailOf('\r\nhello')), { result: 'none' })
  t.match(await intake.takeReport(xml({ begin: BEGIN - 200 * DAY })), {
    result: 'unreadable',
    why: /long ago/,
  })
  t.match(await intake.takeReport(xml({ begin: BEGIN + 9 * DAY })), { result: 'unreadable', why: /to come/ })
  t.match(await intake.takeReport(xml({ begin: 0, end: 0 })), { result: 'unreadable' })
  t.match(await intake.takeReport(xml({ begin: 99_999_999_999, end: 99_999_999_999 })), {
    result: 'unreadable',
  })
  t.match(await intake.takeReport(xml({ rows: [] })), { result: 'read' }, 'a report of no mail is one')
  t.equal((await keptOf(rows[0])).length, 1)
  for (let i = 1; i < 200; i++) await intake.takeReport(xml({ id: newId('rpt') }))
  t.match(await intake.takeReport(xml({ id: 'one more' })), { result: 'full' })
  t.match(await intake.takeReport(xml({ rows: [] })), { result: 'known' }, 'what is there stays known')
})

t.test('a name above ours is no domain of ours', async (t) => {
  const { intake, rows, keptOf } = await setUp(t, ['shop.example'])
  const lie = xml({ domain: 'example', rows: [{ ip: '192.0.2.1', count: 9 }] })
  t.match(await intake.takeReport(lie), { result: 'no_domain', domains: [] })
  t.same(await keptOf(rows[0]), [])
})

t.test('the record of a domain that is not here is that of a few below it, not of many', async (t) => {
  const { store, intake, rows, keptOf } = await setUp(t, ['news.shop.example'])
  const row = { ip: '192.0.2.1', count: 3, from: 'news.shop.example' }
  const others = [
    { ...row, from: 'shop.example' },
    { ...row, from: 'elsewhere.example' },
  ]
  const mail = xml({ domain: 'shop.example', rows: [row, ...others] })
  t.match(await intake.takeReport(mail), { result: 'read', domains: { length: 1 } })
  t.match(await keptOf(rows[0]), [{ total: 3 }])
  const names = Array.from({ length: 11 }, (_, i) => `shop${i}.co.example`)
  const other = await newAccount(store)
  for (const name of names) await store.createDomain(domainFor(other, name))
  const forged = xml({ domain: 'co.example', rows: names.map((from) => ({ ...row, from })) })
  t.match(await intake.takeReport(forged), { result: 'no_domain', domains: [] })
})

t.test('another span or another domain is another report, whatever its id', async (t) => {
  const { intake, rows, keptOf } = await setUp(t, ['shop.example'])
  for (const shape of [{}, { begin: BEGIN - DAY }, { end: BEGIN + 3_600 }, { domain: 'news.shop.example' }])
    for (const result of ['read', 'known'])
      t.match(await intake.takeReport(xml({ id: 'same', ...shape })), { result }, JSON.stringify(shape))
  t.equal((await keptOf(rows[0])).length, 4)
})

t.test('one client leaves room for others', async (t) => {
  const { intake, rows, keptOf } = await setUp(t, ['shop.example'], ['other.example'])
  const from = (ip: string, id: string, domain = 'shop.example') => intake.takeReport(xml({ id, domain }), ip)
  for (let i = 0; i < 100; i++)
    t.match(await from(`2001:db8:0:1::${(i + 1).toString(16)}`, `${i}`), { result: 'read' })
  t.match(await from('2001:db8:0:1:f::1', 'more'), { result: 'full', domains: [] })
  t.match(await from('2001:db8:0:1:f::1', '7'), { result: 'known' }, 'what is there stays known')
  t.match(await from('2001:db8:0:1::1', 'more', 'other.example'), { result: 'read' }, 'about another domain')
  t.match(await from('2001:db8:0:2::1', 'more'), { result: 'read' }, 'from another client')
  t.match(await intake.takeReport(xml({ id: 'by a pipe' })), { result: 'read' })
  t.equal((await keptOf(rows[0])).length, 102)
})

t.test('a report about several domains comes again until none of them is full', async (t) => {
  const { intake, rows, keptOf } = await setUp(t, ['shop.example'], ['news.shop.example'])
  for (let i = 0; i < 200; i++)
    await intake.takeReport(xml({ id: `${i}`, domain: 'news.shop.example', rows: [] }))
  const both = xml({
    id: 'both',
    rows: [
      { ip: '192.0.2.1', count: 1 },
      { ip: '192.0.2.1', count: 2, from: 'news.shop.example' },
    ],
  })
  t.match(await intake.takeReport(both), { result: 'full', domains: [rows[0].id] })
  t.match(await intake.takeReport(both), { result: 'full', domains: [] }, 'again')
  t.same(
    (await keptOf(rows[0])).map(({ total }) => total),
    [1],
  )
})

t.test('texts are kept on a line, whole characters, of a bounded length', async (t) => {
  const { intake, rows, keptOf } = await setUp(t, ['shop.example'])
  const org = `&lt;script&gt;alert(1)&lt;/script&gt;\n\u202e${'x'.repeat(5_000)}`
  t.match(await intake.takeReport(xml({ org, id: '\ud800&#0;&#xd800;id' })), { result: 'read' })
  const [report] = await keptOf(rows[0])
  t.match(report?.reporter, /^<script>alert\(1\)<\/script> /)
  t.ok((report?.reporter.length ?? 999) <= 200)
  t.notMatch(report?.reportId, /\p{Cs}/u)
  t.notMatch(report?.reportId, '\0')
})

t.test('a store that fails is no mistake of the sender, and the next report is read', async (t) => {
  const { store, intake, rows, keptOf } = await setUp(t, ['shop.example'])
  await store.close()
  await t.rejects(intake.takeReport(xml({})))
  await store.open()
  t.match(await intake.takeReport(xml({})), { result: 'read' })
  t.equal((await keptOf(rows[0])).length, 1)
})
