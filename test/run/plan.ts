/**
 * What runs, in which order, and how many files at once. The house comes first, then what took longest in the last whole
 * run (slow.txt), so that nothing long begins when the others are done. As many files run as there are processors; while
 * the machine has nothing to do, since they all wait, up to four times as many.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '../parts/postern.js'

const END = '.test.js'

export const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(END))
    .map((file) => file.slice(0, -END.length))
    .sort()
export const fileOf = (folder: string, name: string): string => join(folder, `${name}${END}`)

const SLOW = join(ROOT, 'test', 'run', 'slow.txt')
/** Seconds by file, of those that take more than three. */
const slow = new Map(
  readFileSync(SLOW, 'utf8')
    .split('\n')
    .map((line) => /^ *([\d.]+) (\S+)$/.exec(line))
    .flatMap((match) => (match === null ? [] : [[match[2] as string, Number(match[1])] as const])),
)

export const slowestFirst = (names: readonly string[]): string[] =>
  [...names].sort((a, b) => (slow.get(b) ?? 0) - (slow.get(a) ?? 0))

const LONG_MS = 3_000

export const noteSlow = (outcomes: readonly { readonly name: string; readonly ms: number }[]): void => {
  const long = outcomes.filter(({ ms }) => ms > LONG_MS).sort((a, b) => b.ms - a.ms)
  writeFileSync(SLOW, long.map(({ name, ms }) => `${(ms / 1_000).toFixed(1).padStart(6)} ${name}\n`).join(''))
}

/** Of a program of its own: Postern itself, a database, a browser, a mail server. */
const STARTS =
  /\b(new Postern\(|new Postgres\(|postgres\(\)|runCli\(|openChromium\(|startPostfix\(|spawn\(|fork\(|execFile\()/

/** What changes or measures the whole process, or a module that others import: others would see it. */
const OWN = new RegExp(
  [
    /\bprocess\.(?!(?:cwd|env|execPath|getuid|kill|pid|platform|versions?)\b)\w+/,
    /\bprocess\.env(?:\.\w+|\[[^\]]*\])\s*=(?!=)|\bdelete process\.env|\bprocess\.kill\(process\.pid/,
    /\bglobalThis\b|\bmock\.|\bObject\.assign\((?:[A-Z]|process)/,
    /['"]node:(?:async_hooks|dns|inspector|perf_hooks|v8|vm)['"]/,
  ]
    .map(({ source }) => source)
    .join('|'),
)

/** A file, or what it imports of the tests except for parts/, says so. */
const says = (what: RegExp, folder: string, name: string): boolean => {
  const seen = new Set<string>()
  const visit = (file: string): boolean => {
    if (seen.has(file) || !existsSync(file)) return false
    seen.add(file)
    const text = readFileSync(file, 'utf8')
    const near = [...text.matchAll(/\b(?:from|import)\s*["'](\.[^"']+)["']/g)]
      .map(([, to = '']) => join(file, '..', to))
      .filter((to) => to.startsWith(folder) && !to.startsWith(join(folder, 'parts')))
    return what.test(text) || near.some(visit)
  }
  return visit(fileOf(folder, name))
}

export const startsProgram = (folder: string, name: string): boolean => says(STARTS, folder, name)

/** It can run in a process that has run others. */
export const isShareable = (folder: string, name: string): boolean => !says(OWN, folder, name)

/** Runs while one works: no other program, and a few seconds at most. */
export const isQuick = (folder: string, name: string): boolean =>
  !/^(e2e|crash)\//.test(name) && !slow.has(name) && !startsProgram(folder, name)

/** One of two processors waits for a quarter of the time. */
const ENOUGH_IDLE = 0.125

/** Whether the processors had little to do since the last call. */
export const idleness = (): (() => boolean) => {
  const read = (): readonly [idle: number, all: number] =>
    cpus().reduce<readonly [number, number]>(
      ([idle, all], { times }) => [
        idle + times.idle,
        all + times.idle + times.user + times.sys + times.nice + times.irq,
      ],
      [0, 0],
    )
  let [idleBefore, allBefore] = read()
  return () => {
    const [idle, all] = read()
    const share = all === allBefore ? 0 : (idle - idleBefore) / (all - allBefore)
    ;[idleBefore, allBefore] = [idle, all]
    return share > ENOUGH_IDLE
  }
}

const LOOK_MS = 500

/** `work` for each, `jobs` at once, and one more for each half second in which the machine waits, up to `most`. */
export const runAll = async (
  names: readonly string[],
  { jobs, most, isIdle }: { readonly jobs: number; readonly most: number; readonly isIdle: () => boolean },
  work: (name: string) => Promise<void>,
): Promise<void> => {
  const queue = [...names]
  let running = 0
  await new Promise<void>((resolve, reject) => {
    const next = (limit: number): void => {
      while (running < limit && queue.length > 0) {
        running++
        work(queue.shift() as string)
          .then(() => {
            running--
            next(jobs)
          })
          .catch(reject)
      }
      if (running > 0) return
      clearInterval(looks)
      resolve()
    }
    const looks = setInterval(() => {
      if (running >= jobs && running < most && isIdle()) next(running + 1)
    }, LOOK_MS)
    next(jobs)
  })
}
