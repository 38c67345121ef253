/**
 * A disk that fails now and then (libfiu: fsync 1 %, write 0.2 %): the store stops
 * at the first error (exit 74) and promises nothing more, and the next start finds
 * every acknowledged mail.
 */
import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { missingIn } from './power.js'

const CHILD = join(import.meta.dirname, '..', 'store', 'crash-child.js')
const FAULTS = [
  'enable_random name=posix/io/sync/*,probability=0.01',
  'enable_random name=posix/io/rw/pwrite,probability=0.002',
]

export interface FaultBalance {
  readonly runs: number
  readonly acknowledged: number
  readonly lost: readonly string[]
  readonly unsound: readonly string[]
  /** Ends other than 74; a start that met the error ends with 1 in this child. */
  readonly otherEnds: readonly unknown[]
}

const run = async (dataDir: string, bytes: string) => {
  const { NODE_OPTIONS: _, ...env } = process.env
  const words = [
    ...FAULTS.flatMap((fault) => ['-c', fault]),
    process.execPath,
    CHILD,
    dataDir,
    '',
    '1',
    'retry',
    bytes,
  ]
  const child = spawn('fiu-run', ['-x', ...words, 'keep'], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  const end = await new Promise((resolve) => child.once('close', (code, signal) => resolve(signal ?? code)))
  const ids = text
    .split('\n')
    .filter((line) => line.startsWith('accepted '))
    .map((line) => line.slice('accepted '.length))
  return { end, ids }
}

/** The balance, or why no errors can be made here. */
export const ioErrors = async (runs: number, say: (line: string) => void): Promise<FaultBalance | string> => {
  if (spawnSync('fiu-run', ['-h']).error !== undefined) return 'fiu-run is not installed (Debian: fiu-utils)'
  const lost: string[] = []
  const unsound: string[] = []
  const otherEnds: unknown[] = []
  let acknowledged = 0
  for (let i = 0; i < runs; i++) {
    const dataDir = mkdtempSync(join(tmpdir(), 'postern-eio-'))
    try {
      const { end, ids } = await run(dataDir, i % 2 === 0 ? '' : '90000')
      const found = await missingIn(dataDir, ids)
      acknowledged += ids.length
      lost.push(...found.lost)
      unsound.push(...found.unsound)
      if (end !== 74 && end !== 1) otherEnds.push(end)
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  }
  say(`${runs} failing disks: ${acknowledged} acknowledged, ${lost.length} lost`)
  return { runs, acknowledged, lost, unsound, otherEnds }
}
