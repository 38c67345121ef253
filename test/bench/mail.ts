/**
 * Mail by SMTP, taken in and relayed, beside Postfix: interleaved, with fresh instances for every figure, each with the
 * log that it ships with (Postern: `info`, a line for each attempt and outcome).
 *
 * Cold is what a service does with the first 3,000 mails after its start. Warm comes after `warm` mails: Postern is
 * compiled then; Postfix, whose processes are started anew all the time, is as warm after 3,000. A window ends when
 * everything that follows the log has read it, so CPU per mail is all of the CPU that a mail costs.
 */
import { freePort } from '../parts/postfix.js'
import { atLeast, atMost } from './goals.js'
import { cpuSeconds, idle, median, now, Sink, source, spread, threadMicros } from './load.js'
import { type Peer, type Start, startPostern, startPostfix } from './peers.js'

const FIRST = 3_000

interface Figure {
  /** Mails a second. */
  readonly rate: number
  readonly cpuMs: number
}

interface Run {
  readonly cold: Figure
  readonly warm: Figure
  /** Microseconds a mail of each thread, warm. */
  readonly threads: ReadonlyMap<string, number>
}

interface Test {
  readonly name: string
  readonly relay: boolean
  readonly sessions: number
  readonly size: number
  readonly reuse: boolean
  readonly dkim?: boolean
  /** As a ratio to Postfix, warm. */
  readonly goal?: number
  readonly cpuGoal?: number
}

const accept = { relay: false, size: 5_000, reuse: true }
const relay = { relay: true, sessions: 20, size: 1_000, reuse: true }

const TESTS: readonly Test[] = [
  { ...accept, name: 'accept 5 KB, 1 session', sessions: 1 },
  { ...accept, name: 'accept 5 KB, 10 sessions', sessions: 10 },
  { ...accept, name: 'accept 5 KB, 50 sessions', sessions: 50, goal: 2.5 },
  { ...accept, name: 'accept 100 KB, 10 sessions', sessions: 10, size: 100_000 },
  { ...accept, name: 'accept 5 KB, 10 sessions, new connections', sessions: 10, reuse: false },
  { ...relay, name: 'relay 1 KB, 20 sessions', goal: 2.5, cpuGoal: 0.4 },
  { ...relay, name: 'relay 1 KB, 20 sessions, DKIM (Postfix: unsigned)', dkim: true },
  { ...relay, name: 'relay 10 KB, 20 sessions', size: 10_000 },
  { ...relay, name: 'relay 100 KB, 20 sessions', size: 100_000 },
  { ...relay, name: 'relay 1 KB, 20 sessions, new connections', reuse: false },
]

export interface MailBench {
  readonly runs: number
  readonly count: number
  /** Mails before the warm window. */
  readonly warm: number
  readonly wanted: (name: string) => boolean
}

/** One window: `count` mails, from the first to the last answer or to the sink, and what they cost in the end. */
const windowOf = async (peer: Peer, sink: Sink | null, test: Test, sent: number, count: number) => {
  const [cpu, threads] = [cpuSeconds(peer.pid), threadMicros(peer.pid)]
  const began = now()
  await source({ port: peer.port, sessions: test.sessions, size: test.size, reuse: test.reuse, count })
  const ended = sink === null ? now() : await sink.until(sent + count)
  await idle(peer.pid)
  const figure = {
    rate: (count / (ended - began)) * 1_000,
    cpuMs: ((cpuSeconds(peer.pid) - cpu) * 1_000) / count,
  }
  const micros = [...threadMicros(peer.pid)].map(
    ([name, at]) => [name, (at - (threads.get(name) ?? 0)) / count] as const,
  )
  return { figure, threads: new Map(micros) }
}

const measure = async (start: Start, test: Test, count: number, warm: number): Promise<Run> => {
  const sinkPort = test.relay ? await freePort() : null
  const sink = sinkPort === null ? null : new Sink(sinkPort)
  const peer = await start(sinkPort, test.dkim)
  try {
    const cold = await windowOf(peer, sink, test, 0, FIRST)
    if (warm > FIRST) await windowOf(peer, sink, test, FIRST, warm - FIRST)
    const { figure, threads } = await windowOf(peer, sink, test, Math.max(FIRST, warm), count)
    return { cold: cold.figure, warm: figure, threads }
  } finally {
    await peer.stop()
    await sink?.stop()
  }
}

type When = 'cold' | 'warm'

const ratios = (ours: readonly Run[], theirs: readonly Run[], when: When, of: keyof Figure): number[] =>
  ours.map((run, i) => run[when][of] / theirs[i]![when][of])

const row = (test: Test, when: When, postern: readonly Run[], postfix: readonly Run[]): string => {
  const figures = (runs: readonly Run[]): string => {
    const rate = median(runs.map((run) => run[when].rate))
    const bytes = test.size < 10_000 ? '' : `, ${((rate * test.size) / 1e6).toFixed(0)} MB/s`
    return `${rate.toFixed(0)} (${median(runs.map((run) => run[when].cpuMs)).toFixed(2)} ms${bytes})`
  }
  const of = (name: keyof Figure) => spread(ratios(postern, postfix, when, name), 2)
  return `| ${test.name}, ${when} | ${figures(postern)} | ${figures(postfix)} | ${of('rate')} | ${of('cpuMs')} |`
}

const threadsOf = (test: Test, runs: readonly Run[]): string => {
  const names = [...new Set(runs.flatMap((run) => [...run.threads.keys()]))]
  const each = names.map(
    (name) => `${name} ${median(runs.map((run) => run.threads.get(name) ?? 0)).toFixed(0)}`,
  )
  return `${test.name}: ${each.join(', ')}`
}

const goalsOf = (test: Test, postern: readonly Run[], postfix: readonly Run[]): string[] => [
  ...(test.goal === undefined
    ? []
    : [`${test.name}: ${atLeast(test.goal, median(ratios(postern, postfix, 'warm', 'rate')))}`]),
  ...(test.cpuGoal === undefined
    ? []
    : [`${test.name}, CPU: ${atMost(test.cpuGoal, median(ratios(postern, postfix, 'warm', 'cpuMs')))}`]),
]

export const mailBench = async (bench: MailBench): Promise<void> => {
  const tests = TESTS.filter((test) => bench.wanted(test.name))
  const found = tests.map(() => ({ postern: [] as Run[], postfix: [] as Run[] }))
  for (let run = 0; run < bench.runs; run++) {
    for (const [i, test] of tests.entries()) {
      const postfix = await measure(startPostfix, test, bench.count, FIRST)
      const postern = await measure(startPostern, test, bench.count, bench.warm)
      found[i]!.postfix.push(postfix)
      found[i]!.postern.push(postern)
      console.log(
        `run ${run + 1}  ${test.name}: Postern ${postern.warm.rate.toFixed(0)}/s, Postfix ${postfix.warm.rate.toFixed(0)}/s`,
      )
    }
  }
  const each = <T>(of: (test: Test, postern: readonly Run[], postfix: readonly Run[]) => T): T[] =>
    tests.map((test, i) => of(test, found[i]!.postern, found[i]!.postfix))
  console.log(`
Mail beside Postfix, mails a second (CPU a mail): medians of ${bench.runs} interleaved runs, ratios with [least..most].
Cold: the first ${FIRST} after the start. Warm: ${bench.count} after ${bench.warm} (Postfix: after ${FIRST}).

| | Postern | Postfix | rate, ratio | CPU, ratio |
|---|---|---|---|---|
${each((test, ours, theirs) => (['cold', 'warm'] as const).map((when) => row(test, when, ours, theirs)))
  .flat()
  .join('\n')}

Postern's CPU by thread, microseconds a mail, warm (node: V8's compiler and collector, libuv's pool)
${each((test, ours) => threadsOf(test, ours)).join('\n')}

${each(goalsOf).flat().join('\n')}`)
}
