/**
 * The full tier: `npm run crash` makes every fault of rows.ts, the full number of
 * times, and ends non-zero if one demand is not met. Words on standard output; the
 * same as JSON with `--json FILE`. A seed names a run.
 *   npm run crash -- [--rows kill,power] [--times N] [--seed N] [--json FILE]
 *   npm run crash -- --cluster [--rounds N] [--rows kill,cut] [--seed N] [--json FILE]
 * The second breaks three daemons on one PostgreSQL.
 * As root it runs in a mount namespace of its own, so that no disk outlives it.
 */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { noPostgres } from '../parts/postgres.js'
import { FAULTS } from './cluster/faults.js'
import { clusterRounds } from './cluster/rounds.js'
import { seeded } from './rig.js'
import { ROWS, type Verdict } from './rows.js'

const { values } = parseArgs({
  options: {
    rows: { type: 'string' },
    times: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    json: { type: 'string' },
    cluster: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '40' },
    revocations: { type: 'string', default: '1000' },
  },
})

/** The exit code of the same run in its own mount namespace, or null where there is none to be had. */
const apart = (): number | null => {
  if (process.getuid?.() !== 0 || process.env.POSTERN_CRASH_APART !== undefined) return null
  const unshare = ['--mount', '--propagation', 'private']
  if (spawnSync('unshare', [...unshare, 'true']).status !== 0) return null
  const env = { ...process.env, POSTERN_CRASH_APART: '1' }
  const args = [...unshare, process.execPath, ...process.argv.slice(1)]
  return spawnSync('unshare', args, { stdio: 'inherit', env }).status ?? 70
}

interface Told extends Verdict {
  readonly row: string
  readonly fault: string
  readonly times: number
  readonly seed: number
  readonly seconds: number
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** `acknowledged 812, lost 0, …`: of a list its length is the news. */
const words = (found: object): string =>
  Object.entries(found)
    .map(([name, value]) => `${name} ${Array.isArray(value) ? value.length : JSON.stringify(value)}`)
    .join(', ')

const inWords = (value: unknown): string =>
  typeof value === 'object' && value !== null ? words(value) : String(value)

const names = values.rows?.split(',')
const there = (values.cluster ? FAULTS : ROWS).map(({ name }) => name)
const unknown = names?.filter((name) => !there.includes(name)) ?? []
if (unknown.length > 0) {
  process.stderr.write(`no such row: ${unknown}; there are ${there}\n`)
  process.exit(64)
}

const report = async (): Promise<boolean> => {
  const seed = Number(values.seed)
  const told: Told[] = []
  for (const row of ROWS.filter(({ name }) => names?.includes(name) ?? true)) {
    const times = row.times === 1 ? 1 : Number(values.times ?? row.times)
    const began = performance.now()
    const verdict = await row
      .run(times, { random: seeded(seed) })
      .catch((error: Error): Verdict => ({ unmet: [error.message], found: {} }))
    const seconds = Math.round((performance.now() - began) / 1_000)
    const holds = verdict.unmet.length > 0 ? 'FAILED' : verdict.leftOut ? 'LEFT OUT' : 'holds'
    say(`${holds.padEnd(8)} ${row.name}: ${row.fault}, ${times} times, seed ${seed}, ${seconds} s`)
    if (verdict.leftOut) say(`         ${verdict.leftOut}`)
    say(`         ${words(verdict.found)}`)
    for (const one of verdict.unmet) say(`         NOT MET ${one}`)
    told.push({ row: row.name, fault: row.fault, times, seed, seconds, ...verdict })
  }
  const failed = told.filter((one) => one.unmet.length > 0)
  if (values.json)
    writeFileSync(values.json, `${JSON.stringify({ seed, node: process.version, rows: told }, null, 2)}\n`)
  say(
    `${told.length} faults, ${failed.length} not survived${failed.length > 0 ? `: ${failed.map(({ row }) => row).join(', ')}` : ''}`,
  )
  return failed.length === 0
}

const cluster = async (): Promise<boolean> => {
  const missing = noPostgres()
  if (missing) {
    say(`LEFT OUT ${missing}`)
    return true
  }
  const [seed, rounds] = [Number(values.seed), Number(values.rounds)]
  say(`three daemons on one PostgreSQL, ${rounds} rounds, seed ${seed}`)
  const options = { rounds, random: seeded(seed), only: names, revocations: Number(values.revocations), say }
  const verdict = await clusterRounds(options).catch(
    (error: Error): Verdict => ({ unmet: [error.message], found: {} }),
  )
  for (const [name, value] of Object.entries(verdict.found)) say(`${name.padEnd(8)} ${inWords(value)}`)
  for (const one of verdict.unmet) say(`NOT MET  ${one}`)
  if (values.json) writeFileSync(values.json, `${JSON.stringify({ seed, rounds, ...verdict }, null, 2)}\n`)
  say(`${verdict.unmet.length > 0 ? 'FAILED' : 'holds'}: ${rounds} rounds, seed ${seed}`)
  return verdict.unmet.length === 0
}

process.exitCode = values.cluster ? ((await cluster()) ? 0 : 1) : (apart() ?? ((await report()) ? 0 : 1))
