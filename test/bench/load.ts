/** Load and measure with Debian's smtp-source and smtp-sink; CPU and memory from /proc. */
import { type ChildProcess, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'

export const now = (): number => performance.now()
export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

export const percentile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

/** `median [min..max]`, rounded. */
export const spread = (values: readonly number[], digits = 0): string =>
  `${median(values).toFixed(digits)} [${Math.min(...values).toFixed(digits)}..${Math.max(...values).toFixed(digits)}]`

export interface Burst {
  readonly port: number
  readonly sessions: number
  readonly count: number
  readonly size: number
  /** False: a new connection for every mail. */
  readonly reuse: boolean
}

/** Runs smtp-source once; resolves when the server has answered every mail. */
export const source = ({ port, sessions, count, size, reuse }: Burst): Promise<void> =>
  new Promise((resolve, reject) => {
    const args = [
      '-s',
      `${sessions}`,
      '-m',
      `${count}`,
      '-l',
      `${size}`,
      ...(reuse ? ['-d'] : []),
      '-N',
      '-M',
      'bench.test',
    ]
    const child = spawn('smtp-source', [
      ...args,
      '-f',
      'from@bench.test',
      '-t',
      'to@dest.test',
      `inet:127.0.0.1:${port}`,
    ])
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => {
      said += chunk
    })
    child.once('error', reject)
    child.once('exit', (code) =>
      code === 0 ? resolve() : reject(new Error(`smtp-source: ${code} ${said.slice(0, 300)}`)),
    )
  })

/** smtp-sink with its running counter. */
export class Sink {
  private seen = 0
  private readonly child: ChildProcess
  private waiting: { count: number; done: (at: number) => void }[] = []

  constructor(readonly port: number) {
    this.child = spawn('smtp-sink', ['-u', 'postfix', '-c', '-m', '2000', `inet:127.0.0.1:${port}`, '1024'])
    this.child.stdout?.on('data', (chunk: Buffer) => {
      const counter = /mesg=(\d+)\r[^\r]*$/.exec(chunk.toString('latin1').slice(-400))
      if (counter === null) return
      this.seen = Number(counter[1])
      const at = now()
      for (const one of this.waiting.filter(({ count }) => this.seen >= count)) one.done(at)
      this.waiting = this.waiting.filter(({ count }) => this.seen < count)
    })
  }

  /** Resolves with the moment at which mail number `count` had arrived. */
  until(count: number, limitMs = 120_000): Promise<number> {
    if (this.seen >= count) return Promise.resolve(now())
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`the sink has ${this.seen} of ${count} mails`)),
        limitMs,
      )
      const done = (at: number): void => {
        clearTimeout(timer)
        resolve(at)
      }
      this.waiting.push({ count, done })
    })
  }

  async stop(): Promise<void> {
    const gone = new Promise((resolve) => this.child.once('exit', resolve))
    this.child.kill()
    await gone
  }
}

const processTree = (root: number): number[] => {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1')
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(name)])
    } catch {
      // it ended while we looked
    }
  }
  const all: number[] = []
  const queue = [root]
  for (let pid = queue.pop(); pid !== undefined; pid = queue.pop()) {
    all.push(pid)
    queue.push(...(children.get(pid) ?? []))
  }
  return all
}

/** CPU seconds of a process tree so far, reaped children included (USER_HZ is 100). */
export const cpuSeconds = (pid: number): number => {
  let ticks = 0
  for (const one of processTree(pid)) {
    try {
      const stat = readFileSync(`/proc/${one}/stat`, 'latin1')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      for (const index of [11, 12, 13, 14]) ticks += Number(fields[index])
    } catch {
      // it ended while we looked
    }
  }
  return ticks / 100
}

/** Microseconds of CPU of each thread of a process so far, by its name (base/host/thread gives them theirs). */
export const threadMicros = (pid: number): Map<string, number> => {
  const found = new Map<string, number>()
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    try {
      const task = `/proc/${pid}/task/${id}`
      const own = readFileSync(`${task}/comm`, 'latin1').trim()
      const name = Number(id) === pid ? 'main' : own.startsWith('postern-') ? own.slice(8) : 'node'
      const micros = Number(readFileSync(`${task}/schedstat`, 'latin1').split(' ')[0]) / 1_000
      found.set(name, (found.get(name) ?? 0) + micros)
    } catch {
      // it ended while we looked
    }
  }
  return found
}

/** Resolves once the process does no work that counts: what follows the log has read all of it, and is in the figure. */
export const idle = async (pid: number): Promise<void> => {
  for (let tries = 0; tries < 60; tries++) {
    const before = cpuSeconds(pid)
    await sleep(500)
    if (cpuSeconds(pid) - before <= 0.03) return
  }
}

/** Proportional memory of a process tree, MiB. */
export const memoryMiB = (pid: number): number => {
  let kib = 0
  for (const one of processTree(pid)) {
    try {
      kib += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${one}/smaps_rollup`, 'latin1'))?.[1] ?? 0)
    } catch {
      // it ended while we looked
    }
  }
  return kib / 1024
}
