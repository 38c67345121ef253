/** doctor on the sending domains, against a name server of our own, and on files that belong to somebody else. */
import { chownSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DnsServer } from '../parts/dns-server.js'
import { needsFile } from '../parts/store.js'
import { here, openDesk } from './desk.js'

const SETTINGS = `hostname: gw.postern.test
data_dir: data
http: { port: 0 }
management: { port: 0 }
submission: [{ host: 127.0.0.1, port: 0 }]
bounce: { port: 0, domain: bounces.postern.test }
`

interface Row {
  readonly check: string
  readonly result: string
  readonly detail: string
  readonly remedy: string | null
}

t.test('DKIM, DMARC and SPF of the sending domains', async (t) => {
  const desk = openDesk(t, SETTINGS)
  const dns = await new DnsServer().start()
  t.teardown(() => dns.stop())
  const added = await desk.json(['domain', 'add', 'acme.test'])
  const dkim = added.records.find(({ name }: { name: string }) => name.includes('._domainkey.'))
  const look = async () => {
    const { code, stdout } = await desk.run(['doctor', '--json', '--resolver', `127.0.0.1:${dns.port}`])
    const rows = JSON.parse(stdout) as Row[]
    return {
      code,
      of: (check: string) => rows.find((row) => row.check === check && row.detail.includes('acme.test')),
    }
  }
  const absent = await look()
  t.equal(absent.code, 78)
  const { stdout: zone } = await desk.run(['domain', 'show', 'acme.test'])
  const line = zone.split('\n').find((one) => one.startsWith(dkim.name)) ?? ''
  t.ok(dkim.value.length > 255)
  for (const [, text = ''] of line.matchAll(/"([^"]*)"/g)) t.ok(text.length <= 255, 'a string of DNS')
  t.match(absent.of('DKIM'), { result: 'fail', remedy: `add to the DNS: ${line}` })
  t.match(absent.of('DMARC'), { result: 'warn', remedy: /_dmarc\.acme\.test\. IN TXT "v=DMARC1/ })
  t.match(absent.of('SPF'), { result: 'warn', remedy: /acme\.test\. IN TXT "v=spf1/ })

  dns.txt.set(dkim.name, 'v=DKIM1; k=rsa; p=AAAA')
  t.match((await look()).of('DKIM'), { result: 'fail', detail: /says something else/ })

  dns.txt.set(dkim.name, dkim.value)
  dns.txt.set('_dmarc.acme.test', 'v=DMARC1; p=reject')
  dns.txt.set('acme.test', 'v=spf1 ip4:192.0.2.1 -all')
  const there = await look()
  for (const check of ['DKIM', 'DMARC', 'SPF']) t.match(there.of(check), { result: 'ok' }, check)

  dns.failing = true
  t.match(
    (await look()).of('DKIM'),
    { result: 'warn', detail: /could not be looked up/ },
    'silence proves nothing',
  )
})

t.test(
  'a database of root in the folder of the daemon',
  { skip: process.getuid?.() === 0 ? needsFile : 'only root can give files away' },
  async (t) => {
    const desk = openDesk(t, SETTINGS)
    await desk.run(['key', 'list'])
    const data = join(desk.dir, 'data')
    chownSync(data, 65534, 65534)
    const { code, stdout } = await desk.run(['doctor', '--json'])
    t.equal(code, 77)
    const found = (JSON.parse(stdout) as Row[]).find(({ check }) => check === 'file owner')
    t.match(found, { result: 'fail', detail: /belongs to user 0/, remedy: `chown -R 65534 ${data}` })
  },
)

t.test(
  'root is sent to the user whose data it is',
  { skip: process.getuid?.() === 0 ? needsFile : 'only root can give files away' },
  async (t) => {
    const desk = openDesk(t, SETTINGS)
    const data = join(desk.dir, 'data')
    mkdirSync(data, { mode: 0o700 })
    chownSync(data, 65534, 65534)
    const sent = { code: 77, stderr: /belongs to user nobody; .*sudo -u nobody postern/ }
    t.match(await desk.run(['key', 'list']), sent)
    t.match(await desk.run(['restore', desk.configFile, '--yes']), sent)
    t.match(await desk.run(['serve']), sent)
    t.match(await desk.run(['dev']), sent)
    t.same(readdirSync(data), [], 'and leaves nothing')
    const { code, stdout } = await desk.run(['doctor', '--json'])
    t.equal(code, 77)
    t.match(JSON.parse(stdout), [
      { check: 'configuration' },
      { check: 'file owner', result: 'fail', remedy: 'sudo -u nobody postern doctor' },
    ])
  },
)

t.test('a configuration that is not there, or is no file', async (t) => {
  const desk = openDesk(t, SETTINGS)
  mkdirSync(join(desk.dir, 'folder.yaml'))
  for (const name of ['none.yaml', 'folder.yaml']) {
    const { code, stdout } = await here(['doctor', '--json', '--config', join(desk.dir, name)])
    t.equal(code, 78)
    t.match(JSON.parse(stdout), [{ check: 'configuration', result: 'fail', detail: /cannot be read/ }])
  }
})
