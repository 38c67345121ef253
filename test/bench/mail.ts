/** Mail by SMTP, taken in and relayed, beside Postfix: interleaved, with fresh instances for every figure. */
import { freePort } from '../parts/postfix.js'
import { atLeast, atMost } from './goals.js'
import { cpuSeconds, median, now, Sink, sleep, source, spread } from './load.js'
import { type Start, startPostern, startPostfix } from './peers.js'

interface Figure {
  readonly rate: number
  readonly cpuMs: number
}

interface Test {
  readonly name: string
  readonly relay: boolean
  readonly sessions: number
  readonly size: number
  readonly reuse: boolean
  /** As a ratio to Postfix. */
  readonly goal: number
  readonly cpuGoal?: number
}

const accept = { relay: false, size: 5000, reuse: true }
const relay = { relay: true, sessions: 20, size: 1000, reuse: true }

const TESTS: readonly Test[] = [
  { ...accept, name: 'accept 5 KB, 1 session', sessions: 1, goal: 2 },
  { ...accept, name: 'accept 5 KB, 10 sessions', sessions: 10, goal: 4 },
  { ...accept, name: 'accept 5 KB, 50 sessions', sessions: 50, goal: 5 },
  { ...accept, name: 'accept 5 KB, 10 sessions, new connections', sessions: 10, reuse: false, goal: 2 },
  { ...relay, name: 'relay 1 KB, 20 sessions', goal: 6, cpuGoal: 0.2 },
  { ...relay, name: 'relay 10 KB, 20 sessions', size: 10_000, goal: 5 },
  { ...relay, name: 'relay 1 KB, 20 sessions, new connections', reuse: false, goal: 2.3 },
  { ...relay, name: 'relay 10 KB, 20 sessions, new connections', size: 10_000, reuse: false, goal: 2.3 },
]

export interface MailBench {
  readonly runs: number
  readonly count: number
  /** Mails before the clock starts: a service that runs for months is compiled and has its caches full. */
  readonly warm: number
  readonly wanted: (name: string) => boolean
}

const measure = async (start: Start, test: Test, { count, warm }: MailBench): Promise<Figure> => {
  const sinkPort = test.relay ? await freePort() : null
  const sink = sinkPort === null ? null : new Sink(sinkPort)
  const peer = await start(sinkPort)
  try {
    const burst = { port: peer.port, sessions: test.sessions, size: test.size, reuse: test.reuse }
    await source({ ...burst, count: warm })
    await sink?.until(warm)
    const cpu = cpuSeconds(peer.pid)
    const began = now()
    await source({ ...burst, count })
    const ended = sink === null ? now() : await sink.until(warm + count)
    await sleep(200)
    return {
      rate: (count / (ended - began)) * 1000,
      cpuMs: ((cpuSeconds(peer.pid) - cpu) * 1000) / count,
    }
  } finally {
    await peer.stop()
    await sink?.stop()
  }
}

const ratios = (ours: readonly Figure[], theirs: readonly Figure[], of: keyof Figure): number[] =>
  ours.map((figure, i) => figure[of] / theirs[i]![of])

const print = (test: Test, postern: readonly Figure[], postfix: readonly Figure[]): void => {
  const rates = ratios(postern, postfix, 'rate')
  const cpu = ratios(postern, postfix, 'cpuMs')
  const rateOf = (figures: readonly Figure[]) => spread(figures.map(({ rate }) => rate))
  const cpuOf = (figures: readonly Figure[]) => median(figures.map(({ cpuMs }) => cpuMs)).toFixed(2)
  const cpuGoal = test.cpuGoal === undefined ? '' : `   ${atMost(test.cpuGoal, median(cpu))}`
  console.log(
    `${test.name}
    rate  x${spread(rates, 2)}   ${atLeast(test.goal, median(rates))}   Postern ${rateOf(postern)}/s   Postfix ${rateOf(postfix)}/s
    cpu   x${spread(cpu, 2)}${cpuGoal}   Postern ${cpuOf(postern)} ms/mail   Postfix ${cpuOf(postfix)} ms/mail`,
  )
}

export const mailBench = async (bench: MailBench): Promise<void> => {
  const tests = TESTS.filter((test) => bench.wanted(test.name))
  const found = tests.map(() => ({ postern: [] as Figure[], postfix: [] as Figure[] }))
  for (let run = 0; run < bench.runs; run++) {
    for (const [i, test] of tests.entries()) {
      const postfix = await measure(startPostfix, test, bench)
      const postern = await measure(startPostern, test, bench)
      found[i]!.postfix.push(postfix)
      found[i]!.postern.push(postern)
      console.log(
        `run ${run + 1}  ${test.name}: Postern ${postern.rate.toFixed(0)}/s, Postfix ${postfix.rate.toFixed(0)}/s`,
      )
    }
  }
  console.log(
    `\nmail beside Postfix: medians [min..max] of ${bench.runs} interleaved runs, ${bench.count} mails after ${bench.warm}`,
  )
  for (const [i, test] of tests.entries()) print(test, found[i]!.postern, found[i]!.postfix)
}
