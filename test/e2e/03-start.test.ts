/**
 * The first start as people have it: `npm start` in a fresh clone, the line to watch mail by in a second terminal,
 * ports that other programs hold, and the end by a signal to npm.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { eventually } from '../parts/eventually.js'
import { BIN, cleanEnv, ROOT } from '../parts/postern.js'
import { freePort } from '../parts/postfix.js'
import { FREE, untilSaid } from '../parts/run.js'

interface Running {
  readonly child: ChildProcess
  /** The first line like this. */
  said(pattern: RegExp): Promise<RegExpExecArray>
}

const running = (t: Test, command: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Running => {
  const [program = '', ...args] = command
  const child = spawn(program, args, { cwd, env: cleanEnv(env), stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => lines.push(line))
  const said = (pattern: RegExp) =>
    eventually(`it says ${pattern}`, () => lines.map((line) => pattern.exec(line)).find((one) => one), {
      seen: () => lines,
    })
  return { child, said }
}

/** As git leaves it, with what `npm ci` makes of it; nothing compiled. */
const checkout = (t: Test): string => {
  const dir = t.testdir({ data: { '.gitkeep': '' } })
  chmodSync(join(dir, 'data'), 0o755)
  for (const name of ['src', 'bin', 'systemd', 'package.json', 'tsconfig.json', 'README.md'])
    cpSync(join(ROOT, name), join(dir, name), {
      recursive: true,
      filter: (from) => !from.includes('node_modules'),
    })
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  const driver = 'bin/native/node20/node_modules'
  if (existsSync(join(ROOT, driver))) symlinkSync(join(ROOT, driver), join(dir, driver))
  return dir
}

const send = async (api: string, dir: string): Promise<string> => {
  const key = readFileSync(join(dir, 'data', 'dev.key'), 'utf8').trim()
  const answer = await fetch(`${api}/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'a@acme.test', to: 'you@example.com', subject: 'x', text: 'x' }),
  })
  return ((await answer.json()) as { id: string }).id
}

t.test('npm start: compiled once, watched by the line it prints, ended by a signal to npm', async (t) => {
  const dir = checkout(t)
  const first = running(t, ['npm', 'start'], dir, FREE)
  const [, api = ''] = await first.said(/API +(http:\S+)/)
  const [, watch = ''] = await first.said(/^Watch: (.*)$/)
  const entry = join(dir, 'dist/run/postern.js')
  const compiled = statSync(entry).mtimeMs
  t.equal(watch, './bin/postern email tail')

  const tail = running(t, ['sh', '-c', `exec ${watch}`], dir, {})
  await tail.said(/^following/)
  const id = await send(api, dir)
  await first.said(new RegExp(`^${id} you@example\\.com .*delivered`))
  t.ok(await tail.said(new RegExp(`^${id} you@example\\.com .*delivered`)), 'the line can be pasted as it is')
  tail.child.kill()

  first.child.kill('SIGTERM')
  await once(first.child, 'exit')
  await eventually('the daemon is gone, too', () =>
    fetch(`${api}/emails`).then(
      () => false,
      () => true,
    ),
  )

  const port = await freePort()
  const second = running(t, ['npm', 'start', '--', '--port', `${port}`], dir, FREE)
  await second.said(new RegExp(`API +http://127\\.0\\.0\\.1:${port}/v1`))
  await second.said(/^Watch:/)
  t.equal(statSync(entry).mtimeMs, compiled, 'what is compiled is not compiled again')
  second.child.kill('SIGTERM')
  await once(second.child, 'exit')
})

/** Holds a port, unless another program on this machine does so already. */
const hold = async (t: Test, port: number): Promise<void> => {
  const server = createServer()
  const held = once(server, 'listening').then(() => t.teardown(() => server.close()))
  const refused = once(server, 'error')
  server.listen(port, '127.0.0.1')
  await Promise.race([held, refused])
}

t.test('taken ports are stepped over, all at once, and said', async (t) => {
  const dir = t.testdir()
  for (const port of [8080, 8081, 2587, 2465, 2525]) await hold(t, port)
  const { child, said } = running(t, [process.execPath, BIN, 'dev'], dir, {})
  const [, moved = ''] = await said(/taken by other programs: (.*)$/)
  const names = moved.split(', ').map((one) => one.split(' ')[0])
  t.strictSame(names, ['http', 'management', 'submission.0', 'submission.1', 'bounce'])
  const ports = moved.split(', ').map((one) => Number(/→ (\d+)$/.exec(one)?.[1]))
  t.equal(new Set(ports).size, 5, moved)
  const [, api = ''] = await said(/API +(http:\S+)/)
  t.equal(new URL(api).port, `${ports[0]}`)
  await said(/^Watch:/)
  const id = await send(api, dir)
  await said(new RegExp(`^${id} you@example\\.com .*delivered`))
  child.kill()
  t.strictSame(await once(child, 'exit'), [0, null])
})

t.test('--port is the API there, or nowhere', async (t) => {
  const dir = t.testdir()
  const { POSTERN_HTTP__PORT: _, ...others } = FREE
  const port = await freePort()
  const { child, said } = running(t, [process.execPath, BIN, 'dev', '--port', `${port}`], dir, others)
  await said(new RegExp(`API +http://127\\.0\\.0\\.1:${port}/v1`))
  await said(/^Watch:/)

  const other = join(dir, 'other')
  mkdirSync(other)
  const taken = await untilSaid([process.execPath, BIN, 'dev', '--port', `${port}`], other, /^never$/)
  t.equal(taken.code, 75)
  t.match(taken.stdout, new RegExp(`http: 127\\.0\\.0\\.1:${port} is in use by another program`))
  child.kill()
  t.strictSame(await once(child, 'exit'), [0, null])

  const wrong = await untilSaid([process.execPath, BIN, 'dev', '--port', '65536'], other, /^never$/)
  t.match(wrong, { code: 64, stdout: /--port: 65536 is no port/ })
})
