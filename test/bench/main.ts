/**
 * `npm run bench [-- --runs=3 --count=3000 --only=accept|relay|http|memory]`
 * Postern beside Postfix (mail) and beside a bare hapi route (HTTP), interleaved
 * in one run on one machine, with fresh instances for every figure. Quote the
 * ratios: the load generator shares the cores, and machines differ.
 */

import { freePort, noPostfix } from '../parts/postfix.js'
import { httpBench } from './http.js'
import { cpuSeconds, median, memoryMiB, now, Sink, sleep, source, spread } from './load.js'
import { type Start, startPostern, startPostfix } from './peers.js'

const options = Object.fromEntries(
  process.argv.slice(2).map((word) => {
    const [name = '', value = '1'] = word.replace(/^--/, '').split('=')
    return [name, value]
  }),
)
const runs = Number(options.runs ?? 3)
const count = Number(options.count ?? 3000)
const wanted = (name: string): boolean => options.only === undefined || name.startsWith(options.only)

interface Figure {
  rate: number
  cpuMs: number
  pss: number
}

interface Test {
  readonly name: string
  readonly relay: boolean
  readonly sessions: number
  readonly size: number
  readonly reuse: boolean
  readonly share: number
}

const TESTS: readonly Test[] = [
  { name: 'accept 5 KB, 1 session', relay: false, sessions: 1, size: 5000, reuse: true, share: 0.5 },
  { name: 'accept 5 KB, 10 sessions', relay: false, sessions: 10, size: 5000, reuse: true, share: 1 },
  { name: 'accept 5 KB, 50 sessions', relay: false, sessions: 50, size: 5000, reuse: true, share: 1 },
  {
    name: 'accept 5 KB, 10 sessions, new connections',
    relay: false,
    sessions: 10,
    size: 5000,
    reuse: false,
    share: 0.5,
  },
  { name: 'relay 1 KB, 20 sessions', relay: true, sessions: 20, size: 1000, reuse: true, share: 1 },
  { name: 'relay 10 KB, 20 sessions', relay: true, sessions: 20, size: 10_000, reuse: true, share: 1 },
  {
    name: 'relay 1 KB, 20 sessions, new connections',
    relay: true,
    sessions: 20,
    size: 1000,
    reuse: false,
    share: 0.5,
  },
]

const measure = async (start: Start, test: Test): Promise<Figure> => {
  const sinkPort = test.relay ? await freePort() : null
  const sink = sinkPort === null ? null : new Sink(sinkPort)
  const peer = await start(sinkPort)
  try {
    const burst = { port: peer.port, sessions: test.sessions, size: test.size, reuse: test.reuse }
    const warm = Math.round((count * test.share) / 2)
    const total = Math.round(count * test.share)
    await source({ ...burst, count: warm })
    await sink?.until(warm)
    const cpu = cpuSeconds(peer.pid)
    const began = now()
    await source({ ...burst, count: total })
    const ended = sink === null ? now() : await sink.until(warm + total)
    const rate = (total / (ended - began)) * 1000
    await sleep(200)
    return { rate, cpuMs: ((cpuSeconds(peer.pid) - cpu) * 1000) / total, pss: memoryMiB(peer.pid) }
  } finally {
    await peer.stop()
    await sink?.stop()
  }
}

const mailBench = async (): Promise<void> => {
  const tests = TESTS.filter((test) => wanted(test.name))
  const table = new Map<string, { postern: Figure[]; postfix: Figure[] }>()
  for (let run = 0; run < runs; run++) {
    for (const test of tests) {
      const row = table.get(test.name) ?? { postern: [], postfix: [] }
      table.set(test.name, row)
      const postfix = await measure(startPostfix, test)
      const postern = await measure(startPostern, test)
      row.postfix.push(postfix)
      row.postern.push(postern)
      console.log(
        `run ${run + 1}  ${test.name}: Postern ${postern.rate.toFixed(0)}/s, Postfix ${postfix.rate.toFixed(0)}/s`,
      )
    }
  }
  console.log(`\nmedians [min..max] of ${runs} interleaved runs, ${count} mails`)
  for (const [name, { postern, postfix }] of table) {
    const ratios = postern.map((figure, i) => figure.rate / postfix[i]!.rate)
    const cpu = postern.map((figure, i) => figure.cpuMs / postfix[i]!.cpuMs)
    console.log(
      `${name}\n    rate  x${spread(ratios, 2)}   Postern ${spread(postern.map((f) => f.rate))}/s   Postfix ${spread(postfix.map((f) => f.rate))}/s`,
    )
    console.log(
      `    cpu   x${spread(cpu, 2)}   Postern ${median(postern.map((f) => f.cpuMs)).toFixed(2)} ms/mail   Postfix ${median(postfix.map((f) => f.cpuMs)).toFixed(2)} ms/mail`,
    )
  }
}

const memoryBench = async (): Promise<void> => {
  const queued = Number(options.queued ?? 20_000)
  for (const [name, start] of [
    ['Postfix', startPostfix],
    ['Postern', startPostern],
  ] as const) {
    const peer = await start(null)
    await sleep(1500)
    const idle = memoryMiB(peer.pid)
    for (let sent = 0; sent < queued; sent += 5000) {
      await source({
        port: peer.port,
        sessions: 20,
        count: Math.min(5000, queued - sent),
        size: 5000,
        reuse: true,
      })
    }
    await sleep(8000)
    console.log(
      `memory (PSS) of ${name}: idle ${idle.toFixed(0)} MiB, with ${queued} queued ${memoryMiB(peer.pid).toFixed(0)} MiB`,
    )
    await peer.stop()
  }
}

const why = noPostfix()
if (why !== null) console.log(`no comparison with Postfix: ${why}`)
else if (options.only !== 'http' && options.only !== 'memory') await mailBench()
if (wanted('http')) await httpBench(runs, count)
if (why === null && wanted('memory')) await memoryBench()
