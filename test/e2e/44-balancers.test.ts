/**
 * The HAProxy and nginx of config/POSTGRES.md, as they stand there but for addresses and ports, before two daemons on one
 * PostgreSQL: both daemons get clients, each keeps the address of its client, and when one is gone the other has them all.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import t, { type Test } from 'tap'
import { authority } from '../parts/certificates.js'
import { eventually } from '../parts/eventually.js'
import { Postern, ROOT } from '../parts/postern.js'
import { freePort } from '../parts/postfix.js'
import { noPostgres, postgres } from '../parts/postgres.js'

const [CLIENT, OTHER] = ['127.0.0.77', '127.0.0.78']
const BEHIND = { host: '127.0.0.1', port: 0, proxy_protocol: true, trusted_proxies: ['127.0.0.1'] }
const STREAM = '/usr/lib/nginx/modules/ngx_stream_module.so'

const guide = readFileSync(join(ROOT, 'config', 'POSTGRES.md'), 'utf8')
const block = (beginning: string): string =>
  [...guide.matchAll(/```\n([\s\S]*?)```/g)]
    .map(([, text = '']) => text)
    .find((text) => text.startsWith(beginning)) ?? ''

const isThere = (program: string): boolean => spawnSync(program, ['-v']).status === 0
const skip =
  noPostgres() ||
  (!isThere('haproxy') && 'haproxy is not installed (apt-get install haproxy)') ||
  ((!isThere('nginx') || !existsSync(STREAM)) &&
    'nginx or its stream module is not installed (apt-get install nginx-light libnginx-mod-stream)')

const twoDaemons = async (t: Test): Promise<readonly [Postern, Postern]> => {
  const settings = {
    http: { host: '127.0.0.1', port: 0, trusted_proxies: ['127.0.0.1'] },
    submission: [
      { ...BEHIND, tls: 'starttls' },
      { ...BEHIND, tls: 'implicit' },
    ],
    bounce: { ...BEHIND, domain: 'bounce.test' },
    base_url: 'https://mail.test',
    rate_limit: { auth_failures: 6 },
  }
  const a = new Postern(settings)
  t.teardown(() => a.remove())
  const url_file = join(a.dir, 'url')
  writeFileSync(url_file, (await postgres()).database(), { mode: 0o600 })
  const store = { driver: 'postgres', url_file }
  writeFileSync(a.configFile, JSON.stringify({ ...JSON.parse(readFileSync(a.configFile, 'utf8')), store }))
  const b = new Postern({ ...settings, store, pepper_file: join(a.dir, 'data', 'pepper') })
  t.teardown(() => b.remove())
  await a.start()
  await b.start()
  return [a, b]
}

/** The text of the guide on ports of here; where each port of it is now. */
const placed = async (text: string, daemons: readonly [Postern, Postern]) => {
  const fronts: Record<string, number> = {}
  for (const [, port = ''] of text.matchAll(/(?:bind :|listen )(\d+)/g)) fronts[port] = await freePort()
  const at = ({ ports }: Postern): Record<string, number | undefined> => ({
    ...{ 2587: ports.submission[0], 2465: ports.submission[1], 2525: ports.bounce, 8080: ports.http },
  })
  const config = text
    .replace(
      /(server [ab] .*check port) \d+/g,
      (_, line: string) => `${line} ${daemons[/server a/.test(line) ? 0 : 1].ports.management}`,
    )
    .replace(
      /10\.0\.0\.1([12]):(\d+)/g,
      (_, n, port) => `127.0.0.1:${at(daemons[Number(n) - 1] as Postern)[port]}`,
    )
    .replace(/bind :(\d+)/g, (_, port) => `bind 127.0.0.1:${fronts[port]}`)
    .replace(/listen (\d+);/g, (_, port) => `listen 127.0.0.1:${fronts[port]};`)
  return { config, fronts }
}

const started = (t: Test, command: readonly string[]): void => {
  const [program = '', ...args] = command
  const child: ChildProcess = spawn(program, args, { stdio: 'inherit' })
  t.teardown(() => void child.kill())
}

/** Who is refused is named in the log, by the daemon that refused it. */
const refusedBy = ({ output }: Postern): readonly string[] =>
  output.filter((line) => line.includes('smtp_refused') && line.includes(`"ip":"${CLIENT}"`))

const submitters = (port: number, secure: boolean) => async (pass: string) => {
  const transport = createTransport({
    ...{ host: '127.0.0.1', port, localAddress: CLIENT, secure, requireTLS: !secure },
    ...{ tls: { rejectUnauthorized: false }, auth: { user: 'x', pass } },
  })
  const { response } = await transport.sendMail({ from: 'a@b.test', to: 'c@d.test', text: 'x' })
  transport.close()
  return response
}

t.setTimeout(180_000)
t.test('before two daemons', { skip }, async (t) => {
  const daemons = await twoDaemons(t)
  const [a, b] = daemons
  const key = await a.key('--mode', 'test')
  const ca = await authority(t)
  const { key: pem, cert } = await ca.issue('mail.test')
  const both = join(a.dir, 'api.pem')
  writeFileSync(both, `${cert}\n${pem}`, { mode: 0o600 })

  const haproxy = await placed(block('defaults').replace('/etc/haproxy/api.pem', both), daemons)
  const file = join(a.dir, 'haproxy.cfg')
  writeFileSync(file, haproxy.config)
  started(t, ['haproxy', '-db', '-f', file])
  const nginx = await placed(block('stream'), daemons)
  const nginxFile = join(a.dir, 'nginx.conf')
  const around = `daemon off; pid ${a.dir}/nginx.pid; error_log stderr; load_module ${STREAM}; events {}`
  writeFileSync(nginxFile, `${around}\n${nginx.config}`)
  started(t, ['nginx', '-p', a.dir, '-c', nginxFile])

  const ask = (bearer: string, localAddress = CLIENT): Promise<number> =>
    new Promise((resolve, reject) => {
      const options = {
        host: '127.0.0.1',
        port: haproxy.fronts[443],
        localAddress,
        agent: false,
        servername: 'mail.test',
      }
      const headers = { authorization: `Bearer ${bearer}` }
      request({ ...options, path: '/v1/emails', headers, ca: readFileSync(ca.caFile) }, (response) => {
        response.resume()
        resolve(response.statusCode ?? 0)
      })
        .on('error', reject)
        .end()
    })
  const ways: Readonly<Record<string, (pass: string) => Promise<string>>> = {
    'HAProxy, STARTTLS': submitters(haproxy.fronts[587] ?? 0, false),
    'HAProxy, TLS': submitters(haproxy.fronts[465] ?? 0, true),
    'nginx, STARTTLS': submitters(nginx.fronts[587] ?? 0, false),
  }

  await t.test('a client of HTTP keeps its address', async (t) => {
    await eventually('it is asked', () =>
      ask(key).then(
        (status) => status === 200,
        () => false,
      ),
    )
    const answers: number[] = []
    await eventually('too many wrong keys of one address', async () => {
      answers.push(await ask('svc_test_wrong'))
      return answers.at(-1) === 429
    })
    t.equal(await ask('svc_test_wrong', OTHER), 401, 'another one may still be wrong')
  })

  for (const [name, submit] of Object.entries(ways)) {
    await t.test(`${name}: mail passes, to both, and the client keeps its address`, async (t) => {
      t.match(
        await eventually('it is taken', () => submit(key).catch(() => null)),
        /^250 2\.6\.0 Ok: queued as em_/,
      )
      const before = daemons.map((daemon) => refusedBy(daemon).length)
      for (let i = 0; i < 4; i++) await t.rejects(submit('svc_test_wrong'), /535 5\.7\.8 |454 |421 /)
      await eventually('both have refused it, by its address', () =>
        daemons.every((daemon, i) => refusedBy(daemon).length > (before[i] ?? 0)),
      )
    })
  }

  await t.test('a report comes in', async (t) => {
    const transport = createTransport({
      host: '127.0.0.1',
      port: haproxy.fronts[25] ?? 0,
      localAddress: CLIENT,
      tls: { rejectUnauthorized: false },
    })
    const report = { envelope: { from: '', to: ['x@bounce.test'] }, text: 'x' }
    await t.rejects(transport.sendMail(report), /550 5\.1\.1 No such return path/)
    transport.close()
  })

  await t.test('one is gone: the other has them all', async () => {
    await b.stop()
    for (const submit of Object.values(ways)) {
      const isTaken = () =>
        submit(key).then(
          (response) => response.startsWith('250'),
          () => false,
        )
      await eventually(
        'each is taken',
        async () => (await isTaken()) && (await isTaken()) && (await isTaken()),
      )
    }
    await eventually(
      'by HTTP, too',
      async () => (await ask(key, OTHER)) === 200 && (await ask(key, OTHER)) === 200,
    )
  })
})
