/**
 * One test file in a Node of its own: what it said, how long it took and how it
 * ended. Its output is TAP; without tap's loaders it starts in half of the time.
 * It leads a process group, so that nothing of it outlives a time limit.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { ROOT } from '../parts/postern.js'

/** A single test of a file has as long as tap gives it; this is for all of a file. */
const LIMIT_S = 420

export interface Outcome {
  /** `http/rate` */
  readonly name: string
  readonly ok: boolean
  readonly ms: number
  /** Of a processor, with all its children that were waited for; null where the system does not say. */
  readonly cpuMs: number | null
  readonly tap: string
  readonly stderr: string
  readonly passed: number
  readonly failed: number
  /** Why something of it was left out. */
  readonly skipped: readonly string[]
}

const running = new Set<ChildProcess>()

const kill = (child: ChildProcess, signal: NodeJS.Signals): void => {
  try {
    process.kill(-(child.pid ?? 0), signal)
  } catch {
    // it has just ended
  }
}

/** For an interrupted run. */
export const killAll = (): void => {
  for (const child of running) kill(child, 'SIGTERM')
}

/** What children of this process that ended have used, as Linux counts it: in hundredths of a second. */
const usedByEnded = (): number | null => {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[13]) + Number(fields[14])) * 10
  } catch {
    return null
  }
}
let used = usedByEnded()
/** Since the last that ended. */
const cpuOfEnded = (): number | null => {
  const before = used
  used = usedByEnded()
  return used === null || before === null ? null : used - before
}

const count = (tap: string, what: string): number =>
  Number(new RegExp(`^# \\{.*\\b${what}: (\\d+).*\\}$`, 'm').exec(tap)?.[1] ?? 0)

const skipsIn = (tap: string): string[] =>
  [...tap.matchAll(/^ *(?:ok \d+ - (.*?) )?(?:1\.\.0 )?# *skip\S* *(.*)$/gim)].map(([, what, why]) =>
    [what, why].filter(Boolean).join(': '),
  )

export const runFile = async (name: string, file: string, node: readonly string[] = []): Promise<Outcome> => {
  const began = performance.now()
  const child = spawn(process.execPath, [...node, file], {
    cwd: ROOT,
    env: { ...process.env, TAP: '1', TAP_TIMEOUT: String(LIMIT_S) },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  running.add(child)
  let [tap, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (chunk) => (tap += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk) => (stderr += chunk))
  const closed = once(child, 'close')
  // tap itself ends a test in time and says which; this is for a file that does not hear
  const late = setTimeout(() => kill(child, 'SIGKILL'), (LIMIT_S + 30) * 1_000)
  const end = await new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once('exit', (code, signal) => resolve(signal ?? code)),
  )
  const cpuMs = cpuOfEnded()
  clearTimeout(late)
  running.delete(child)
  // what it said last is still on its way; but whoever it left behind may hold its output open
  await Promise.race([closed, sleep(2_000)])
  child.stdout.destroy()
  child.stderr.destroy()
  const complete = /^1\.\.\d+/m.test(tap)
  if (end !== 0 || !complete) tap += `# ended with ${end}${complete ? '' : ', without a plan'}\n`
  const failed = count(tap, 'fail')
  const ok = end === 0 && complete
  return {
    name,
    ok,
    ms: performance.now() - began,
    cpuMs,
    tap,
    stderr,
    passed: count(tap, 'pass'),
    failed: ok ? failed : Math.max(1, failed),
    skipped: skipsIn(tap),
  }
}
