/**
 * What the real programs 0.9.0 and 0.10.0 left: data folders, and dumps of a database on PostgreSQL. Each was an
 * installation of all-states.ts whose daemon was killed while a mail was on its way, and has `left.json`: what its own store said then.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from './postern.js'
import type { Server } from './postgres.js'

export const EARLIER = ['0.9.0', '0.10.0'] as const
export type Earlier = (typeof EARLIER)[number]

/** The schemas that they made. */
export const SCHEMAS: Readonly<Record<Earlier, { readonly sqlite: number; readonly postgres: number }>> = {
  '0.9.0': { sqlite: 43, postgres: 6 },
  '0.10.0': { sqlite: 47, postgres: 9 },
}

export interface Left {
  /** Of reads-of-all.ts. */
  readonly reads: Readonly<Record<string, unknown>>
  /** The mail that was on its way. */
  readonly dying: string
}

const unpack = (driver: 'sqlite' | 'postgres', version: Earlier, to: string): Left => {
  mkdirSync(to, { recursive: true, mode: 0o700 })
  execFileSync('tar', ['-xzf', join(ROOT, 'test/store/earlier', `${driver}-${version}.tar.gz`), '-C', to])
  const file = join(to, 'left.json')
  const left = JSON.parse(readFileSync(file, 'utf8')) as Left
  rmSync(file)
  return left
}

/** Makes a data folder of that version. */
export const makeEarlier = (dataDir: string, version: Earlier): Left => unpack('sqlite', version, dataDir)

/** The same as a database of a server. */
export const loadEarlier = (server: Server, version: Earlier): Left & { readonly urls: string } => {
  const folder = mkdtempSync(join(tmpdir(), 'postern-earlier-'))
  try {
    const left = unpack('postgres', version, folder)
    const urls = server.database()
    server.load(urls.split('/').at(-1) ?? '', join(folder, 'postern.sql'))
    return { ...left, urls }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
