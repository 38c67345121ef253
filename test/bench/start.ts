/** From spawn to the listening line, and a command from spawn to exit, beside a Node that does nothing. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { BIN, cleanEnv, Postern } from '../parts/postern.js'
import { atMost } from './goals.js'

/** Seconds of CPU, of all threads: of the process itself, or of its children that have ended. */
const cpuOf = (pid: number | 'self', whose: 'own' | 'children'): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const numbers = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const at = whose === 'own' ? 11 : 13
  return (Number(numbers[at]) + Number(numbers[at + 1])) / 100
}

interface Spent {
  readonly cpu: number
  readonly ms: number
}

const ready = async (postern: Postern): Promise<Spent> => {
  const began = performance.now()
  await postern.start()
  const spent = { cpu: cpuOf(postern.pid, 'own'), ms: performance.now() - began }
  await postern.stop()
  return spent
}

const command = (...words: readonly string[]): Spent => {
  const before = cpuOf('self', 'children')
  const began = performance.now()
  spawnSync(process.execPath, words, { env: cleanEnv(), stdio: 'ignore' })
  return { cpu: cpuOf('self', 'children') - before, ms: performance.now() - began }
}

const median = (all: readonly Spent[], what: keyof Spent): number =>
  all.map((one) => one[what]).sort((a, b) => a - b)[all.length >> 1] ?? 0

export const startBench = async (runs: number): Promise<void> => {
  console.log('\nstart, median')
  const postern = new Postern()
  // the first one makes the database
  await ready(postern)
  const daemon: Spent[] = []
  const status: Spent[] = []
  const node: Spent[] = []
  for (let i = 0; i < runs; i++) {
    daemon.push(await ready(postern))
    status.push(command(BIN, 'status', '--config', postern.configFile))
    node.push(command('-e', '0'))
  }
  await postern.remove()
  const row = (name: string, all: readonly Spent[], goal: string): void =>
    console.log(
      `    ${name.padEnd(16)}  ${median(all, 'cpu').toFixed(2)} s of CPU, ${median(all, 'ms').toFixed(0)} ms   ${goal}`,
    )
  row('listening', daemon, atMost(0.9, median(daemon, 'cpu'), ' s'))
  row('postern status', status, atMost(0.2, median(status, 'cpu'), ' s'))
  row('node -e 0', node, '')
}
