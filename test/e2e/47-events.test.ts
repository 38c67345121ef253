/**
 * The log over restarts of a real daemon: streams go on where they were, slow readers
 * cost their place only, webhook listen loses nothing, the command line needs no daemon.
 */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { type EventSource, listen } from '../parts/event-source.js'
import { eventually } from '../parts/eventually.js'
import { BIN, cleanEnv, Postern } from '../parts/postern.js'

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await eventually('a port', () => server.listening)
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

const postern = new Postern({
  http: { host: '127.0.0.1', port: await freePort() },
  rate_limit: { per_minute: 100_000, auth_failures: 1_000 },
})
await postern.start()
t.teardown(() => postern.stop())
const key = await postern.key('--mode', 'test')
const keyFile = join(postern.dir, 'key')
writeFileSync(keyFile, key, { mode: 0o600 })

const send = async (to: string | readonly string[], more = {}): Promise<string> => {
  const body = { from: 'a@acme.test', to, text: 'x', ...more }
  const { status, body: record, text } = await postern.api('POST', '/v1/emails', key, body)
  if (status !== 202) throw new Error(text)
  return record.id
}
const streamAt = (after: string | null): Promise<EventSource> =>
  listen(
    `${postern.url}/v1/events/stream?type=email.queued`,
    key,
    after === null ? {} : { 'last-event-id': after },
  )
const emailsOf = (stream: EventSource): string[] => stream.events.map(({ data }) => data.email_id)

t.test('a stream goes on over a restart and over kill -9', async (t) => {
  const sent: string[] = []
  const heard: string[] = []
  let stream = await streamAt(null)
  await eventually('its beginning', () => stream.lastId)
  for (const end of ['SIGTERM', 'SIGKILL'] as const) {
    sent.push(await send('delivered@b.test'), await send('delivered@b.test'))
    await stream.heard(2)
    heard.push(...emailsOf(stream))
    await postern.stop(end)
    t.equal(
      await stream.ended(),
      end === 'SIGTERM',
      'ended when the daemon was told to stop, cut when it was killed',
    )
    if (end === 'SIGTERM') t.equal(stream.retries.length, 2)
    await postern.start()
    // nobody listens to these
    sent.push(await send('delivered@b.test'))
    stream = await streamAt(stream.lastId)
    await stream.heard(1)
    heard.push(...emailsOf(stream).splice(0))
    stream.events.splice(0)
  }
  stream.close()
  t.strictSame(heard, sent)
})

t.test('the command line: list without a daemon, tail from a mark', async (t) => {
  const last = await send('delivered@b.test')
  await postern.stop()
  const [newest] = await postern.json('event', 'list', '--email', last, '--type', 'email.queued')
  t.match(newest, { object: 'event', type: 'email.queued', email_id: last })
  t.strictSame(await postern.json('event', 'show', newest.id), newest)
  const wrong = await postern.cli('event', 'list', '--type', 'email.send')
  t.match(wrong, { code: 65, stderr: /email\.send is no type of event; did you mean email\.sent\?/ })
  t.match(await postern.cli('event', 'tail', '--after', 'm1_x'), {
    code: 65,
    stderr: /no mark of this log/,
  })
  await postern.start()
  const tail = async (...words: string[]) => {
    const args = [
      BIN,
      'event',
      'tail',
      '--config',
      postern.configFile,
      '--type',
      'email.queued',
      '--json',
      ...words,
    ]
    const child = spawn(process.execPath, args, { env: cleanEnv() })
    t.teardown(() => child.kill('SIGKILL'))
    const lines: string[] = []
    const said: string[] = []
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line).email_id))
    createInterface({ input: child.stderr }).on('line', (line) => said.push(line))
    await eventually('its first word', () => said.length)
    const stop = async (): Promise<string> => {
      child.kill('SIGINT')
      await new Promise((resolve) => child.once('close', resolve))
      return /--after (\S+)/.exec(said.join('\n'))?.[1] ?? ''
    }
    return { lines, stop }
  }
  const first = await tail()
  const sent = [await send('delivered@b.test')]
  await eventually('it', () => first.lines.length === 1)
  const mark = await first.stop()
  t.match(mark, /^m1_/)
  sent.push(await send('delivered@b.test'))
  const second = await tail('--after', mark)
  await eventually('the next', () => second.lines.length > 0)
  await second.stop()
  t.strictSame([...first.lines, ...second.lines], sent)
})

t.test('webhook listen posts signed, each event once, over a restart', async (t) => {
  const got: { id: string; type: string; emailId: string; to: string[]; isTrue: boolean }[] = []
  let secret = ''
  const receiver = createServer((req, res) => {
    const parts: Buffer[] = []
    req.on('data', (part) => parts.push(part))
    req.on('end', () => {
      const body = Buffer.concat(parts).toString()
      const verify = () => new Webhook(secret).verify(body, req.headers as Record<string, string>)
      const { type, data } = verify() as { type: string; data: { email_id: string; to: string[] } }
      got.push({
        id: String(req.headers['webhook-id']),
        type,
        emailId: data.email_id,
        to: data.to,
        isTrue: true,
      })
      res.end('ok')
    })
  }).listen(0, '127.0.0.1')
  t.teardown(() => void receiver.close())
  await eventually('the receiver', () => receiver.listening)
  const forward = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
  const words = [
    '--key-file',
    keyFile,
    '--url',
    postern.url,
    '--events',
    'email.queued',
    '--forward',
    forward,
  ]
  const args = [BIN, 'webhook', 'listen', '--config', postern.configFile, ...words]
  const child = spawn(process.execPath, args, { env: cleanEnv() })
  t.teardown(() => child.kill('SIGKILL'))
  const said: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => said.push(line))
  await eventually('it listens', () => said.some((line) => line.includes('listening')), { seen: () => said })
  secret = /whsec_\S+/.exec(said.join('\n'))?.[0] ?? ''
  const sent = [await send('delivered@b.test')]
  await eventually('the first post', () => got.length === 1, { seen: () => said })
  await postern.stop()
  await eventually(
    'it says so',
    () => said.some((line) => line.startsWith('cut off')) || said.some((line) => /cut off/.test(line)),
  )
  await postern.start()
  sent.push(await send('delivered@b.test'), await send('delivered@b.test'))
  await eventually('the rest', () => got.length >= 3, { seen: () => said })
  t.strictSame(
    got.map(({ emailId }) => emailId),
    sent,
  )
  t.match(got[0], { type: 'email.queued', to: ['delivered@b.test'], id: /^evt_/ })
  child.kill('SIGINT')
  t.equal(await new Promise((resolve) => child.once('close', resolve)), 0)
  const live = await postern.cli('webhook', 'listen', '--key-file', keyFile, '--live')
  t.match(live, { code: 64, stderr: /this key is for test mail/ })
  for (const [option, url] of [
    ['--url', 'localhost:8080'],
    ['--forward', 'localhost:3000/hook'],
    ['--forward', 'ftp://127.0.0.1/'],
  ] as const) {
    const refused = await postern.cli('webhook', 'listen', '--key-file', keyFile, option, url)
    t.match(refused, { code: 64, stderr: `${option}: ${url} is no URL such as http://` }, url)
  }
})

/** Resident memory of the daemon, in bytes. */
const residentOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024

t.test('fifty who do not read cost their places, not what they have not read', async (t) => {
  const STREAMS = 49
  const tags = Array.from({ length: 60 }, (_, i) => ({
    name: `t${i}`,
    value: randomBytes(100).toString('hex'),
  }))
  const to = Array.from({ length: 100 }, (_, i) => `delivered+${i}@b.test`)
  const reader = await streamAt(null)
  const fill = async (until: number): Promise<void> => {
    for (let i = 0; i < 10; i++) await send(to, { tags })
    await reader.heard(until)
  }
  await fill(1_000)
  const before = residentOf(postern.pid)
  const slow = await Promise.all(Array.from({ length: STREAMS }, () => streamAt(null)))
  for (const stream of slow) stream.answer.pause()
  await fill(2_000)
  const unread = JSON.stringify(reader.events.slice(1_000)).length
  const grown = residentOf(postern.pid) - before
  t.comment(`${STREAMS} streams did not read ${unread} bytes each; the daemon grew by ${grown} bytes`)
  t.ok(unread > 10 * 1024 ** 2)
  t.ok(grown < (STREAMS * unread) / 4, `${grown} of ${STREAMS * unread}`)
  for (const stream of slow.slice(0, 5)) {
    stream.answer.resume()
    await stream.heard(1_000)
    t.strictSame(emailsOf(stream), emailsOf(reader).slice(1_000))
  }
  for (const stream of [...slow, reader]) stream.close()
})
