/**
 * How a run is told: a terminal has one line for each file, everything else TAP.
 * Both end with what failed, what was left out and why, the slowest files, and
 * what failed at first and passed alone, with its failure: that is to be mended.
 */
import type { Outcome } from './file.js'

export interface Report {
  begin(files: number): void
  ended(outcome: Outcome): void
  /** It failed, and will run once more. */
  failed(first: Outcome): void
  /** It failed, then passed alone. */
  flaky(first: Outcome, again: Outcome): void
  end(outcomes: readonly Outcome[], ms: number): void
}

const SLOWEST = 10
const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
const sum = (outcomes: readonly Outcome[], what: 'passed' | 'failed'): number =>
  outcomes.reduce((all, one) => all + one[what], 0)

/** From each `not ok` its own lines: the innermost say what is wrong. */
const failureOf = ({ tap, stderr }: Outcome): string => {
  const lines = tap.split('\n')
  const keep = lines.flatMap((line, at) => (/^\s*not ok/.test(line) ? lines.slice(at, at + 25) : []))
  const said = stderr.trim().split('\n').slice(-20)
  return [...(keep.length > 0 ? keep.slice(0, 200) : lines.slice(-40)), ...said].join('\n')
}

const summary = (outcomes: readonly Outcome[], ms: number): string[] => [
  ...outcomes.flatMap(({ name, skipped }) => skipped.map((why) => `left out in ${name}: ${why}`)),
  'the slowest:',
  ...[...outcomes]
    .sort((a, b) => b.ms - a.ms)
    .slice(0, SLOWEST)
    .map((one) => `  ${seconds(one.ms).padStart(8)}  ${one.name}`),
  `${outcomes.length} files in ${seconds(ms)}, ${outcomes.filter(({ ok }) => !ok).length} failed`,
]

const failedText = ({ name, ms }: Outcome): string =>
  `failed at first: ${name} after ${seconds(ms)}; it runs once more, alone, when the others are done`

const flakyText = (first: Outcome): string =>
  `FLAKY ${first.name}: it failed, and passed alone. Its failure was:\n${failureOf(first)}`

const indent = (text: string, by: string): string => text.replace(/^(?=.)/gm, by)

export const tapReport = (say: (text: string) => void): Report => {
  let n = 0
  const told = (one: Outcome): void => {
    const stderr = one.ok || one.stderr === '' ? '' : `${indent(one.stderr.trimEnd(), '    # ')}\n`
    say(`# Subtest: ${one.name}\n${indent(one.tap, '    ')}${stderr}`)
    say(`${one.ok ? 'ok' : 'not ok'} ${++n} - ${one.name} # time=${Math.round(one.ms)}ms\n\n`)
  }
  return {
    begin: (files) => say(`TAP version 14\n1..${files}\n`),
    ended: told,
    failed: (first) => say(`# ${failedText(first)}\n`),
    flaky(first, again) {
      say(`${indent(flakyText(first), '# ')}\n`)
      told(again)
    },
    end(outcomes, ms) {
      say(`${indent(summary(outcomes, ms).join('\n'), '# ')}\n`)
      const [pass, fail] = [sum(outcomes, 'passed'), sum(outcomes, 'failed')]
      say(`# { total: ${pass + fail}, pass: ${pass}, fail: ${fail} }\n`)
    },
  }
}

export const terminalReport = (say: (text: string) => void): Report => {
  let n = 0
  let all = 0
  const told = (one: Outcome): void => {
    const at = `${String(++n).padStart(String(all).length)}/${all}`
    say(`${at} ${one.ok ? 'ok    ' : 'FAILED'} ${seconds(one.ms).padStart(7)}  ${one.name} (${one.passed})\n`)
    if (!one.ok) say(`${failureOf(one)}\n`)
  }
  return {
    begin(files) {
      all = files
    },
    ended: told,
    failed: (first) => say(`${failedText(first)}\n`),
    flaky(first, again) {
      say(`${flakyText(first)}\n`)
      told(again)
    },
    end(outcomes, ms) {
      say(`${summary(outcomes, ms).join('\n')}\n`)
      say(`${sum(outcomes, 'passed')} passed, ${sum(outcomes, 'failed')} failed\n`)
    },
  }
}
