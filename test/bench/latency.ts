/**
 * From POST /v1/emails to the first RCPT at the upstream: one daemon with SQLite, one with PostgreSQL, and two on one
 * PostgreSQL, of which one takes mail in and the other carries it. All run side by side, and are asked in turns. Each
 * caller posts its next mail when the last one is at the upstream.
 */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { Postern } from '../parts/postern.js'
import { noPostgres, postgres } from '../parts/postgres.js'
import { atMost } from './goals.js'
import { post } from './http.js'
import { cpuSeconds, median, now, percentile } from './load.js'

const CALLERS = [1, 10, 50]
const GOAL = 2

/** An upstream that takes all, and tells when it heard of an address first. */
class Arrivals {
  readonly #waiting = new Map<string, (at: number) => void>()
  readonly #server: Server

  constructor() {
    this.#server = createServer((socket) => this.#serve(socket))
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return this
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  of(address: string): Promise<number> {
    return new Promise((resolve) => this.#waiting.set(address, resolve))
  }

  #serve(socket: Socket): void {
    let inData = false
    let rest = ''
    socket.on('error', () => {})
    socket.setNoDelay(true).write('220 bench ESMTP\r\n')
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString('latin1')).split('\r\n')
      rest = lines.pop() ?? ''
      let said = ''
      for (const line of lines) {
        if (inData) {
          if (line !== '.') continue
          inData = false
        } else if (line.startsWith('RCPT')) this.#heard(line)
        if (line === 'DATA') {
          inData = true
          said += '354 go on\r\n'
        } else said += line.startsWith('EHLO') ? '250-bench\r\n250 PIPELINING\r\n' : '250 2.0.0 fine\r\n'
      }
      if (said !== '') socket.write(said)
    })
  }

  #heard(line: string): void {
    const address = /<([^>]*)>/.exec(line)?.[1] ?? ''
    this.#waiting.get(address)?.(now())
    this.#waiting.delete(address)
  }

  close(): void {
    this.#server.close()
  }
}

interface Peer {
  readonly name: string
  readonly url: string
  readonly key: string
  readonly arrivals: Arrivals
  /** The server of its database included. */
  readonly pids: readonly number[]
  remove(): Promise<void>
}

const LIMITS = { rate_limit: { per_minute: 100_000_000 } }
const UPSTREAM = 'tls=none&max_connections=50'

const peerOf = async (name: string, daemons: readonly Postern[], server: number[]): Promise<Peer> => {
  const arrivals = await new Arrivals().start()
  const [doors] = daemons as readonly [Postern, ...Postern[]]
  await doors.route(`smtp://127.0.0.1:${arrivals.port}?${UPSTREAM}`)
  return {
    ...{ name, arrivals, url: doors.url, key: await doors.key() },
    pids: [...daemons.map(({ pid }) => pid), ...server],
    async remove() {
      for (const daemon of [...daemons].reverse()) await daemon.remove()
      arrivals.close()
    },
  }
}

const peers = async (): Promise<Peer[]> => {
  const server = await postgres()
  const alone = new Postern(LIMITS)
  const file = (name: string): string => {
    const path = join(alone.dir, name)
    writeFileSync(path, server.database(), { mode: 0o600 })
    return path
  }
  const on = (url_file: string, more = {}) =>
    new Postern({ ...LIMITS, ...more, store: { driver: 'postgres', url_file } })
  const together = on(file('one'))
  const two = file('two')
  const doors = on(two)
  const relay = on(two, { pepper_file: join(doors.dir, 'data', 'pepper') })
  await alone.start()
  await together.start()
  await doors.start({}, '--only', 'http,submission,bounce')
  await relay.start({}, '--only', 'relay')
  return [
    await peerOf('SQLite', [alone], []),
    await peerOf('PostgreSQL', [together], [server.pid]),
    await peerOf('PostgreSQL, doors and relay apart', [doors, relay], [server.pid]),
  ]
}

interface Figure {
  readonly p50: number
  readonly p99: number
  readonly rate: number
  /** Microseconds a mail. */
  readonly cpu: number
}

let mails = 0

const body = (to: string): string =>
  JSON.stringify({ from: 'app@bench.test', to, subject: 'Receipt', text: 'Thank you.\n'.repeat(400) })

const window = async (
  { url, key, arrivals, pids }: Peer,
  callers: number,
  count: number,
): Promise<Figure> => {
  const agent = new Agent({ keepAlive: true, maxSockets: callers })
  const times: number[] = []
  const cpu = () => pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0)
  const [before, began] = [cpu(), now()]
  let left = count
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const to = `u${++mails}@dest.test`
      const arrived = arrivals.of(to)
      const from = now()
      const status = await post(agent, `${url}/v1/emails`, key, body(to))
      if (status !== 202) throw new Error(`${url} answered ${status}`)
      times.push((await arrived) - from)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const seconds = (now() - began) / 1000
  agent.destroy()
  return {
    ...{ p50: percentile(times, 0.5), p99: percentile(times, 0.99), rate: count / seconds },
    cpu: ((cpu() - before) * 1e6) / count,
  }
}

const middle = (of: readonly Figure[]): Figure => ({
  p50: median(of.map(({ p50 }) => p50)),
  p99: median(of.map(({ p99 }) => p99)),
  rate: median(of.map(({ rate }) => rate)),
  cpu: median(of.map(({ cpu }) => cpu)),
})

const say = (name: string, { p50, p99, rate, cpu }: Figure, goal = ''): void =>
  console.log(
    `    ${name.padEnd(34)} p50 ${p50.toFixed(1).padStart(7)} ms   p99 ${p99.toFixed(1).padStart(7)} ms   ` +
      `${rate.toFixed(0).padStart(5)}/s   ${cpu.toFixed(0).padStart(6)} us CPU a mail${goal}`,
  )

export const latencyBench = async (runs: number, count: number, warm: number): Promise<void> => {
  const why = noPostgres()
  if (why !== false) return console.log(`no PostgreSQL: ${why}`)
  const all = await peers()
  for (const peer of all) await window(peer, 20, warm)
  console.log(`\nPOST to upstream: mails of 4 KB, medians of ${runs} interleaved runs`)
  for (const callers of CALLERS) {
    const found = all.map((): Figure[] => [])
    const each = Math.max(50, Math.ceil((count * callers) / 50))
    for (let run = 0; run < runs; run++)
      for (const [i, peer] of all.entries()) found[i]?.push(await window(peer, callers, each))
    console.log(`  ${callers} at once`)
    const [sqlite, ...others] = found.map(middle) as [Figure, ...Figure[]]
    say('SQLite', sqlite)
    for (const [i, figure] of others.entries()) {
      const ratio = figure.p99 / sqlite.p99
      say(all[i + 1]?.name ?? '', figure, `   p99 x${ratio.toFixed(2)}   ${atMost(GOAL, ratio)}`)
    }
  }
  for (const { remove } of all) await remove()
}
