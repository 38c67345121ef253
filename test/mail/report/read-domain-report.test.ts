import { deflateRawSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { readDomainReport } from '../../../src/mail/report/domain-report.js'
import {
  BEGIN,
  mailOf,
  multipart,
  part,
  SHAPES,
  TLS_SHAPES,
  tlsOf,
  xmlOf,
  zipOf,
} from '../../parts/domain-reports.js'

const dmarc = (xml: string | Buffer) => mailOf(part('application/gzip', gzipSync(xml)))
const refused = (t: Test, raw: Buffer, why: RegExp, name: string) =>
  t.rejects(readDomainReport(raw), { name: 'UnreadableReportError', message: why }, name)

t.test('reports in the shapes of known receivers', async (t) => {
  for (const [name, mail] of Object.entries(SHAPES)) {
    const report = await readDomainReport(mail())
    t.match(
      report,
      {
        kind: 'dmarc',
        domain: 'shop.example',
        reportId: '10862137434712348017',
        contact: 'noreply-dmarc-support@reporter.example',
        begins: BEGIN * 1000,
        policy: 'p=none; sp=none; adkim=r; aspf=r; pct=100',
        sources: [
          {
            ...{
              domain: 'shop.example',
              address: '203.0.113.24',
              messages: 12,
              dkim: 12,
              spf: 12,
              passed: 12,
            },
            ...{ quarantined: 0, rejected: 0, signedBy: ['pn1r._domainkey.shop.example'], returnPaths: [] },
          },
        ],
        others: { messages: 0 },
      },
      name,
    )
  }
  for (const [name, mail] of Object.entries(TLS_SHAPES)) {
    const details = [
      {
        'result-type': 'certificate-expired',
        'receiving-mx-hostname': 'mx.shop.example',
        'failed-session-count': 2,
      },
      {
        'result-type': 'certificate-expired',
        'receiving-mx-hostname': 'mx.shop.example',
        'failed-session-count': 3,
      },
    ]
    t.match(
      await readDomainReport(mail({ good: 7, failed: 5, details })),
      {
        kind: 'tls',
        reporter: 'Google Inc.',
        begins: BEGIN * 1000,
        policies: [
          {
            ...{ domain: 'shop.example', policy: 'sts', sessions: 12, failed: 5 },
            failures: [{ type: 'certificate-expired', mx: 'mx.shop.example', sessions: 5 }],
          },
        ],
      },
      name,
    )
  }
})

t.test('rows are added up by source and domain of From', async (t) => {
  const rows = [
    { ip: '192.0.2.1', count: 3, dkim: 'pass', signed: 's1@shop.example', returnPath: 'bounces.test' },
    { ip: '192.0.2.1', count: 2, spf: 'pass', returnPath: 'other.example' },
    { ip: '192.0.2.1', count: 5, disposition: 'quarantine' },
    { ip: '2001:DB8:0::1', count: 1, disposition: 'reject', from: 'News.Shop.Example' },
  ] as const
  const report = await readDomainReport(dmarc(xmlOf({ rows })))
  t.match(report, {
    sources: [
      {
        ...{ address: '192.0.2.1', messages: 10, dkim: 3, spf: 2, passed: 5, quarantined: 5, rejected: 0 },
        ...{ signedBy: ['s1._domainkey.shop.example'], returnPaths: ['bounces.test', 'other.example'] },
      },
      { address: '2001:db8::1', domain: 'news.shop.example', messages: 1, passed: 0, rejected: 1 },
    ],
  })
  const many = Array.from({ length: 2_500 }, (_, i) => ({ ip: `10.0.${i >> 8}.${i & 255}`, count: 2 }))
  const cut = await readDomainReport(dmarc(xmlOf({ rows: many })))
  t.match(
    cut,
    { sources: { length: 2_000 }, others: { messages: 1_000, passed: 0 } },
    'the rest is counted without its source',
  )
})

t.test('what packs it is known by its octets, whatever its name and type say', async (t) => {
  const xml = Buffer.from(xmlOf())
  const odd: Readonly<Record<string, Buffer>> = {
    'gzip as text': mailOf(part('text/plain', gzipSync(xml))),
    'zip as gzip': mailOf(part('application/gzip; name="x.gz"', zipOf(xml))),
    'XML as a picture': mailOf(part('image/png', xml)),
    'a name that is a path': mailOf(
      part('application/zip; name="../../etc/passwd"', zipOf(xml, { name: '../../../etc/cron.d/x' })),
    ),
    'in a multipart in a multipart': mailOf(
      multipart(
        'multipart/mixed',
        `Content-Type: multipart/related; boundary="in"\r\n\r\n--in\r\n${part('application/gzip', gzipSync(xml))}--in--\r\n`,
      ),
    ),
    'UTF-16': dmarc(
      Buffer.concat([
        Buffer.from([0xff, 0xfe]),
        Buffer.from(xmlOf({ head: '<?xml version="1.0" encoding="UTF-16"?>' }), 'utf16le'),
      ]),
    ),
    'UTF-8 with a mark': dmarc(`\ufeff${xmlOf()}`),
    'Latin 1': dmarc(Buffer.from(xmlOf({ head: '<?xml version="1.0" encoding="ISO-8859-1"?>' }), 'latin1')),
    'a prefix': dmarc(xmlOf({ root: 'd:feedback xmlns:d="urn:x"', head: '' })),
    'quoted-printable': mailOf(
      `Content-Type: text/xml\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${xml.toString().replaceAll('=', '=3D')}`,
    ),
  }
  for (const [name, raw] of Object.entries(odd))
    t.match(await readDomainReport(raw), { kind: 'dmarc', sources: { length: 1 } }, name)
})

t.test('a mail without a report is null', async (t) => {
  const forwarded = `Content-Type: message/rfc822\r\n\r\n${SHAPES.google?.().toString('latin1')}`
  for (const [name, raw] of Object.entries({
    nothing: Buffer.alloc(0),
    'an empty zip': mailOf(part('application/zip', zipOf(Buffer.alloc(0), { files: 0 }))),
    words: Buffer.from('Subject: hello\r\n\r\nHow are you?\r\n'),
    HTML: mailOf('Content-Type: text/html\r\n\r\n<html><p>hello</p></html>'),
    'a picture in gzip': mailOf(part('application/gzip', gzipSync(Buffer.alloc(500, 7)))),
    'gzip in gzip': mailOf(part('application/gzip', gzipSync(gzipSync(xmlOf())))),
    'a mail that was returned': mailOf(multipart('multipart/mixed', forwarded)),
    'a multipart without its boundary': mailOf('Content-Type: multipart/mixed; boundary="gone"\r\n\r\nhello'),
    'multiparts without an end': mailOf(
      `${'Content-Type: multipart/mixed; boundary="=_b"\r\n\r\n--=_b\r\n'.repeat(500)}`,
    ),
  }))
    t.equal(await readDomainReport(raw), null, name)
})

t.test('what does not hold is refused, with the reason', async (t) => {
  const entities = '<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'
  const document = xmlOf()
  await refused(
    t,
    dmarc(xmlOf({ head: `<?xml version="1.0"?><!DOCTYPE feedback [${entities}]>` })),
    /document type/,
    'entities that grow',
  )
  await refused(
    t,
    dmarc(xmlOf({ head: '<?xml version="1.0"?><!DOCTYPE feedback SYSTEM "file:///etc/passwd">' })),
    /document type/,
    'a file',
  )
  await refused(t, dmarc(document.replace('<row>', '<!DOCTYPE x><row>')), /document type/, 'later, too')
  await refused(t, dmarc(document.slice(0, -20)), /not whole/, 'cut off')
  await refused(t, dmarc(`<?xml version="1.0"?><html></html>`), /another kind/, 'another document')
  await refused(t, dmarc(`<feedback>${'<a>'.repeat(100_000)}`), /too deeply/, 'nested')
  await refused(
    t,
    dmarc(xmlOf({ head: '<?xml version="1.0" encoding="EBCDIC-CP-US"?>' })),
    /encoding/,
    'an encoding',
  )
  for (const count of ['-1', '1e308', '99999999999999999999', '1.5', 'NaN', '', '0x10'])
    await refused(t, dmarc(xmlOf({ rows: [{ ip: '192.0.2.1', count }] })), /a count/, `a count of ${count}`)
  for (const ip of ['', 'localhost', '192.0.2.1/8', '<b>192.0.2.1</b>', 'fe80::1%eth0'])
    await refused(t, dmarc(xmlOf({ rows: [{ ip, count: 1 }] })), /no address/, `a source ${ip}`)
  await refused(t, dmarc(xmlOf({ begin: BEGIN, end: BEGIN - 1 })), /span/, 'ends before it begins')
  await refused(t, dmarc(xmlOf({ begin: BEGIN - 90 * 86_400, end: BEGIN })), /span/, 'of a season')
  await refused(t, dmarc(xmlOf({ begin: 'yesterday' })), /times/, 'times that are none')
  await refused(t, dmarc(xmlOf({ org: ' ' })), /lacks/, 'without who reports')
  await refused(t, dmarc(xmlOf({ domain: 'not a domain' })), /lacks/, 'without a domain')
  const xml = Buffer.from(document)
  await refused(t, mailOf(part('application/zip', zipOf(xml, { flags: 1 }))), /encrypted/, 'an encrypted zip')
  await refused(t, mailOf(part('application/zip', zipOf(xml, { files: 2 }))), /one file/, 'two files')
  await refused(
    t,
    mailOf(part('application/zip', zipOf(xml, { sizes64: true }))),
    /64 bits/,
    'sizes of 64 bits',
  )
  await refused(
    t,
    mailOf(part('application/zip', zipOf(xml).subarray(0, 200))),
    /without its end/,
    'half a zip',
  )
  await refused(
    t,
    mailOf(part('application/zip', zipOf(xml, { packed: Buffer.alloc(99, 255) }))),
    /broken/,
    'what is no deflate',
  )
  await refused(t, mailOf(part('application/gzip', gzipSync(xml).subarray(0, 200))), /broken/, 'half a gzip')
  await refused(t, mailOf(part('application/json', Buffer.from(tlsOf().slice(0, -5)))), /JSON/, 'half a JSON')
  for (const failed of [-1, 1e308, '7;', null, [], 1.5])
    await refused(
      t,
      mailOf(part('application/json', Buffer.from(tlsOf({ failed })))),
      /a count/,
      `${failed} sessions`,
    )
  await refused(
    t,
    mailOf(part('application/json', Buffer.from('{"a":'.repeat(50_000)))),
    /JSON/,
    'nested JSON',
  )
  await refused(
    t,
    mailOf(part('application/json', Buffer.from('{"a": 1}'))),
    /lacks|span|times/,
    'other JSON',
  )
})

t.test('values of other types are refused, and so is what is nested in them', async (t) => {
  const json = (text: string) => mailOf(part('application/json', Buffer.from(text)))
  const times = (value: string) => tlsOf().replace(/("start-datetime":)"[^"]*"/, `$1${value}`)
  for (const value of [
    '{"toString":1}',
    `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
    '1795829000',
    'null',
  ])
    await refused(t, json(times(value)), /times/, `a time of ${value.slice(0, 20)}`)
  for (const failed of [{ toString: null }, { toString: null, valueOf: null }, [7], [[7]], true])
    await refused(t, json(tlsOf({ failed })), /a count/, `${JSON.stringify(failed)} sessions`)
  t.match(
    await readDomainReport(json(tlsOf({ failed: '7' }))),
    { policies: [{ failed: 7 }] },
    'a text of digits',
  )
})

t.test('what some reporters write otherwise', async (t) => {
  const head = '<?xml version="1.0" encoding="utf-16"?>'
  t.match(
    await readDomainReport(dmarc(xmlOf({ head, org: 'B\u00fccher' }))),
    { reporter: 'B\u00fccher' },
    'UTF-8 that says UTF-16',
  )
  t.match(
    await readDomainReport(dmarc(xmlOf({ begin: `${BEGIN}.0`, end: `${BEGIN + 5}.75` }))),
    { begins: BEGIN * 1000, ends: (BEGIN + 5) * 1000 },
    'times with a fraction',
  )
})

t.test('the first part that holds is the report', async (t) => {
  const words = 'Content-Type: text/plain\r\n\r\n{Report} is attached\r\n'
  const good = part('application/gzip', gzipSync(xmlOf()))
  const broken = part('application/gzip', gzipSync(xmlOf()).subarray(0, 200))
  const of = (...parts: readonly string[]) => mailOf(multipart('multipart/mixed', ...parts))
  t.match(await readDomainReport(of(words, good)), { kind: 'dmarc' })
  t.match(await readDomainReport(of(words, broken, good)), { kind: 'dmarc' })
  await refused(t, of(words, broken), /gzip that is broken/, 'none holds: the last says why')
  await refused(t, of(words, broken, words, good), /JSON/, 'three are enough')
})

t.test('one mail takes no turn for itself, however it is made', async (t) => {
  const parts = (one: string, count: number) =>
    mailOf(multipart('multipart/mixed', ...Array(count).fill(one)))
  const quoted = (octets: string) =>
    `Content-Type: text/xml\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n${octets}\r\n`
  const report = quoted(xmlOf().replaceAll('=', '=3D'))
  const long = quoted('=41=\r\n'.repeat(30_000))
  let [turns, isOver] = [0, false]
  const count = (): void => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  t.equal(await readDomainReport(parts(long, 20)), null)
  isOver = true
  t.ok(turns > 50, `others had ${turns} turns`)
  const few = mailOf(multipart('multipart/mixed', long, long, report))
  t.match(await readDomainReport(few), { kind: 'dmarc' }, 'a little in quoted-printable')
  const many = mailOf(multipart('multipart/mixed', ...Array(6).fill(long), report))
  t.equal(await readDomainReport(many), null, 'at most 1 MiB of a mail')
  const packed = part('application/gzip', gzipSync(xmlOf()))
  const header = (size: number) =>
    mailOf(packed, `X-Long: a\r\n${` ${'b'.repeat(70)}\r\n`.repeat(size / 73)}`)
  t.match(await readDomainReport(header(50_000)), { kind: 'dmarc' }, 'a long header')
  t.equal(await readDomainReport(header(70_000)), null, 'a header is at most 64 KiB')
  const near = (lines: number) =>
    mailOf(multipart('multipart/mixed', `${'\r\n--=_bx'.repeat(lines)}\r\n`, packed))
  t.match(await readDomainReport(near(500)), { kind: 'dmarc' }, 'lines that begin as the boundary')
  t.equal(await readDomainReport(near(2_000)), null, 'but not thousands')
})

t.test('a boundary that lies across two steps, and parts of several steps', async (t) => {
  const packed = part('application/gzip', gzipSync(xmlOf()))
  for (const size of [262_100, 262_130, 262_140, 262_144, 262_150, 524_288]) {
    const mail = mailOf(multipart('multipart/mixed', `\r\n${'x'.repeat(size - 38)}\r\n`, packed))
    t.match(await readDomainReport(mail), { kind: 'dmarc' }, `${size}`)
  }
  const rows = Array.from({ length: 1_000 }, (_, i) => ({ ip: `10.0.${i >> 8}.${i & 255}`, count: 1 }))
  const xml = xmlOf({ rows })
    .replaceAll('=', '=3D')
    .replaceAll('><', '>=\r\n<')
    .replaceAll('example', 'ex=61mple')
  const mail = mailOf(
    multipart(
      'multipart/mixed',
      `Content-Type: text/xml\r\nContent-Transfer-Encoding: Quoted-Printable\r\n\r\n${xml}\r\n`,
    ),
  )
  t.match(await readDomainReport(mail), { domain: 'shop.example', sources: { length: 1_000 } })
})

t.test('a bomb ends at 10 MiB, whatever packs it', async (t) => {
  const zeros = Buffer.alloc(64 * 1024 * 1024, 0x20)
  const begin = Buffer.from('<?xml version="1.0"?><feedback>')
  const bomb = Buffer.concat([begin, zeros])
  await refused(t, mailOf(part('application/gzip', gzipSync(bomb))), /larger than 10 MiB/, 'gzip')
  await refused(
    t,
    mailOf(part('application/zip', zipOf(bomb, { packed: deflateRawSync(bomb) }))),
    /larger than 10 MiB/,
    'zip',
  )
  const json = Buffer.concat([Buffer.from('{"a": "'), zeros])
  await refused(t, mailOf(part('application/tlsrpt+gzip', gzipSync(json))), /larger than 1 MiB/, 'JSON')
})

t.test('mutated reports never throw anything else', async (t) => {
  let seed = 7
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return seed % below
  }
  const wrong: unknown[] = []
  for (let n = 0; n < 1_500; n++) {
    const names = [...Object.values(SHAPES), ...Object.values(TLS_SHAPES)]
    const raw = Buffer.from((names[n % names.length] as () => Buffer)())
    for (let hits = random(6); hits >= 0; hits--) raw[random(raw.length)] = random(256)
    const xml = Buffer.from(xmlOf())
    for (let hits = random(4); hits >= 0; hits--) xml[random(xml.length)] = random(256)
    for (const one of [raw, dmarc(xml), mailOf(part('application/zip', raw.subarray(random(raw.length))))])
      await readDomainReport(one).catch((error) => {
        if (error.name !== 'UnreadableReportError') wrong.push(error)
      })
  }
  t.same(wrong, [])
})
