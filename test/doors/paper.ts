/**
 * What a door says, as a text that is kept in `test/doors/papers/` and held against what it says now. A change that is
 * meant is written down by `POSTERN_RENEW=1`, and read as a difference by git.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { ROOT } from '../parts/postern.js'
import { isOnPostgres } from '../parts/store.js'

const PAPERS = join(ROOT, 'test', 'doors', 'papers')
const SHOWN = 20

/** The first lines that differ, with what stood there. */
const differences = (before: readonly string[], now: readonly string[]): readonly string[] => {
  const [gone, fresh] = [
    before.filter((line) => !now.includes(line)),
    now.filter((line) => !before.includes(line)),
  ]
  const told = [...gone.map((line) => `- ${line}`), ...fresh.map((line) => `+ ${line}`)]
  return told.length > 0 ? told.slice(0, SHOWN) : ['the same lines in another order']
}

/** Compares line by line with the paper of that name, or writes it. */
export const demandPaper = (t: Test, name: string, lines: readonly string[]): void => {
  if (isOnPostgres) return void t.pass(`${name}: the paper is of a store in a file`)
  const file = join(PAPERS, `${name}.txt`)
  const now = lines
    .join('\n')
    .split('\n')
    .map((line) => line.trimEnd())
  if (process.env.POSTERN_RENEW !== undefined) {
    mkdirSync(PAPERS, { recursive: true })
    writeFileSync(file, `${now.join('\n')}\n`)
  }
  const before = existsSync(file) ? readFileSync(file, 'utf8').replace(/\n$/, '').split('\n') : []
  const isSame = before.join('\n') === now.join('\n')
  t.same(
    isSame ? [] : differences(before, now),
    [],
    `${name}: if it is meant, run this test with POSTERN_RENEW=1`,
  )
}

/** What differs from run to run, by the name that it gets; the first that fits has it. */
const CHANGING: readonly (readonly [what: RegExp, name: string])[] = [
  [/\bsvc_(?:live|test)_[0-9A-Za-z]{12,44}/g, 'key'],
  [/\bwhsec_[\w+/=-]+/g, 'signing secret'],
  [/\bv1_[\w.-]{8,}/g, 'cursor'],
  [/\b[a-z]{2,5}_[0-9a-z]{26}\b/g, 'id'],
  [/(?<![0-9a-z])[0-9a-z]{16}(?=@|\b.{0,3}@)/g, 'recipient'],
  [/\b1[78]\d{11}\b/g, 'time'],
  [/(?<=\b(?:pool-|shop-|user-|[apd]))\d+(?=[@."/]|\b)/g, 'n'],
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?Z| UTC)?/g, 'time'],
  [/\bpn\d{8}\w*/g, 'selector'],
  [/\bp=(?!none)[\w+/=]{20,}/g, 'public key'],
  [/127\.0\.0\.1:\d+(?:\/\d+)?/g, 'address'],
  [/\/tmp\/postern-[\w-]+/g, 'folder'],
  [/(?<![\w-])[\w-]{40,}/g, 'token'],
]

/** The same text for the same answer: what differs from run to run is named in the order in which it appears. */
export const named = (text: string): string => {
  const names = new Map<string, string>()
  const counts = new Map<string, number>()
  const nameOf = (one: string, kind: string): string => {
    if (kind === 'time' || kind === 'key' || kind === 'n') return `<${kind}>`
    const known = names.get(one)
    if (known !== undefined) return known
    const of = kind === 'id' ? one.slice(0, one.indexOf('_')) : kind
    const n = (counts.get(of) ?? 0) + 1
    counts.set(of, n)
    const name = `<${of} ${n}>`
    names.set(one, name)
    return name
  }
  return CHANGING.reduce((left, [what, kind]) => left.replace(what, (one) => nameOf(one, kind)), text)
}

const WIDTH = 220

/** JSON with as few lines as are easily read. */
export const compact = (value: unknown, indent = ''): string => {
  const flat = JSON.stringify(value)
  if (
    flat === undefined ||
    flat.length + indent.length <= WIDTH ||
    typeof value !== 'object' ||
    value === null
  )
    return flat
  const inner = `${indent} `
  const lines = Array.isArray(value)
    ? value.map((one) => `${inner}${compact(one, inner)}`)
    : Object.entries(value)
        .filter(([, one]) => one !== undefined)
        .map(([name, one]) => `${inner}${JSON.stringify(name)}: ${compact(one, inner)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return `${open}\n${lines.join(',\n')}\n${indent}${close}`
}
