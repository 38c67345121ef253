/**
 * Reports of receivers about a domain, sent by a real SMTP client through the bounce door: what API, command line, page and
 * metrics tell of them. What is none is refused with the reason, and a bomb takes no memory.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { deflateRawSync, gzipSync } from 'node:zlib'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { signedIn } from '../parts/browser.js'
import { mailOf, part, SHAPES, TLS_SHAPES, tlsOf, xmlOf, zipOf } from '../parts/domain-reports.js'
import { Postern } from '../parts/postern.js'

const postern = await new Postern().start()
const key = (await postern.json('key', 'create', '--platform')).secret
const client = createTransport({ host: '127.0.0.1', port: postern.ports.bounce, ignoreTLS: true })
t.teardown(async () => {
  client.close()
  await postern.remove()
})

const REPORTS = 'dmarc-reports@bounce.test'
/** `250`, or the reply that refused it. */
const send = async (raw: Buffer, to: string | string[] = REPORTS): Promise<string> => {
  try {
    const { response } = await client.sendMail({ envelope: { from: 'noreply@reporter.example', to }, raw })
    return response
  } catch (error) {
    return (error as { readonly response: string }).response
  }
}
const fileOf = async (raw: Buffer): Promise<string> => {
  const file = join(postern.dir, 'mail.eml')
  writeFileSync(file, raw)
  return file
}
const api = async (path: string) => (await postern.api('GET', path, key)).body
const residentOf = (what: 'VmRSS' | 'VmHWM'): number =>
  Number(new RegExp(`${what}:\\s+(\\d+)`).exec(readFileSync(`/proc/${postern.pid}/status`, 'utf8'))?.[1]) *
  1024

const { keys } = (await postern.api('POST', '/v1/domains', key, { name: 'shop.example' })).body
const [{ selector }] = keys
const OURS = {
  ip: '198.51.100.7',
  count: 40,
  dkim: 'pass',
  spf: 'fail',
  signed: `${selector}@shop.example`,
  returnPath: 'bounce.test',
} as const
const STRANGER = { ip: '192.0.2.66', count: 3, disposition: 'reject' } as const

t.test('where nobody has reported, what to publish', async (t) => {
  const { stdout, stderr } = await postern.cli('domain', 'reports', 'shop.example')
  t.match(stdout, /shop\.example.*: 0 reports/)
  t.match(stderr, /_dmarc\.shop\.example\. IN TXT "v=DMARC1; p=none; rua=mailto:dmarc-reports@bounce\.test"/)
  t.match(stderr, /shop\.example\._report\._dmarc\.bounce\.test\. IN TXT "v=DMARC1"/)
  t.match(
    (await postern.cli('domain', 'show', 'shop.example')).stdout,
    /_smtp\._tls\.shop\.example\. IN TXT "v=TLSRPTv1; rua=mailto:tls-reports@bounce\.test"/,
  )
  t.same(await api('/v1/domains/shop.example/reports'), {
    ...(await api('/v1/domains/shop.example/reports')),
    data: [],
  })
})

t.test('each shape through the door', async (t) => {
  for (const [name, mail] of Object.entries(SHAPES))
    t.match(await send(mail({ rows: [OURS, STRANGER] })), /^250 /, name)
  t.match(await send(SHAPES.google?.({ rows: [OURS, STRANGER] }) as Buffer), /^250 /, 'again: known')
  for (const [name, mail] of Object.entries(TLS_SHAPES))
    t.match(
      await send(
        mail({
          id: name,
          good: 8,
          failed: 2,
          details: [{ 'result-type': 'certificate-expired', 'failed-session-count': 2 }],
        }),
        ['tls-reports@bounce.test', REPORTS],
      ),
      /^250 /,
      name,
    )
  const n = Object.keys(SHAPES).length
  const summary = await api('/v1/domains/shop.example/reports/summary')
  t.match(summary, {
    object: 'domain_report_summary',
    ...{ domain: 'shop.example', reports: n + 2, cut: false },
    mail: { messages: 43 * n, passed: 40 * n, failed: 3 * n, rejected: 3 * n },
    own: { messages: 40 * n, failed: 0 },
    sources: [
      { address: '198.51.100.7', origin: 'ours', messages: 40 * n },
      { address: '192.0.2.66', origin: 'unknown', failed: 3 * n },
    ],
    tls: { sessions: 20, failed: 4, failures: [{ type: 'certificate-expired', mx: null, sessions: 4 }] },
  })
  const first = await api('/v1/domains/shop.example/reports?kind=dmarc&limit=2')
  t.match(first, { data: { length: 2 }, pagination: { has_next: true } })
  const next = await api(
    `/v1/domains/shop.example/reports?kind=dmarc&limit=2&cursor=${first.pagination.next_cursor}`,
  )
  t.not(next.data[0].id, first.data[1].id)
  t.match(await api('/v1/domains/shop.example/reports?since=2020-01-01&until=2020-02-01'), {
    data: { length: 0 },
  })
  t.match(await api('/v1/domains/shop.example/reports?since=soon'), { code: 'validation.request_invalid' })
  t.match(await api('/v1/domains/shop.example/reports/summary?until=1e9'), {
    code: 'validation.request_invalid',
  })
  const cli = await postern.cli('domain', 'reports', 'shop.example', '--since', '7d')
  for (const text of ['198.51.100.7', 'ours', 'Enterprise Outlook', 'certificate-expired'])
    t.match(cli.stdout, text)
  t.match(cli.stdout, 'nothing proves who wrote a report')
  t.equal((await postern.json('domain', 'reports', 'shop.example', '--list', '--kind', 'tls')).length, 2)
  t.match(await postern.cli('domain', 'reports', 'shop.example', '--kind', 'tls'), {
    ...{ code: 64, stdout: '', stderr: /--kind goes with --list only/ },
  })
  const old = xmlOf({ id: 'old', begin: Math.floor(Date.now() / 1000) - 40 * 86_400, rows: [] })
  t.match(await send(mailOf(part('text/xml', Buffer.from(old)))), /^250 /)
  const listed = async (...more: readonly string[]) =>
    (await postern.json('domain', 'reports', 'shop.example', '--list', ...more)).length
  t.equal(await listed(), n + 2, 'of thirty days, as the sum is')
  t.equal(await listed('--since', '60d'), n + 3)
  const metrics = await (await fetch(`http://127.0.0.1:${postern.ports.management}/metrics`)).text()
  t.match(metrics, `postern_domain_reports_total{kind="dmarc",result="read"} ${n + 1}`)
  t.match(metrics, 'postern_domain_reports_total{kind="dmarc",result="known"} 1')
})

t.test('the page says who says so, and shows what a stranger wrote as text', async (t) => {
  t.match(
    await send(
      SHAPES.yahoo?.({
        org: '&lt;img src=x onerror=alert(1)&gt;',
        rows: [{ ...OURS, dkim: 'fail', count: 90 }],
      }) as Buffer,
    ),
    /^250 /,
  )
  const { html } = await (await signedIn(postern)).visit('/domains/shop.example')
  t.match(html, /Nothing proves who wrote a report/)
  t.match(html, /198\.51\.100\.7/)
  t.match(html, /&lt;img src=x onerror=alert\(1\)/)
  t.notMatch(html, /<img src=x/)
  t.match(html, /of your own mails failed DMARC/)
})

t.test('what is not taken is refused, and the sender hears why', async (t) => {
  t.match(await send(mailOf('\r\nhello')), /^554 5\.6\.0 There is no report/)
  t.match(await send(SHAPES.google?.({ domain: 'nobody.example' }) as Buffer), /^550 5\.1\.2 /)
  t.match(await send(SHAPES.google?.({ domain: 'example' }) as Buffer), /^550 5\.1\.2 /, 'a name above ours')
  const odd = tlsOf().replace(/("start-datetime":)"[^"]*"/, '$1{"toString":1}')
  t.match(await send(mailOf(part('application/json', Buffer.from(odd)))), /^554 5\.6\.0 /, 'an odd time')
  t.match(
    await send(mailOf(part('text/xml', Buffer.from(xmlOf({ head: '<!DOCTYPE feedback>' }))))),
    /^554 5\.6\.0 .*document type/,
  )
  t.match(
    await send(mailOf(`\r\n${'x'.repeat(78)}\r\n`.repeat(70_000))),
    /^552 5\.3\.4 /,
    'larger than what is read',
  )
  t.match(await send(SHAPES.google?.() as Buffer, 'reports@bounce.test'), /^550 5\.1\.1 /, 'another address')
  t.match(
    await send(SHAPES.google?.() as Buffer, 'dmarc-reports@other.test'),
    /^550 5\.1\.1 /,
    'another domain',
  )
})

t.test('by a pipe as by the door', async (t) => {
  const pipe = async (raw: Buffer, to = REPORTS) =>
    postern.cli('bounce', 'ingest', '--json', '--recipient', to, await fileOf(raw))
  const taken = await pipe(SHAPES.plain?.({ id: 'piped', rows: [OURS] }) as Buffer)
  t.match(JSON.parse(taken.stdout), { kind: 'dmarc', result: 'read', domains: { length: 1 } })
  t.match(await pipe(mailOf('\r\nhello')), { code: 65, stderr: /no report in this mail/ })
  t.match(await pipe(mailOf(part('text/xml', Buffer.from('<feedback>')))), { code: 65, stderr: /not whole/ })
})

t.test('bombs take no memory, and others are answered meanwhile', async (t) => {
  const begin = Buffer.from('<?xml version="1.0"?><feedback>')
  const bomb = Buffer.concat([begin, Buffer.alloc(512 * 1024 * 1024, 0x20)])
  const packed = { gzip: gzipSync(bomb), zip: zipOf(begin, { packed: deflateRawSync(bomb) }) }
  const before = residentOf('VmRSS')
  for (const [form, octets] of Object.entries(packed)) {
    const mails = Array.from({ length: 10 }, () => send(mailOf(part(`application/${form}`, octets))))
    t.equal((await postern.api('GET', '/v1/domains', key)).status, 200)
    for (const reply of await Promise.all(mails)) t.match(reply, /^554 5\.6\.0 .*larger than 10 MiB/, form)
  }
  const grown = residentOf('VmHWM') - before
  t.comment(
    `${packed.gzip.length} octets of 512 MiB, twenty times: ${Math.round(grown / 1024 / 1024)} MiB more at the most`,
  )
  t.ok(grown < 128 * 1024 * 1024, `${grown} octets`)
  t.match(await send(SHAPES.plain?.({ id: 'afterwards', rows: [OURS] }) as Buffer), /^250 /)
})

t.test('what is answered is kept, whatever ends the daemon; and goes with its domain', async (t) => {
  t.match(await send(SHAPES.plain?.({ id: 'before the end', rows: [OURS] }) as Buffer), /^250 /)
  await postern.stop('SIGKILL')
  await postern.start()
  const found = await api('/v1/domains/shop.example/reports?limit=1')
  t.match(found.data, [{ report_id: 'before the end', sources: [{ address: '198.51.100.7' }] }])
  await postern.api('DELETE', '/v1/domains/shop.example', key)
  await postern.api('POST', '/v1/domains', key, { name: 'shop.example' })
  t.match(await api('/v1/domains/shop.example/reports'), { data: { length: 0 } })
})
