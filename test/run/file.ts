/**
 * One test file: what it said, how long it took and how it ended. Its output is TAP. It runs in a Node of its own,
 * without tap's loaders, or in one that runs others before and after it (shared.ts): what they all import is loaded
 * once. Each process leads a process group, so that nothing of it outlives a time limit.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ROOT } from '../parts/postern.js'
import type { Answer, Order } from './shared.js'

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

const begin = (args: readonly string[], isTold = false): ChildProcess => {
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, TAP: '1', TAP_TIMEOUT: String(LIMIT_S) },
    stdio: ['ignore', 'pipe', 'pipe', ...(isTold ? ['ipc' as const] : [])],
    detached: true,
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  child.stdout?.setEncoding('utf8')
  child.stderr?.setEncoding('utf8')
  return child
}

interface Said {
  readonly began: number
  readonly cpuMs: number | null
  readonly tap: string
  readonly stderr: string
  /** It ended as it should; else how. */
  readonly end: true | string
}

const outcomeOf = (name: string, { began, cpuMs, stderr, end, ...said }: Said): Outcome => {
  const complete = /^1\.\.\d+/m.test(said.tap)
  const ok = end === true && complete
  const how = `# ended with ${end === true ? 0 : end}${complete ? '' : ', without a plan'}\n`
  const tap = ok ? said.tap : said.tap + how
  const failed = count(tap, 'fail')
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

// tap itself ends a test in time and says which; this is for a file that does not hear
const endLate = (child: ChildProcess): NodeJS.Timeout =>
  setTimeout(() => kill(child, 'SIGKILL'), (LIMIT_S + 30) * 1_000)
const exitOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => child.once('exit', (code, signal) => resolve(String(signal ?? code))))

export const runFile = async (name: string, file: string, node: readonly string[] = []): Promise<Outcome> => {
  const began = performance.now()
  const child = begin([...node, file])
  let [tap, stderr] = ['', '']
  child.stdout?.on('data', (chunk) => (tap += chunk))
  child.stderr?.on('data', (chunk) => (stderr += chunk))
  const closed = once(child, 'close')
  const late = endLate(child)
  const end = await exitOf(child)
  const cpuMs = cpuOfEnded()
  clearTimeout(late)
  // what it said last is still on its way; but whoever it left behind may hold its output open
  await Promise.race([closed, sleep(2_000)])
  child.stdout?.destroy()
  child.stderr?.destroy()
  return outcomeOf(name, { began, cpuMs, tap, stderr, end: end === '0' || end })
}

interface Shared {
  readonly child: ChildProcess
  readonly exited: Promise<string>
  files: number
}
/** What the files of a process left behind grows: after so many another one begins. */
const FILES_OF_ONE = 40
let free: readonly Shared[] = []

const beginShared = (): Shared => {
  const child = begin([join(import.meta.dirname, 'shared.js')], true)
  const one = { child, exited: exitOf(child), files: 0 }
  child.once('exit', () => {
    free = free.filter((other) => other !== one)
    cpuOfEnded() // it was told file by file
  })
  return one
}

/** In a process that runs others, too; the file must change nothing there that they would see. */
export const runShared = async (name: string, file: string): Promise<Outcome> => {
  const began = performance.now()
  const one = free.at(-1) ?? beginShared()
  free = free.filter((other) => other !== one)
  one.files++
  const { child, exited } = one
  let stderr = ''
  const hear = (chunk: string): void => {
    stderr += chunk
  }
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', hear)
  const late = endLate(child)
  const answered = new Promise<Answer>((resolve) => child.once('message', resolve))
  // where it can not be told it has ended
  child.send({ name, file, limitMs: LIMIT_S * 1_000 } satisfies Order, () => {})
  const said = await Promise.race([answered, exited])
  clearTimeout(late)
  for (const stream of [child.stdout, child.stderr]) stream?.off('data', hear)
  if (typeof said === 'string') return outcomeOf(name, { began, cpuMs: null, tap: '', stderr, end: said })
  if (one.files < FILES_OF_ONE) free = [...free, one]
  else child.disconnect()
  return outcomeOf(name, { began, ...said, stderr, end: said.ok || '1' })
}

/** No more files come. */
export const endShared = (): void => {
  for (const { child } of free) child.disconnect()
}
