/** The command line beside a running daemon: what it shows is what the API answers. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { cleanEnv, Postern } from '../parts/postern.js'
import { command, here } from './desk.js'

const daemon = new Postern()
t.teardown(() => daemon.remove())
await daemon.start()

const run = (args: readonly string[], input = '') => here([...args, '--config', daemon.configFile], input)
const json = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await run([...args, '--json'])
  if (code !== 0) throw new Error(`postern ${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}

const key = (await json('key', 'create', '--workspace', 'default', '--mode', 'test')).secret as string
const keyFile = join(daemon.dir, 'key')
writeFileSync(keyFile, `${key}\n`, { mode: 0o600 })

const sent: string[] = []
t.test('send', async (t) => {
  const base = ['send', '--url', daemon.url, '--key-file', keyFile]
  const { code, stdout, stderr } = await run(
    [...base, '--from', 'a@acme.test', '--to', 'bounced@b.test', '--subject', 'One', '--text-file', '-'],
    'hello\n',
  )
  t.equal(code, 0)
  t.match(stdout, /^em_\w+\n$/)
  t.match(stderr, /postern email show em_/)
  sent.push(stdout.trim())
  await daemon.until(key, stdout.trim(), ['bounced'])
  t.match(await run([...base, '--from', 'nobody', '--to', 'b@b.test']), {
    code: 65,
    stderr: /^postern: from: /,
  })
  t.match(await run(['send', '--url', daemon.url, '--key-file', daemon.configFile, '--to', 'b@b.test']), {
    code: 77,
  })
  t.match(await run(['send', '--url', 'http://127.0.0.1:1', '--key-file', keyFile, '--to', 'b@b.test']), {
    code: 69,
  })
  t.match(await run(['send', '--url', daemon.url, '--to', 'b@b.test']), { code: 64, stderr: /--key-file/ })
  // the daemon has any free port, and tells the command line which
  t.match(await run(['send', '--key-file', keyFile, '--to', 'b@b.test']), { code: 65, stderr: /from/ })
})

t.test('send a finished message', async (t) => {
  const base = [
    'send',
    '--url',
    daemon.url,
    '--key-file',
    keyFile,
    '--to',
    'delivered@b.test',
    '--raw-file',
    '-',
  ]
  const message = 'From: a@acme.test\r\nSubject: Whole\r\nBcc: hidden@b.test\r\n\r\nhello\r\n'
  const { code, stdout } = await run(base, message)
  t.equal(code, 0)
  await daemon.until(key, stdout.trim(), ['delivered'])
  t.match(await run(['email', 'source', stdout.trim()]), { stdout: /Subject: Whole\r\n\r\nhello\r\n$/ })
  t.match(await run([...base, '--subject', 'x'], message), { code: 65, stderr: /subject: .*beside raw/ })
  t.match(await run(base, ''), { code: 65, stderr: /raw: / })
})

t.test('the records are those of the API', async (t) => {
  const [id = ''] = sent
  t.same(await json('email', 'show', id), (await daemon.api('GET', `/v1/emails/${id}`, key)).body)
  t.same(
    await json('email', 'events', id),
    (await daemon.api('GET', `/v1/emails/${id}/events`, key)).body.data,
  )
  t.same(await json('email', 'list'), (await daemon.api('GET', '/v1/emails', key)).body.data)
  t.match(await run(['email', 'list', '--limit', '1']), {
    code: 0,
    stderr: 'these are the first 1, and there are more: --limit N, or --all\n',
  })
  const token = (await json('session', 'create', '--lasts', '5m')).token as string
  for (const [subject, path] of [
    ['workspace', 'workspaces'],
    ['key', 'api-keys'],
    ['pool', 'egress-pools'],
  ] as const) {
    const { body } = await daemon.api('GET', `/v1/${path}`, token)
    // a use of the key may be noted between the two looks
    const calm = (rows: { last_used_at?: string | null }[]) =>
      rows.map((row) => ({ ...row, last_used_at: null }))
    t.same(calm(await json(subject, 'list')), calm(body.data), path)
  }
})

t.test('show, by id, Message-ID and address', async (t) => {
  const [id = ''] = sent
  const byId = await run(['email', 'show', id])
  t.match(byId.stdout, `${id}  bounced  One`)
  t.match(byId.stdout, /bounced +attempt 1 at 127\.0\.0\.1:\d+ +550 5\.1\.1 .*\(at rcpt; .*\d+ ms\)/)
  const { message_id } = await json('email', 'show', 'bounced@b.test')
  t.equal((await json('email', 'show', message_id)).id, id)
  t.equal((await json('email', 'show', message_id.slice(1, -1))).id, id)
  t.match(await run(['email', 'show', 'nobody@b.test']), {
    code: 65,
    stderr: /No mail is known by nobody@b.test/,
  })
  t.match(await run(['email', 'cancel', id, '--yes']), { code: 65, stderr: /is bounced, not scheduled/ })
})

t.test('tail follows each recipient of what is searched for', async (t) => {
  const [file, words] = command([
    'email',
    'tail',
    '--q',
    'to:b.test -subject:other',
    '--config',
    daemon.configFile,
  ])
  const child = spawn(file, words, { env: cleanEnv() })
  const said = createInterface({ input: child.stderr })
  await new Promise((resolve) => said.once('line', resolve))
  const lines: string[] = []
  const seen = new Promise<void>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line)
      if (line.includes('→ delivered')) resolve()
    })
  })
  const body = { from: 'a@acme.test', to: 'delivered@b.test', text: 'x' }
  for (const other of [{ to: 'delivered@c.test' }, { subject: 'Other' }])
    await daemon.api('POST', '/v1/emails', key, { ...body, ...other })
  const { id } = (await daemon.api('POST', '/v1/emails', key, body)).body
  await seen
  t.match(lines.at(-1), `${id} delivered@b.test  queued → sent → delivered`)
  t.ok(
    lines.every((line) => line.startsWith(id)),
    'and of nothing else',
  )
  child.kill('SIGINT')
  t.equal(await new Promise((resolve) => child.once('exit', resolve)), 0)
})
