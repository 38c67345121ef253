/**
 * What a mail costs in an installation that has grown, beside a fresh one: 50 workspaces with a key each, 100,000
 * suppressed addresses, by default 200,000 mails in the queue that wait for an upstream and 2,000,000 mails of history. Both get the
 * same mail over TLS, from 50 logins, and relay it over TLS; in alternating windows, so that the machine's moods meet both.
 */
import { writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import { generate } from 'selfsigned'
import { SMTPServer } from 'smtp-server'
import { Postern } from '../../parts/postern.js'
import { atMost } from '../goals.js'
import { cpuSeconds, idle, median, memoryMiB, now, spread } from '../load.js'
import { fill, swell } from './pages.js'

const WORKSPACES = 50
const SUPPRESSED = 100_000
export const QUEUED = 200_000
export const ROWS = 2_000_000
const WINDOWS = 8
const GOAL = 1.25

interface Size {
  readonly queued: number
  readonly rows: number
}

interface Side {
  readonly postern: Postern
  readonly transports: readonly ReturnType<typeof createTransport>[]
  readonly cpuMs: number[]
  readonly rates: number[]
}

/** An upstream that offers STARTTLS and throws away what it takes. */
const tlsSink = async () => {
  const { private: key, cert } = await generate([{ name: 'commonName', value: 'sink.bench.test' }])
  const server = new SMTPServer({
    key,
    cert,
    authOptional: true,
    disabledCommands: ['AUTH'],
    disableReverseLookup: true,
    logger: false,
    onData(stream, _session, done) {
      stream.resume()
      stream.once('end', () => {
        sink.taken++
        done()
      })
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  const sink = { port, taken: 0, stop: () => new Promise<void>((resolve) => server.close(() => resolve())) }
  return sink
}

/** All that is stored, while the daemon is down. */
const grow = async (postern: Postern, { queued, rows }: Size): Promise<void> => {
  const list = join(postern.dir, 'suppressed.csv')
  writeFileSync(list, Array.from({ length: SUPPRESSED }, (_, i) => `listed${i}@dest.test\n`).join(''))
  await postern.json('suppression', 'import', list)
  await fill(postern, queued, null)
  swell(postern, rows)
}

/** Grown to this size, or fresh. */
const open = async (sinkPort: number, size: Size | null): Promise<Side> => {
  const postern = new Postern({ rate_limit: { per_minute: 100_000_000 } })
  await postern.start()
  await postern.stop()
  if (size !== null) await grow(postern, size)
  await postern.start()
  await postern.json(
    'pool',
    'create',
    'main',
    '--upstream',
    `smtp://127.0.0.1:${sinkPort}?tls=required&max_connections=20`,
  )
  const keys: string[] = []
  for (let i = 0; i < (size === null ? 1 : WORKSPACES); i++) {
    const { id } = await postern.json('workspace', 'create', `w${i}`, '--pool', 'main')
    keys.push((await postern.json('key', 'create', '--workspace', id)).secret)
  }
  await postern.relayHasRead()
  const transports = Array.from({ length: WORKSPACES }, (_, i) =>
    createTransport({
      host: '127.0.0.1',
      port: postern.ports.submission[0] ?? 0,
      pool: true,
      maxConnections: 1,
      maxMessages: Number.POSITIVE_INFINITY,
      requireTLS: true,
      tls: { rejectUnauthorized: false },
      auth: { user: 'postern', pass: keys[i % keys.length] ?? '' },
    }),
  )
  return { postern, transports, cpuMs: [], rates: [] }
}

const text = 'Thank you for your order.\n'.repeat(20)

/** So many mails in, and all of them out again. */
const send = async ({ transports }: Side, sink: { taken: number }, count: number): Promise<void> => {
  const wanted = sink.taken + count
  let next = 0
  await Promise.all(
    transports.map(async (transport) => {
      while (next < count) {
        const to = `u${next++}@dest.test`
        await transport.sendMail({ from: 'app@bench.test', to, subject: 'Receipt', text })
      }
    }),
  )
  while (sink.taken < wanted) await new Promise((resolve) => setTimeout(resolve, 5))
}

export const grownBench = async (count: number, size: Size): Promise<void> => {
  const sink = await tlsSink()
  const began = now()
  const sides = [await open(sink.port, null), await open(sink.port, size)] as const
  const [fresh, grown] = sides
  console.log(
    `\nan installation that has grown, beside a fresh one (made in ${((now() - began) / 1_000).toFixed(0)} s)`,
  )
  try {
    for (const side of sides) await send(side, sink, 4_000)
    for (let i = 0; i < WINDOWS; i++)
      for (const side of i % 2 === 0 ? sides : [grown, fresh]) {
        const { pid } = side.postern
        await idle(pid)
        const [cpu, at] = [cpuSeconds(pid), now()]
        await send(side, sink, count)
        side.rates.push((count / (now() - at)) * 1_000)
        await idle(pid)
        side.cpuMs.push(((cpuSeconds(pid) - cpu) * 1_000) / count)
      }
    const ratio = grown.cpuMs.map((ms, i) => ms / (fresh.cpuMs[i] ?? ms))
    console.log(`    CPU a mail, TLS in and out   x${spread(ratio, 2)}   ${atMost(GOAL, median(ratio))}   ${spread(grown.cpuMs, 2)} ms beside ${spread(fresh.cpuMs, 2)} ms
    mails a second               ${spread(grown.rates)} beside ${spread(fresh.rates)}
    memory (PSS)                 ${memoryMiB(grown.postern.pid).toFixed(0)} MiB beside ${memoryMiB(fresh.postern.pid).toFixed(0)} MiB`)
  } finally {
    for (const { postern, transports } of sides) {
      for (const transport of transports) transport.close()
      await postern.remove()
    }
    await sink.stop()
  }
}
