/** Sockets that the supervisor opened: found by name or port, heard at once, and kept through a restart. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createConnection } from 'node:net'
import { createInterface } from 'node:readline'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { BIN, cleanEnv, type Ports, Postern } from '../parts/postern.js'
import { freePort } from '../parts/postfix.js'

const ACTIVATE = '/usr/bin/systemd-socket-activate'
const skip = existsSync(ACTIVATE) ? false : `${ACTIVATE} is not installed`

interface Activated {
  readonly child: ChildProcess
  readonly output: readonly string[]
  readonly ended: Promise<number | null>
}

/** It waits for the first connection, then becomes `postern serve`. */
const activate = (postern: Postern, listen: readonly number[], names: readonly string[]): Activated => {
  const args = [
    ...listen.flatMap((port) => ['-l', `127.0.0.1:${port}`]),
    ...(names.length > 0 ? [`--fdname=${names.join(':')}`] : []),
    process.execPath,
    BIN,
    'serve',
    '--config',
    postern.configFile,
  ]
  const child = spawn(ACTIVATE, args, { env: cleanEnv(), stdio: ['ignore', 'pipe', 'pipe'] })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => output.push(line))
  }
  return { child, output, ended: once(child, 'exit').then(([code]) => code as number | null) }
}

/** The first line of an SMTP greeting; asks again while nobody listens yet. */
const greeting = (port: number): Promise<string> =>
  new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1')
    socket.once('data', (chunk: Buffer) => {
      resolve(chunk.toString().split('\r\n')[0] ?? '')
      socket.end()
    })
    socket.once('error', () => setTimeout(() => resolve(greeting(port)), 50).unref())
  })

const portsSaid = async ({ output }: Activated): Promise<Ports> => {
  const line = await eventually('it listens', () => output.find((one) => one.includes('"msg":"listening"')), {
    seen: () => output,
  })
  return JSON.parse(line) as Ports
}

t.test('by name: the client that started it is answered', { skip }, async (t) => {
  const postern = new Postern()
  t.teardown(() => postern.remove())
  const free = await Promise.all(Array.from({ length: 5 }, freePort))
  const [http = 0, smtp = 0, bounce = 0, smtps = 0, management = 0] = free
  const names = ['http', 'submission-0', 'bounce', 'submission-1', 'management']
  const run = activate(postern, free, names)
  t.teardown(() => run.child.kill('SIGKILL'))
  t.match(await greeting(smtp), /^220 gw\.postern\.test /)
  const ports = await portsSaid(run)
  t.equal(ports.http, http)
  t.equal(ports.submission[0], smtp)
  t.equal(ports.bounce, bounce)
  t.equal(ports.submission[1], smtps)
  t.equal(ports.management, management)
  t.equal((await fetch(`http://127.0.0.1:${management}/readyz`)).status, 200)
  // what was configured is 0, any port: the note of the daemon tells doctor the real ones
  const { stdout } = await postern.cli('doctor', '--json')
  const found = JSON.parse(stdout).find(({ check }: { check: string }) => check === 'ports')
  t.match(found, { result: 'ok', detail: 'all 5 listeners answer' })
  t.match(await greeting(bounce), /^220 /)
  const answer = await fetch(`http://127.0.0.1:${http}/v1/nothing`)
  t.match(await answer.json(), { type: `http://127.0.0.1:${http}/errors/` })
  run.child.kill()
  t.equal(await run.ended, 0)
})

t.test('by port, as the configuration names it', { skip }, async (t) => {
  const port = await freePort()
  const postern = new Postern({ submission: [{ port: 0 }, { port, tls: 'starttls' }] })
  t.teardown(() => postern.remove())
  const run = activate(postern, [port], [])
  t.teardown(() => run.child.kill('SIGKILL'))
  t.match(await greeting(port), /^220 /)
  t.equal((await portsSaid(run)).submission[1], port)
  run.child.kill()
  t.equal(await run.ended, 0)
})

t.test('a socket that fits nothing is said, with 78', { skip }, async (t) => {
  const postern = new Postern()
  t.teardown(() => postern.remove())
  const port = await freePort()
  const run = activate(postern, [port], ['printer'])
  t.teardown(() => run.child.kill('SIGKILL'))
  void greeting(port) // knocks until somebody listens
  t.equal(await run.ended, 78)
  t.match(
    run.output.join('\n'),
    new RegExp(`socket printer: fits no listener, found 127\\.0\\.0\\.1:${port}`),
  )
})
