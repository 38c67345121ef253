/**
 * The image for arm64 by qemu, which is called and not known to the kernel: its Node, bcrypt and the SQLite driver are of
 * that architecture, too. systemd/release/check.sh makes the image and runs this.
 */
import { createTransport } from 'nodemailer'
import t from 'tap'
import { archiveOf, Containers, documentOf } from '../parts/container.js'
import { eventually } from '../parts/eventually.js'
import { UpstreamServer } from '../relay/upstream-server.js'

const NAMES = { POSTERN_HOSTNAME: 'mail.example.com', POSTERN_BASE_URL: 'https://mail.example.com' }
const archive = archiveOf('arm64')
const all =
  typeof archive === 'string' ? archive : await Containers.of(archive.file, '/usr/bin/qemu-aarch64-static')
const skip = typeof all === 'string' ? all : false

t.setTimeout(320_000)
t.test('from its start to a relayed mail', { skip, timeout: 300_000 }, async (t) => {
  if (typeof all === 'string') return
  const upstream = new UpstreamServer()
  t.teardown(async () => {
    await all.remove()
    await upstream.close()
  })
  const began = Date.now()
  const options = { env: NAMES, volume: all.volume() }
  const cli = async (words: readonly string[], input = ''): Promise<string> => {
    const { code, text } = await all.ran(words, { ...options, input })
    if (code !== 0) throw new Error(`${words.join(' ')}: ${code} ${text}`)
    return text
  }
  t.match(documentOf(await cli(['version', '--json'])), { platform: 'linux arm64' })
  const daemon = all.run(all.image.Cmd, options)
  await eventually('it listens', () => daemon.said().includes('"listening"') || null, {
    ms: 240_000,
    seen: daemon.said,
  })
  t.match(await cli(['healthcheck', '--ready']), /^the daemon is ready/)
  const made = await cli(
    ['credential', 'create', '--workspace', 'default', '--username', 'app'],
    'a long password of a program',
  )
  t.match(made, /app/, 'bcrypt works')
  const port = await upstream.listen(0, all.net.host)
  await cli(['upstream', 'add', 'default', `smtp://${all.net.host}:${port}?tls=none`])
  const [host] = all.net.clients
  const client = createTransport({
    ...{ host: host ?? '', port: 2587, requireTLS: true, tls: { rejectUnauthorized: false } },
    auth: { user: 'app', pass: 'a long password of a program' },
  })
  await client.sendMail({ from: 'a@example.com', to: 'b@example.org', subject: 'from arm64', text: 'x' })
  client.close()
  await eventually(
    'it is relayed',
    () => upstream.received.some(({ wire }) => /Subject: from arm64/.test(wire)) || null,
  )
  t.comment(`${Math.round((Date.now() - began) / 1000)} s under qemu`)
  await daemon.signal('SIGTERM')
  t.equal(await daemon.ended, 0)
})
