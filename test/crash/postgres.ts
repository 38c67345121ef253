/**
 * One daemon whose store is on a PostgreSQL of its own: near, far away (each round trip takes its time), or on a disk
 * whose fsync does. It is killed at any moment and at each point with a name, or told to end with requests on their way.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseProxy } from '../parts/database-proxy.js'
import { noPostgres, Postgres } from '../parts/postgres.js'
import { killCycles, pointCycles } from './kill.js'
import type { Books, RigOptions } from './rig.js'
import { type Ended, slowDisk, slowEnds } from './slow.js'

export interface Where {
  /** To the database and back, in milliseconds. */
  readonly roundTrip?: number
  /** So much longer takes each fsync of the server. */
  readonly fsync?: number
}

const moments = (verb: string, ...names: readonly string[]): string[] =>
  names.map((name) => `${verb}.${name}`)

/** On its way a statement is `sent`: the database may commit it, and nobody hears of it. */
export const POSTGRES_POINTS: readonly string[] = [
  ...moments('accept', 'before-commit', 'sent', 'after-commit'),
  ...moments('attempting', 'before-commit', 'sent', 'after-commit'),
  ...moments('relay', 'before-data', 'after-dot', 'before-settle'),
  ...moments('settle', 'before-commit', 'sent', 'after-commit'),
]

/** Leases of what waits, who follows the log, and signs of life. */
export const POSTGRES_BESIDE: readonly string[] = [
  ...moments('claim', 'before-commit', 'sent', 'after-commit'),
  ...moments('keepRead', 'before-commit', 'after-commit'),
  ...moments('heartbeat', 'before-commit', 'sent'),
]

type Settings = NonNullable<RigOptions['settings']>

/** Why there is none here, or what is made with one. */
const withPostgres = async <T>(
  { roundTrip = 0, fsync = 0 }: Where,
  use: (settings: Settings) => Promise<T>,
): Promise<T | string> => {
  const missing = noPostgres()
  if (missing) return missing
  const disk = fsync > 0 ? slowDisk() : null
  if (typeof disk === 'string') return disk
  const folder = mkdtempSync(join(tmpdir(), 'postern-far-'))
  chmodSync(folder, 0o700)
  const server = new Postgres()
  const ends: (() => unknown)[] = [
    () => rmSync(folder, { recursive: true }),
    () => disk?.remove(),
    () => server.stop('immediate'),
  ]
  try {
    await server.start()
    const database = (await server.withTables()).split('/').at(-1)
    if (disk !== null) {
      await server.stop('fast')
      await server.start({}, disk.env(fsync))
    }
    const proxy = await new DatabaseProxy(server.port, roundTrip).start()
    ends.push(() => proxy.stop())
    const url = join(folder, 'database.url')
    writeFileSync(url, `postgres://postern@127.0.0.1:${proxy.port}/${database}`, { mode: 0o600 })
    return await use({ store: { driver: 'postgres', url_file: url, pooler: 'none' } })
  } finally {
    for (const end of ends.reverse()) await end()
  }
}

export const postgresKills =
  (where: Where) =>
  (cycles: number, options: RigOptions): Promise<Books | string> =>
    withPostgres(where, (settings) => killCycles(cycles, { ...options, settings }))

export const postgresPoints =
  (points: readonly string[], hits?: number) =>
  (times: number, options: RigOptions): Promise<Books | string> =>
    withPostgres({}, (settings) => pointCycles(times, { ...options, settings }, points, hits))

export const postgresEnds =
  (where: Where) =>
  (cycles: number, options: RigOptions): Promise<Ended | string> =>
    withPostgres(where, (settings) => slowEnds(cycles, { ...options, settings }))
