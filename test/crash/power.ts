/**
 * Power cuts under the whole daemon: its data lies on a file system in an image;
 * at a random moment, under load through both doors, the image is set aside as it
 * is, without what the system still had in memory, and that is what the next start
 * finds. The control shows that the cut is a cut: the same writes with
 * synchronous=NORMAL must lose something, and the test fails if they do not.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Database } from '../../src/store/sqlite/connect.js'
import { eventually } from '../parts/eventually.js'
import { type Disk, imageDisk } from '../parts/mount.js'
import { type Books, LEAST, Rig, type RigOptions } from './rig.js'

const ROOM_MIB = 600

/** Every thread of it stands still: from here on nothing more is written. */
const freeze = async (pid: number): Promise<void> => {
  process.kill(pid, 'SIGSTOP')
  const folder = `/proc/${pid}/task`
  const stands = (thread: string): boolean =>
    readFileSync(join(folder, thread, 'stat'), 'utf8')
      .split(') ')[1]
      ?.startsWith('T') === true
  await eventually('all threads stand still', () => readdirSync(folder).every(stands), { every: 5 })
}

/** What the negative control promised before its power was cut, and how much of it is gone. */
const cutControl = async (disk: Disk): Promise<{ acknowledged: number; lost: number }> => {
  const folder = join(disk.path, 'control')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const child = spawn(process.execPath, [join(import.meta.dirname, 'power-control.js'), folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ids: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => ids.push(line.replace('accepted ', '')))
  const ended = new Promise((resolve) => child.once('close', resolve))
  await eventually('the control writes', () => ids.length >= LEAST)
  await freeze(child.pid ?? 0)
  disk.cutPower()
  child.kill('SIGKILL')
  await ended
  disk.mountAgain()
  return { acknowledged: ids.length, lost: ids.length - foundIn(folder, ids) }
}

const foundIn = (folder: string, ids: readonly string[]): number => {
  const file = join(folder, 'control.db')
  if (!existsSync(file)) return 0
  const db = new Database(file)
  try {
    const has = db.prepare('SELECT 1 FROM mails WHERE id = ?')
    return ids.filter((id) => has.get(id) !== undefined).length
  } catch {
    return 0 // not even the table
  } finally {
    db.close()
  }
}

/** The books, or why no power can be cut here. */
export const powerCuts = async (cuts: number, options: RigOptions): Promise<Books | string> => {
  const disk = imageDisk(ROOM_MIB)
  if (typeof disk === 'string') return disk
  try {
    const rig = await Rig.start({ ...options, dataDir: join(disk.path, 'data') })
    try {
      await rig.cycles(cuts, async () => {
        await freeze(rig.postern.pid)
        disk.cutPower()
        await rig.postern.stop('SIGKILL')
        disk.mountAgain()
        await rig.restart()
      })
      const books = await rig.books()
      await rig.postern.stop()
      const control = { acknowledged: 0, lost: 0 }
      for (let cut = 0; cut < Math.max(1, cuts / 20); cut++) {
        const one = await cutControl(disk)
        control.acknowledged += one.acknowledged
        control.lost += one.lost
      }
      return { ...books, control }
    } finally {
      await rig.remove()
    }
  } finally {
    disk.remove()
  }
}
