/** The first five minutes: `postern dev` in an empty folder, then the lines that it says to paste. */
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { BIN, cleanEnv, runCli } from '../parts/postern.js'
import { freePort } from '../parts/postfix.js'

const dir = mkdtempSync(join(tmpdir(), 'postern-dev-'))
const ports = {
  http: await freePort(),
  smtp: await freePort(),
  smtps: await freePort(),
  bounce: await freePort(),
  management: await freePort(),
}
const env = cleanEnv({
  POSTERN_HTTP__PORT: `${ports.http}`,
  POSTERN_MANAGEMENT__PORT: `${ports.management}`,
  POSTERN_BOUNCE__PORT: `${ports.bounce}`,
  POSTERN_SUBMISSION: JSON.stringify([
    { host: '127.0.0.1', port: ports.smtp, tls: 'starttls' },
    { host: '127.0.0.1', port: ports.smtps, tls: 'implicit' },
  ]),
})
const child = spawn(process.execPath, [BIN, 'dev'], { cwd: dir, env, stdio: ['ignore', 'pipe', 'pipe'] })
const lines: string[] = []
const listeners = new Set<() => void>()
for (const stream of [child.stdout, child.stderr]) {
  createInterface({ input: stream }).on('line', (line) => {
    lines.push(line)
    for (const listener of listeners) listener()
  })
}
t.teardown(async () => {
  const gone = new Promise((resolve) => child.once('exit', resolve))
  if (child.exitCode === null) {
    child.kill()
    await gone
  }
  rmSync(dir, { recursive: true, force: true })
})

/** Waits for a line of output. */
const line = (pattern: RegExp): Promise<string> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no ${pattern} in:\n${lines.join('\n')}`)), 30_000)
    const look = (): void => {
      const found = lines.find((one) => pattern.test(one))
      if (found === undefined) return
      clearTimeout(timer)
      listeners.delete(look)
      resolve(found)
    }
    listeners.add(look)
    look()
  })

const shell = (command: string): Promise<string> =>
  new Promise((resolve) => execFile('sh', ['-c', command], { cwd: dir }, (_error, stdout) => resolve(stdout)))

t.test('it says where everything is, and keeps its secrets off a pipe', async (t) => {
  t.match(
    await line(/dev mode/),
    /Postern \d+\.\d+\.\d+ {2}dev mode: mail is captured, nothing leaves this machine/,
  )
  t.ok(await line(new RegExp(`http://127\\.0\\.0\\.1:${ports.http}/v1`)))
  await line(/swaks .*--server/)
  t.notOk(
    lines.some((one) => /svc_test_[0-9A-Za-z]{20}/.test(one)),
    'no key where a journal might keep it',
  )
  t.notOk(
    lines.some((one) => /\/setup\//.test(one)),
    'and no link that signs in',
  )
  t.equal(statSync(join(dir, 'data', 'dev.key')).mode & 0o777, 0o600)
  t.equal(statSync(join(dir, 'data')).mode & 0o777, 0o700)
  t.equal(statSync(join(dir, 'data', 'pepper')).mode & 0o777, 0o600)
  t.equal(statSync(join(dir, 'data', 'postern.db')).mode & 0o777, 0o600)
})

t.test('the curl line sends a mail that is delivered', async (t) => {
  const command = (await line(/^\s*(Try:)?\s*curl /)).replace(/^\s*Try:\s*/, '')
  const answer = JSON.parse(await shell(command))
  t.match(answer.id, /^em_[0-9a-z]{26}$/)
  t.match(await line(new RegExp(`${answer.id}.*delivered`)), /queued → sent → delivered {2}\d+/)
})

// those that no door waits for are there when the first mail has come through them
t.test(
  'its threads have names',
  { skip: existsSync('/proc/thread-self') ? false : 'no /proc here' },
  async (t) => {
    const tasks = `/proc/${child.pid}/task`
    const names = readdirSync(tasks).map((task) => readFileSync(join(tasks, task, 'comm'), 'utf8').trim())
    for (const name of ['postern-writer', 'postern-relay', 'postern-follow']) t.ok(names.includes(name), name)
  },
)

t.test(
  'the swaks line does too',
  { skip: existsSync('/usr/bin/swaks') ? false : 'swaks is not installed' },
  async (t) => {
    const command = (await line(/^\s*swaks /)).trim()
    const output = await shell(command)
    const id = /queued as (em_[0-9a-z]{26})/.exec(output)?.[1] ?? ''
    t.ok(id, output)
    await line(new RegExp(`${id}.*queued → sent → delivered`))
  },
)

t.test('recipients choose their outcome', async (t) => {
  const key = readFileSync(join(dir, 'data', 'dev.key'), 'utf8').trim()
  const send = async (to: string): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${ports.http}/v1/emails`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ from: 'app@acme.test', to, subject: 'x', text: 'x' }),
    })
    return ((await answer.json()) as { id: string }).id
  }
  const bounced = await send('bounced@example.com')
  const full = await send('bounced+5.2.2@example.com')
  const deferred = await send('deferred@example.com')
  t.match(await line(new RegExp(`${bounced}.*bounced {2}`)), /queued → .*bounced/)
  t.match(await line(new RegExp(`${full}.*bounced {2}`)), /bounced/)
  t.match(await line(new RegExp(`${deferred}.*deferred`)), /queued → deferred/)
})

t.test('nothing leaves this machine, not even live mail of a workspace with upstreams', async (t) => {
  await runCli(['pool', 'create', 'main', '--upstream', 'smtp://127.0.0.1:9?tls=none'], '', dir)
  await runCli(['workspace', 'update', 'default', '--pool', 'main'], '', dir)
  const key = (await runCli(['key', 'create', '--workspace', 'default'], '', dir)).stdout.trim()
  t.match(key, /^svc_live_/)
  const answer = await fetch(`http://127.0.0.1:${ports.http}/v1/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'app@acme.test', to: 'you@example.com', subject: 'x', text: 'x' }),
  })
  const { id } = (await answer.json()) as { id: string }
  t.match(await line(new RegExp(`${id}.*delivered`)), /queued → sent → delivered/)
})

t.test('a second daemon on the same database ends with 75', async (t) => {
  const second = await new Promise<number | null>((resolve) => {
    const other = spawn(process.execPath, [BIN, 'dev'], {
      cwd: dir,
      env: { ...env, POSTERN_HTTP__PORT: '0' },
      stdio: 'ignore',
    })
    other.once('exit', resolve)
  })
  t.equal(second, 75)
})

t.test('SIGTERM ends it with 0, and the CLI works on what it left', async (t) => {
  const gone = new Promise<number | null>((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  t.equal(await gone, 0)
  const listed = await runCli(['key', 'list', '--json'], '', dir)
  t.equal(listed.code, 0, listed.stderr)
  t.ok(JSON.parse(listed.stdout).length >= 1)
})
