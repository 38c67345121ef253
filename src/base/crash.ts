/**
 * NAME      crash - what may be said about an error that nobody expected, and where a crash test ends the process
 *   Such an error can carry anything in its message. What looks like a key, a password in a URL or an
 *   address is cut out; the frames of the stack name our own files and stay. What runs is bundled: a map
 *   beside the bundle says which line of the source a frame is, and is read for such an error only.
 *   POSTERN_CRASH_AT names a point that the store or the relay passes, and after a colon the how many-th
 *   time (1 by default), counted in each thread: `accept.before-commit:3`. A store's points are its verbs, before and
 *   after their commit; with PostgreSQL also `sent`, when the statement is on its way and its answer is not there. The
 *   relay's begin with `relay.`. In production the variable is not set: a point costs one comparison.
 */
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'

const CUTS: readonly (readonly [RegExp, string])[] = [
  [/\b(svc|ses|key|sk)_[A-Za-z0-9_-]{8,}/g, '$1_[cut]'],
  [/(:\/\/[^\s:@/]*):[^\s@/]+@/g, '$1:[cut]@'],
  [/\b(Bearer|Basic|PLAIN|LOGIN)\s+[A-Za-z0-9+/=._-]{8,}/gi, '$1 [cut]'],
  [/\b(password|secret|token|pepper|authorization)(["']?\s*[:=]\s*)\S+/gi, '$1$2[cut]'],
  [/[^\s<>"']+@[^\s<>"']+/g, '[address]'],
]

export const scrub = (text: string): string =>
  CUTS.reduce((said, [pattern, cut]) => said.replace(pattern, cut), text)

const maps = new Map<string, SourceMap | null>()
const mapOf = (file: string): SourceMap | null => {
  let map = maps.get(file)
  if (map === undefined) {
    const name = `${file}.map`
    map = existsSync(name) ? new SourceMap(JSON.parse(readFileSync(name, 'utf8'))) : null
    maps.set(file, map)
  }
  return map
}

/** `(/usr/lib/node_modules/postern/dist/run/postern.js:8:1204)`, as the source has it. */
const inSource = (frame: string): string =>
  frame.replace(
    /(?:file:\/\/)?(\/[^\s()]+\.js):(\d+):(\d+)/,
    (place, file: string, line: string, column: string) => {
      const found = mapOf(file)?.findEntry(Number(line) - 1, Number(column) - 1)
      if (found === undefined || !('originalSource' in found)) return place
      const { originalSource, originalLine, originalColumn } = found
      return `${originalSource.replace(/^(\.\.\/)+/, '')}:${originalLine + 1}:${originalColumn + 1}`
    },
  )

export const framesOf = ({ stack = '' }: Error): readonly string[] =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map((line) => inSource(line.trim()))

export const crashFacts = (error: unknown): Readonly<Record<string, string>> => {
  if (!(error instanceof Error)) return { error: scrub(String(error)) }
  const { code } = error as NodeJS.ErrnoException
  return {
    error: `${error.name}: ${scrub(error.message)}`,
    ...(typeof code === 'string' && { code }),
    stack: framesOf(error).join(' | '),
  }
}

/** The process kills itself the n-th time that it passes a named point. */
export interface FaultPoint {
  readonly name: string
  readonly hit: number
}

export type Pass = (point: string) => void

export const createFaultPoint = (at: FaultPoint | null): Pass => {
  let hits = 0
  return (name) => {
    if (at === null || at.name !== name || ++hits !== at.hit) return
    process.kill(process.pid, 'SIGKILL')
  }
}

export const readCrashPoint = (text: string | undefined): FaultPoint | null => {
  const [, name, hit = '1'] = /^([\w.-]+)(?::(\d+))?$/.exec(text ?? '') ?? []
  return name === undefined ? null : { name, hit: Number(hit) }
}
