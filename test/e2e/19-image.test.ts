/**
 * The image that a release made, run as a container: what is not fit is said in one line, a mail is relayed, what was
 * acknowledged is not lost when it is stopped under load, and what compose.yaml says works behind a real HAProxy.
 * systemd/release/check.sh makes the image and runs this; $POSTERN_RELEASE is the folder of the release.
 */
import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { newKeyText } from '../../src/tenant/key.js'
import { authority } from '../parts/certificates.js'
import { archiveOf, type Container, Containers, documentOf, type Options } from '../parts/container.js'
import { eventually } from '../parts/eventually.js'
import { ROOT } from '../parts/postern.js'
import { UpstreamServer } from '../relay/upstream-server.js'

const archive = archiveOf('amd64')
const containers = typeof archive === 'string' ? archive : await Containers.of(archive.file)
const skip = typeof containers === 'string' ? containers : false
const NAMES = { POSTERN_HOSTNAME: 'mail.example.com', POSTERN_BASE_URL: 'https://mail.example.com' }

/** Asked over HTTPS, whose certificate is self-signed. */
const asked = (method: string, url: string, key = '', body?: object) =>
  new Promise<{ status: number; text: string }>((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const sent = request(
      url,
      { method, headers, rejectUnauthorized: false, timeout: 30_000 },
      async (answer) => {
        try {
          let text = ''
          for await (const chunk of answer) text += chunk
          resolve({ status: answer.statusCode ?? 0, text })
        } catch (error) {
          reject(error)
        }
      },
    )
    sent.on('timeout', () => sent.destroy(new Error('no answer')))
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })

const listening = (one: Container) =>
  eventually('it listens', () => (one.said().includes('"listening"') ? true : null), { seen: one.said })

const tests = (all: Containers): void => {
  const [here = ''] = all.net.clients
  const api = `https://${here}:8080`
  const upstream = new UpstreamServer()
  const received = (): string => upstream.received.map(({ wire }) => wire).join('\n')
  t.teardown(async () => {
    await all.remove()
    await upstream.close()
  })

  t.test('it is what the Containerfile says', async (t) => {
    const { imageConfig } = await import(join(ROOT, 'systemd/release/containerfile.mjs'))
    const { code, text } = await all.ran(['version', '--json'], { volume: null })
    t.equal(code, 0, text)
    const { version, commit } = JSON.parse(text)
    t.strictSame(all.image, imageConfig({ VERSION: version, REVISION: commit }))
    t.notMatch(
      execFileSync('find', [all.root, '-name', 'sh', '-o', '-name', 'dpkg', '-o', '-perm', '/6000']),
      /./,
    )
  })

  t.test('what is not fit is said in one line, with the remedy', async (t) => {
    const ends = async (code: number, line: RegExp, options: Options): Promise<void> => {
      const ran = await all.ran(['serve'], options)
      t.equal(ran.code, code, ran.text)
      t.match(ran.text, line)
      t.equal(ran.text.trim().split('\n').length, 1, ran.text)
    }
    const volume = all.volume()
    await ends(
      73,
      /^postern: data_dir: \/data can not be used: the file system is read-only; mount a volume there, or set POSTERN_DATA_DIR to a folder/,
      {
        env: NAMES,
        volume: null,
      },
    )
    await ends(
      77,
      /^postern: data_dir: \/data can not be used: permission denied; let this user write to it, or set POSTERN_DATA_DIR to a folder/,
      {
        env: NAMES,
        volume,
        user: 20_001,
      },
    )
    await ends(78, /^postern: POSTERN_HTP__PORT: htp: is not a setting; did you mean http\?/, {
      env: { ...NAMES, POSTERN_HTP__PORT: '1' },
      volume,
    })
    await ends(78, /^postern: POSTERN_HTTP__PORT: http\.port: expected a number, found "soon"/, {
      env: { ...NAMES, POSTERN_HTTP__PORT: 'soon' },
      volume,
    })
    for (const name of Object.keys(NAMES) as (keyof typeof NAMES)[]) {
      const { [name]: _, ...env } = NAMES
      const setting = name.replace('POSTERN_', '').toLowerCase()
      await ends(78, new RegExp(`^postern: ${setting}: .*; set ${name}=.*mail\\.example\\.com`), {
        env,
        volume,
      })
    }
    const taken = all.net.spawn('bash', [
      '-c',
      'exec "$0" -e "require(\'net\').createServer().listen(2525,()=>console.log(1))"',
      process.execPath,
    ])
    await once(taken.stdout ?? taken, 'data')
    await ends(
      75,
      /^postern: bounce: 0\.0\.0\.0:2525 is in use by another program; .* set POSTERN_BOUNCE__PORT to a free port/,
      {
        env: NAMES,
        volume,
      },
    )
    taken.kill()
    await once(taken, 'close')
  })

  const volume = all.volume()
  const cli = async (...words: readonly string[]) => {
    const ran = await all.ran(words, { env: NAMES, volume })
    if (ran.code !== 0) throw new Error(`${words.join(' ')}: ${ran.code} ${ran.text}`)
    return ran.text
  }
  const healthy = async (code: number, says: RegExp) => {
    const ran = await all.ran(['healthcheck', '--ready'], { env: NAMES, volume })
    t.match(ran, { code, text: says })
  }
  let key = ''

  t.test('without an upstream it runs, and says so; with one a mail is relayed', async (t) => {
    await healthy(1, /^no daemon runs on \/data/)
    const began = Date.now()
    const daemon = all.run(all.image.Cmd, { env: NAMES, volume })
    await listening(daemon)
    t.comment(`${Date.now() - began} ms from the start of its processes to the line that it listens`)
    await healthy(0, /^the daemon is ready/)
    key = documentOf(await cli('key', 'create', '--workspace', 'default', '--json')).secret
    const mail = { from: 'a@example.com', to: 'b@example.org', subject: 'from a container', text: 'x' }
    const { status, text } = await asked('POST', `${api}/v1/emails`, key, mail)
    t.ok(status === 202 || status === 200, `${status} ${text}`)
    const said = await eventually('the log says it', () =>
      daemon
        .said()
        .split('\n')
        .find((line) => /upstream/.test(line)),
    )
    t.match(JSON.parse(said), { level: 'error' })
    t.match(said, /postern upstream add|postern pool/)
    const port = await upstream.listen(0, all.net.host)
    await cli('upstream', 'add', 'default', `smtp://${all.net.host}:${port}?tls=none`)
    await eventually('the mail is relayed', () => /Subject: from a container/.test(received()) || null)
    t.comment(`idle, it has ${await pss(await daemon.pid())} MiB (PSS)`)
    await daemon.signal('SIGTERM')
    t.equal(await daemon.ended, 0)
    await healthy(1, /^no daemon runs on \/data/)
  })

  t.test('stopped under load: nothing that was acknowledged is lost', async (t) => {
    const acknowledged: string[] = []
    let isOver = false
    let count = 0
    const sender = async (): Promise<void> => {
      while (!isOver) {
        const subject = `load-${count++}-`
        const mail = { from: 'a@example.com', to: 'b@example.org', subject, text: 'x'.repeat(2_000) }
        const answer = await asked('POST', `${api}/v1/emails`, key, mail).catch(() => null)
        if (answer !== null && /^20[02]$/.test(String(answer.status))) acknowledged.push(subject)
        else if (answer !== null) t.match(answer.status, 503, answer.text)
      }
    }
    for (const until of [200, 400]) {
      isOver = false
      const daemon = all.run(all.image.Cmd, {
        env: { ...NAMES, POSTERN_RATE_LIMIT__PER_MINUTE: '100000' },
        volume,
      })
      await listening(daemon)
      const senders = Array.from({ length: 12 }, sender)
      await eventually(`${until} are acknowledged`, () => acknowledged.length >= until || null)
      await daemon.signal('SIGTERM')
      t.equal(await daemon.ended, 0, daemon.said().slice(-600))
      isOver = true
      await Promise.all(senders)
    }
    t.comment(`${acknowledged.length} acknowledged, ${count} asked`)
    const daemon = all.run(all.image.Cmd, { env: NAMES, volume })
    await eventually('all are relayed', () => {
      const text = received()
      return acknowledged.every((subject) => text.includes(`Subject: ${subject}\r`)) || null
    })
    await daemon.signal('SIGTERM')
    t.equal(await daemon.ended, 0)
  })

  t.test(
    'compose.yaml behind HAProxy',
    { skip: spawnSync('haproxy', ['-v']).status === 0 ? false : 'no haproxy' },
    (t) => composed(t, all),
  )
}

/** Proportional set size of a process and of all its threads. */
const pss = async (pid: number): Promise<number> => {
  const kib = /^Pss: +(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]
  return Math.round(Number(kib) / 1024)
}

/** What stands in compose.yaml, at the addresses that stand there, with the secrets of the paper. */
const composed = async (t: Test, all: Containers): Promise<void> => {
  const folder = join(ROOT, 'config/container')
  const { services, networks } = parse(readFileSync(join(folder, 'compose.yaml'), 'utf8'))
  const { environment, secrets } = services.postern
  const proxy: string = services.haproxy.networks.front.ipv4_address
  const [{ subnet }] = networks.front.ipam.config
  const ours = proxy.replace(/\d+$/, '3')
  const inside = async (...words: readonly string[]): Promise<void> => {
    const child = all.net.spawn('ip', words)
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`ip ${words.join(' ')}: ${code}`)
  }
  // one network for both: what goes to the daemon comes from the address of the proxy
  for (const one of [proxy, ours])
    await inside('address', 'add', `${one}/${subnet.split('/')[1]}`, 'dev', 'lo')
  await inside('route', 'replace', 'local', ours, 'dev', 'lo', 'table', 'local', 'src', proxy)

  const pair = await (await authority(t)).issue('mail.example.com')
  const owner = Number.parseInt(all.image.User, 10)
  const file = (name: string, text: string | Buffer): string => {
    const path = join(all.dir, name)
    writeFileSync(path, text, { mode: 0o400 })
    chownSync(path, owner, owner)
    return path
  }
  const pem = file('haproxy.pem', `${pair.cert}\n${pair.key}\n`)
  const texts: Record<string, string | Buffer> = {
    pepper: Buffer.alloc(32, 7),
    'tls.crt': pair.cert,
    'tls.key': pair.key,
    'upstream.password': 'sesame',
    'app.key': newKeyText('live'),
  }
  const held = join(all.dir, 'secrets')
  execFileSync('mkdir', ['-p', held])
  for (const name of secrets as string[]) file(`secrets/${name}`, texts[name] ?? '')
  const named = {
    ...{ ...NAMES, POSTERN_BOUNCE__DOMAIN: 'bounces.example.com' },
    POSTERN_UPSTREAM: 'smtp://user@mta1.example.com:587?tls=verify',
  } as Record<string, string>
  const env = Object.fromEntries(
    Object.entries<string>(environment).map(([name, value]) => [
      name,
      value.replace(/\$\{(\w+)[^}]*\}/g, (_, one) => named[one] ?? ''),
    ]),
  )
  const options = { env, volume: all.volume(), mounts: { '/run/secrets': held } }
  const daemon = all.run(all.image.Cmd, options)
  await listening(daemon)
  const cfg = readFileSync(join(folder, 'haproxy.cfg'), 'utf8')
    .replace('/run/secrets/haproxy.pem', pem)
    .replaceAll(/ postern:(\d+)/g, ` ${ours}:$1`)
    .replace(/init-addr none.*resolve-prefer ipv4/, '')
  const haproxy: ChildProcess = all.net.spawn('haproxy', ['-db', '-f', file('haproxy.cfg', cfg)])
  t.teardown(async () => {
    haproxy.kill()
    await once(haproxy, 'close')
  })
  const made = await all.ran(['key', 'create', '--workspace', 'default', '--mode', 'test', '--json'], options)
  const { secret } = documentOf(made.text)
  const [host] = all.net.clients
  const mail = { from: 'a@example.com', to: 'delivered@example.org', subject: 'x', text: 'x' }
  const sent = await eventually('HTTPS through HAProxy', async () => {
    const answer = await asked('POST', `https://${host}/v1/emails`, secret, mail).catch(() => null)
    return answer !== null && answer.status !== 503 ? answer : null
  })
  t.match(sent.status, 202, sent.text)
  for (const [port, ...words] of [['587', '-starttls', 'smtp'], ['465']] as const) {
    const shown = await eventually(`port ${port} through HAProxy`, () => {
      const said = spawnSync(
        'openssl',
        ['s_client', '-connect', `${host}:${port}`, '-servername', 'mail.example.com', ...words],
        { input: 'QUIT\r\n', encoding: 'utf8' },
      )
      return /subject=CN ?= ?(\S+)/.exec(said.stdout)?.[1] ?? null
    })
    t.equal(shown, 'mail.example.com', 'the certificate of the secrets')
  }
  const stranger = createTransport({
    ...{ host: host ?? '', port: 587, requireTLS: true, tls: { rejectUnauthorized: false } },
    auth: { user: 'x', pass: 'svc_test_wrong' },
  })
  await t.rejects(stranger.sendMail({ from: 'a@b.test', to: 'c@d.test', text: 'x' }), /535 5\.7\.8 /)
  const refused = await eventually('the log says who was refused', () =>
    daemon
      .said()
      .split('\n')
      .find((line) => line.includes('smtp_refused')),
  )
  t.match(JSON.parse(refused), { ip: all.net.host }, 'a client keeps its address')
  await daemon.signal('SIGTERM')
  t.equal(await daemon.ended, 0, daemon.said().slice(-600))
}

t.setTimeout(600_000)
if (typeof containers === 'string') t.test('the image in a container', { skip }, async () => {})
else tests(containers)
