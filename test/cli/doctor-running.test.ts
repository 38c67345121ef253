/** doctor asks the daemon: what it serves against what is on the disk, what is in force against what is written. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generate } from 'selfsigned'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { here } from './desk.js'

const DAY = 86_400_000

/** A pair for the daemon's name that is good for so many days. */
const pair = async (days: number): Promise<{ cert: string; key: string }> => {
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'gw.postern.test' }], {
    keyType: 'ec',
    notBeforeDate: new Date(Date.now() - DAY),
    notAfterDate: new Date(Date.now() + days * DAY),
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'gw.postern.test' }] }],
  })
  return { cert, key }
}

t.test('a certificate and settings that wait for a reload or a restart', async (t) => {
  const postern = new Postern()
  t.teardown(() => postern.remove())
  const [cert, key] = [join(postern.dir, 'tls.crt'), join(postern.dir, 'tls.key')]
  const put = async (days: number): Promise<void> => {
    const made = await pair(days)
    writeFileSync(cert, made.cert)
    writeFileSync(key, made.key, { mode: 0o600 })
  }
  await put(60)
  const settings = JSON.parse(readFileSync(postern.configFile, 'utf8'))
  const write = (more: object): void =>
    writeFileSync(
      postern.configFile,
      JSON.stringify({ ...settings, tls: { cert_file: cert, key_file: key }, ...more }),
    )
  write({})
  await postern.start()
  const look = async () => {
    const { stdout } = await here(['doctor', '--json', '--config', postern.configFile])
    const rows = JSON.parse(stdout) as {
      check: string
      result: string
      detail: string
      remedy: string | null
    }[]
    return {
      of: (check: string) => rows.filter((row) => row.check === check),
      first: rows[0],
    }
  }
  const reload = async (): Promise<void> => {
    const before = postern.output.filter((line) => line.includes('"reloaded"')).length
    process.kill(postern.pid, 'SIGHUP')
    await eventually(
      'the daemon has reloaded',
      () => postern.output.filter((line) => line.includes('"reloaded"')).length > before,
    )
  }

  const fresh = await look()
  t.match(fresh.first, { check: 'configuration', result: 'ok', detail: postern.configFile })
  t.match(fresh.of('running configuration'), [{ result: 'ok' }])

  await put(90)
  t.match((await look()).of('served certificate'), [
    { result: 'warn', detail: /still serves/, remedy: 'systemctl reload postern' },
  ])
  await reload()
  t.strictSame((await look()).of('served certificate'), [])

  await put(5)
  await reload()
  await put(90)
  t.match((await look()).of('served certificate'), [{ result: 'fail' }], 'what is served expires soon')
  const metrics = await (await fetch(`http://127.0.0.1:${postern.ports.management}/metrics`)).text()
  const [, at] = /^postern_certificate_expires_timestamp_seconds (\d+)$/m.exec(metrics) ?? []
  t.ok(
    Math.abs(Number(at) * 1_000 - (Date.now() + 5 * DAY)) < DAY / 2,
    'the metric tells of the one that is served',
  )
  await reload()

  write({ log: { level: 'debug' }, limits: { recipients: 7 }, relay: { poll: '2s' } })
  t.match((await look()).of('running configuration'), [
    { result: 'warn', detail: 'not in force yet: log.level', remedy: 'systemctl reload postern' },
    {
      result: 'warn',
      detail: 'not in force yet: limits.recipients, relay.poll',
      remedy: 'systemctl restart postern',
    },
  ])
  await reload()
  t.match(
    (await look()).of('running configuration'),
    [{ detail: 'not in force yet: limits.recipients, relay.poll', remedy: 'systemctl restart postern' }],
    'a reload is not enough for these',
  )
  const status = await (await fetch(`http://127.0.0.1:${postern.ports.management}/status`)).text()
  t.notMatch(status, /gw\.postern\.test|127\.0\.0\.1|PRIVATE/, 'marks, no values')
})
