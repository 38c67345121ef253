/**
 * A pool of three: one upstream that stalls, one that resets, at each stage in
 * turn, and one that is well. How much of its throughput does the healthy one
 * lose to the others, and which mails reach the upstreams twice? The relay's flow
 * runs over a queue in memory, against scripted servers in this process.
 */
import { mail, poolRow, startFlow, upstreamRow } from '../relay/parts.js'
import { type Stage, UpstreamServer } from '../relay/upstream-server.js'
import { median, now, spread } from './load.js'

const STAGES: readonly (Stage | null)[] = [null, 'connect', 'ehlo', 'mail', 'rcpt', 'data', 'dot']
const CONNECTIONS = 10

interface Figure {
  /** Mails that the healthy one took, per second. */
  readonly rate: number
  /** Processor time for each of them, servers included, in microseconds: steadier than a rate on a busy machine. */
  readonly cpu: number
  /** Mails whose connection died after the dot: these, and no others, may arrive twice. */
  readonly ambiguous: number
}

/** `stage` null: the healthy one alone. */
const measure = async (count: number, stage: Stage | null): Promise<Figure> => {
  const servers = [new UpstreamServer(), new UpstreamServer(), new UpstreamServer()] as const
  const [well, stalls, resets] = servers
  stalls.script.act = (at) => (at === stage ? 'stall' : undefined)
  resets.script.act = (at) => (at === stage ? 'reset' : undefined)
  const ports = await Promise.all(servers.map((server) => server.listen()))
  const rows = ports.map((port) => upstreamRow(port, { maxConnections: CONNECTIONS }))
  const { queue, flow, stop } = startFlow([poolRow(stage === null ? rows.slice(0, 1) : rows)], { drain: 100 })
  const start = async (n: number): Promise<void> => {
    queue.hand(...Array.from({ length: n }, () => mail()))
  }
  // connections open and the breakers have seen what there is to see
  await start(500)
  while (well.received.length < 450) await new Promise((resolve) => setTimeout(resolve, 5))
  const [before, began, cpu] = [well.received.length, now(), process.cpuUsage()]
  while (well.received.length < before + count) {
    // the relay holds a bounded number in memory
    if (flow.measure().waiting < 500) {
      await start(250)
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  const taken = well.received.length - before
  const rate = taken / ((now() - began) / 1_000)
  const { user, system } = process.cpuUsage(cpu)
  const ambiguous = queue.outcomes.filter(({ detail }) => detail?.ambiguous === true).length
  await stop()
  await Promise.all(servers.map((server) => server.close()))
  return { rate, cpu: (user + system) / taken, ambiguous }
}

export const fleetBench = async (runs: number, count: number): Promise<void> => {
  console.log(`\npool of three, ${count} mails, ${CONNECTIONS} connections each; mails/s at the healthy one`)
  const figures = new Map<Stage | null, Figure[]>()
  await measure(count, null)
  for (let run = 0; run < runs; run++) {
    for (const stage of STAGES) {
      const list = figures.get(stage) ?? []
      list.push(await measure(count, stage))
      figures.set(stage, list)
    }
  }
  const alone = median((figures.get(null) ?? []).map(({ rate }) => rate))
  for (const [stage, list] of figures) {
    const rates = list.map(({ rate }) => rate)
    const share = ((100 * median(rates)) / alone).toFixed(0)
    const ambiguous = Math.max(...list.map((one) => one.ambiguous))
    const cpu = spread(list.map((one) => one.cpu))
    const name = (stage ?? 'alone').padEnd(8)
    console.log(`${name} ${spread(rates)}  ${share} %  ${cpu} us/mail  ${ambiguous} ambiguous`)
  }
}
