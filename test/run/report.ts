/**
 * What a run says. A terminal has one line that shows where it is, and keeps what failed; everything else has TAP with
 * one line for each file. A failure is said, with its lines, when it happens. Both end with one screen: how much ran in
 * each room, what was left out and why, the slowest files, what failed at first and passed alone, what failed. All that
 * the files themselves said goes into a file.
 */
import type { Outcome } from './file.js'

export interface Report {
  begin(files: number): void
  started(name: string): void
  ended(outcome: Outcome): void
  /** It failed, and will run once more. */
  failed(first: Outcome): void
  /** It failed, then passed alone. */
  flaky(first: Outcome, again: Outcome): void
  end(outcomes: readonly Outcome[], ms: number): void
}

/** Where the TAP of each file goes; `name` is its path, or null where none is kept. */
export interface Kept {
  readonly name: string | null
  write(text: string): void
}

const SLOWEST = 8
const SHOWN_LINES = 60
const WIDTH = 100
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
const sum = (outcomes: readonly Outcome[], what: 'passed' | 'failed'): number =>
  outcomes.reduce((all, one) => all + one[what], 0)
const indent = (text: string, by: string): string => text.replace(/^(?=.)/gm, by)

/** From each `not ok` its own lines: the innermost say what is wrong. */
const failureOf = ({ tap, stderr }: Outcome): string => {
  const lines = tap.split('\n')
  const keep = lines.flatMap((line, at) => (/^\s*not ok/.test(line) ? lines.slice(at, at + 25) : []))
  const said = stderr.trim().split('\n').slice(-20)
  return [...(keep.length > 0 ? keep.slice(0, SHOWN_LINES) : lines.slice(-40)), ...said].join('\n')
}

/** The first thing that was not as it should be, in one line. */
const firstFault = ({ tap, stderr }: Outcome): string => {
  const found = [...tap.matchAll(/^ *not ok \d+ - (.*?)(?: # time=.*)?$/gm)].map(([, what = '']) => what)
  const ended = /^# (ended with .*)$/m.exec(tap)?.[1]
  return found[0] || stderr.trim().split('\n').at(-1) || ended || 'it said nothing'
}

const times = ({ ms, cpuMs }: Outcome): string =>
  seconds(ms).padStart(8) + (cpuMs === null ? '' : `, ${seconds(cpuMs)} of a processor`)

/** `http 42 (271 s)`, most time first, in lines. */
const roomsIn = (outcomes: readonly Outcome[]): string[] => {
  const rooms = new Map<string, { files: number; ms: number }>()
  for (const { name, ms } of outcomes) {
    const room = name.split('/')[0] ?? name
    const so = rooms.get(room) ?? { files: 0, ms: 0 }
    rooms.set(room, { files: so.files + 1, ms: so.ms + ms })
  }
  const parts = [...rooms]
    .sort(([, a], [, b]) => b.ms - a.ms)
    .map(([room, { files, ms }]) => `${room} ${files} (${seconds(ms)})`)
  const lines = ['files and time by room:']
  for (const part of parts) {
    const last = lines.at(-1) ?? ''
    if (last.startsWith('  ') && last.length + part.length + 2 < WIDTH)
      lines[lines.length - 1] = `${last}, ${part}`
    else lines.push(`  ${part}`)
  }
  return lines
}

/** What a file left out, together where it is for one reason. */
const leftOutIn = ({ name, skipped }: Outcome): string[] => {
  const by = new Map<string, string[]>()
  for (const why of skipped) {
    const at = why.indexOf(': ')
    const reason = at < 0 ? why : why.slice(at + 2)
    by.set(reason, [...(by.get(reason) ?? []), why])
  }
  return [...by].map(([reason, all]) =>
    all.length === 1
      ? `left out in ${name}: ${all[0]}`
      : `left out in ${name}: ${all.length} parts: ${reason}`,
  )
}

const summary = (
  outcomes: readonly Outcome[],
  flaky: readonly Outcome[],
  ms: number,
  kept: Kept,
): string[] => [
  ...roomsIn(outcomes),
  ...outcomes.flatMap(leftOutIn),
  'the slowest:',
  ...[...outcomes]
    .sort((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST)
    .map((one) => `  ${times(one)}  ${one.name}`),
  ...(kept.name === null ? [] : [`all that was said: ${kept.name}`]),
  ...flaky.map((first) => `FLAKY ${first.name} after ${seconds(first.ms)}: ${firstFault(first)}`),
  ...outcomes
    .filter(({ ok }) => !ok)
    .map((one) => `FAILED ${one.name} after ${seconds(one.ms)}: ${firstFault(one)}`),
  `${outcomes.length} files in ${seconds(ms)}, ${outcomes.filter(({ ok }) => !ok).length} failed` +
    (flaky.length === 0 ? '' : `, ${flaky.length} failed once and passed alone`),
]

const failedText = (first: Outcome): string =>
  `failed at first: ${first.name} after ${seconds(first.ms)}; it runs once more, alone, when the others are done\n` +
  indent(failureOf(first), '  ')

const flakyText = ({ name }: Outcome): string => `FLAKY ${name}: it failed, and passed alone`

/** As a file's part of one TAP document. */
const partOf = (one: Outcome, n: number): string => {
  const stderr = one.ok || one.stderr === '' ? '' : `${indent(one.stderr.trimEnd(), '    # ')}\n`
  return `# Subtest: ${one.name}\n${indent(one.tap, '    ')}${stderr}${lineOf(one, n)}\n`
}
const cpuOf = ({ cpuMs }: Outcome): string => (cpuMs === null ? '' : ` cpu=${cpuMs}ms`)
const lineOf = (one: Outcome, n: number): string =>
  `${one.ok ? 'ok' : 'not ok'} ${n} - ${one.name} # time=${Math.round(one.ms)}ms${cpuOf(one)}\n`

export const tapReport = (say: (text: string) => void, kept: Kept): Report => {
  let n = 0
  const flaky: Outcome[] = []
  const told = (one: Outcome): void => {
    n++
    kept.write(partOf(one, n))
    say(lineOf(one, n))
    if (!one.ok) say(`${indent(failureOf(one), '# ')}\n`)
  }
  const both = (text: string): void => {
    kept.write(text)
    say(text)
  }
  return {
    begin: (files) => both(`TAP version 14\n1..${files}\n`),
    started: () => {},
    ended: told,
    failed: (first) => both(`${indent(failedText(first), '# ')}\n`),
    flaky(first, again) {
      flaky.push(first)
      both(`# ${flakyText(first)}\n`)
      told(again)
    },
    end(outcomes, ms) {
      const [pass, fail] = [sum(outcomes, 'passed'), sum(outcomes, 'failed')]
      const counts = `# { total: ${pass + fail}, pass: ${pass}, fail: ${fail} }\n`
      both(`${indent(summary(outcomes, flaky, ms, kept).join('\n'), '# ')}\n${counts}`)
    },
  }
}

/** Away with the line that the cursor is in. */
const CLEAR = '\r\u001b[2K'

export const terminalReport = (say: (text: string) => void, kept: Kept, columns = WIDTH): Report => {
  let [n, bad, all] = [0, 0, 0]
  const began = performance.now()
  const flaky: Outcome[] = []
  const running = new Set<string>()
  const keep = (text: string): void => say(`${CLEAR}${text}\n`)
  const draw = (): void => {
    const so = `${n}/${all}  ${bad} failed  ${seconds(performance.now() - began)}  ${[...running].join(', ')}`
    say(CLEAR + so.slice(0, columns - 1))
  }
  const timer = setInterval(draw, 1_000).unref()
  const told = (one: Outcome): void => {
    running.delete(one.name)
    n++
    kept.write(partOf(one, n))
    if (!one.ok) {
      bad++
      keep(`FAILED ${one.name} after ${seconds(one.ms)}\n${failureOf(one)}`)
    } else if (all <= SLOWEST) keep(`ok     ${times(one)}  ${one.name} (${one.passed})`)
    draw()
  }
  return {
    begin(files) {
      all = files
      kept.write(`TAP version 14\n1..${files}\n`)
    },
    started(name) {
      running.add(name)
      draw()
    },
    ended: told,
    failed(first) {
      running.delete(first.name)
      keep(failedText(first))
    },
    flaky(first, again) {
      flaky.push(first)
      keep(flakyText(first))
      told(again)
    },
    end(outcomes, ms) {
      clearInterval(timer)
      keep(summary(outcomes, flaky, ms, kept).join('\n'))
      say(`${sum(outcomes, 'passed')} passed, ${sum(outcomes, 'failed')} failed\n`)
    },
  }
}
