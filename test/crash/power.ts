/**
 * Power cuts: the store runs on a file system in an image; at a random moment the
 * image is set aside as it is, without what the system still had in memory, and
 * that is what the next start finds. After each cut every
 * acknowledged mail must be there, with its body. The control shows that the cut
 * is a cut: with synchronous=NORMAL something is lost.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '../../src/store/sqlite/driver.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { type Disk, imageDisk } from '../parts/mount.js'

const ROOM_MIB = 400

export interface PowerBalance {
  readonly cuts: number
  readonly acknowledged: number
  readonly lost: readonly string[]
  readonly unsound: readonly string[]
  readonly controlAcknowledged: number
  readonly controlLost: number
}

/** Runs a child on the disk until its power is cut; what it had promised. */
const runToCut = async (
  disk: Disk,
  program: string,
  args: readonly string[],
  ms: number,
): Promise<string[]> => {
  const file = join(import.meta.dirname, program)
  const { NODE_OPTIONS: _, ...env } = process.env
  const child = spawn(process.execPath, [file, ...args], { env, stdio: ['ignore', 'pipe', 'ignore'] })
  let text = ''
  const started = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      resolve()
    })
    child.once('exit', () => resolve())
  })
  const ended = new Promise((resolve) => child.once('close', resolve))
  await started
  await new Promise((resolve) => setTimeout(resolve, ms))
  const promised = text // what comes out after this moment may or may not be kept
  child.kill('SIGSTOP')
  await new Promise((resolve) => setTimeout(resolve, 20))
  disk.cutPower()
  child.kill('SIGKILL')
  await ended
  disk.mountAgain()
  return promised
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('accepted '))
    .map((line) => line.slice('accepted '.length))
}

/** What of these mails is not in a store, and what is wrong with it. */
export const missingIn = async (
  dataDir: string,
  ids: readonly string[],
): Promise<{ readonly lost: string[]; readonly unsound: readonly string[] }> => {
  const store = openSqliteStore({ dataDir, daemon: false })
  await store.open()
  try {
    const lost: string[] = []
    const known = new Set(await store.knownEmails(ids))
    for (const id of ids) {
      const body = known.has(id) ? await store.body(id).catch(() => null) : null
      if (body === null) lost.push(id)
    }
    return { lost, unsound: await store.check() }
  } finally {
    await store.close()
  }
}

const controlLost = (dataDir: string, ids: readonly string[]): number => {
  const file = join(dataDir, 'control.db')
  if (!existsSync(file)) return ids.length
  const db = new Database(file)
  try {
    const has = db.prepare('SELECT 1 FROM mails WHERE id = ?')
    return ids.filter((id) => has.get(id) === undefined).length
  } catch {
    return ids.length // not even the table
  } finally {
    db.close()
  }
}

/** The balance, or why no power can be cut here. */
export const powerCuts = async (
  cuts: number,
  random: () => number,
  say: (line: string) => void,
): Promise<PowerBalance | string> => {
  const disk = imageDisk(ROOM_MIB)
  if (typeof disk === 'string') return disk
  const dataDir = join(disk.path, 'data')
  const controlDir = join(disk.path, 'control')
  mkdirSync(dataDir, { mode: 0o700 })
  mkdirSync(controlDir, { mode: 0o700 })
  const lost: string[] = []
  const unsound: string[] = []
  let acknowledged = 0
  let control = { acknowledged: 0, lost: 0 }
  try {
    for (let cut = 0; cut < cuts; cut++) {
      const ms = 20 + random() * 400
      const bytes = cut % 2 === 0 ? '' : '90000'
      const ids = await runToCut(
        disk,
        join('..', 'store', 'crash-child.js'),
        [dataDir, '', '1', 'retry', bytes, 'keep'],
        ms,
      )
      const found = await missingIn(dataDir, ids)
      acknowledged += ids.length
      lost.push(...found.lost)
      unsound.push(...found.unsound)
      if (cut % 5 === 0) {
        const promised = await runToCut(disk, 'power-control.js', [controlDir], ms)
        const gone = controlLost(controlDir, promised)
        control = { acknowledged: control.acknowledged + promised.length, lost: control.lost + gone }
      }
      say(`cut ${cut + 1}: ${acknowledged} acknowledged, ${lost.length} lost; control ${control.lost} lost`)
    }
    return {
      cuts,
      acknowledged,
      lost,
      unsound,
      controlAcknowledged: control.acknowledged,
      controlLost: control.lost,
    }
  } finally {
    disk.remove()
  }
}
