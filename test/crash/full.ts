/**
 * A disk without room, for blocks or for names of files, while mail is taken and while it is settled: the upstream is
 * away, so that mail waits; the disk fills; the upstream is back, and the outcomes have to be written down. In every second
 * cycle the daemon is killed then, and starts on the full disk.
 */
import { mkdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../parts/eventually.js'
import { smallDisk } from '../parts/mount.js'
import { type Books, Rig, type RigOptions } from './rig.js'

const ROOM_MIB = 96
/** Files that the disk may have, few enough to be made in a moment. */
const NAMES = 4_000

/** Takes all there is of it, again and again while it lasts. */
type Fill = (folder: string) => void

const blocks: Fill = (folder) => {
  const { bavail, bsize } = statfsSync(folder)
  try {
    writeFileSync(join(folder, 'filler'), Buffer.alloc(bavail * bsize), { flag: 'a' })
  } catch {
    // somebody else took the room: as full as can be
  }
}

const names: Fill = (folder) => {
  try {
    mkdirSync(join(folder, 'fillers'), { recursive: true })
    for (let n = statfsSync(folder).ffree; n > 0; n--)
      writeFileSync(join(folder, 'fillers', String(process.hrtime.bigint())), '')
  } catch {
    // the same
  }
}

const free = (folder: string): void => {
  for (const name of ['filler', 'fillers']) rmSync(join(folder, name), { recursive: true, force: true })
}

export interface FullBooks extends Books {
  /** Answers that were neither 202, 250 nor one that says there is no room. */
  readonly otherAnswers: readonly string[]
  readonly refused: number
  /** Starts on a full disk that were refused. */
  readonly refusedStarts: number
}

/** With no room: HTTP, SMTP. */
const NO_ROOM = /^(503 service\.unavailable|452 4\.3\.1 )/
/** A start that has nothing left to write on; a service manager tries it again. */
const NO_START = /ended with (74:\n.*data_dir is full; free some|73:\n.*postern doctor names)/

export const fullDisks = async (cycles: number, options: RigOptions): Promise<FullBooks | string> => {
  const disk = smallDisk(ROOM_MIB, NAMES)
  if (typeof disk === 'string') return disk
  let refusedStarts = 0
  const answers: string[] = []
  try {
    const settings = { limits: { min_free_disk: 0 } } // the mark would keep the disk from ever being full
    const rig = await Rig.start({ ...options, settings, dataDir: join(disk.path, 'data') })
    try {
      await rig.cycles(cycles, async (cycle) => {
        const fill = Math.floor(cycle / 2) % 2 === 0 ? blocks : names
        const kills = cycle % 2 === 1
        for (const mx of rig.mxs) mx.isAway = true
        await rig.flows() // what waits now
        const before = rig.load.refusals.length
        const fills = setInterval(() => fill(disk.path), 20)
        try {
          await eventually('mail is refused', () => rig.load.refusals.length > before, {
            seen: () => rig.postern.output.slice(-5),
          })
          for (const mx of rig.mxs) mx.isAway = false
          await sleep(1_500 + options.random() * 1_000) // settling
          if (kills) {
            await rig.postern.stop('SIGKILL')
            await rig.restart().catch((error: Error) => {
              refusedStarts++
              if (!NO_START.test(error.message)) answers.push(`start: ${error.message.slice(0, 300)}`)
            })
            await sleep(500)
          }
        } finally {
          clearInterval(fills)
        }
        free(disk.path)
        const ended = await Promise.race([rig.postern.ended, sleep(0, 'runs')])
        if (ended !== 'runs') {
          if (!kills) rig.otherEnds.push(`ended with ${ended}`)
          await rig.restart()
        }
        await rig.flows()
      })
      const books = await rig.books()
      const said = rig.load.refusals.map((one) => one.said)
      return {
        ...books,
        refused: said.length,
        refusedStarts,
        otherAnswers: [...new Set([...said.filter((one) => !NO_ROOM.test(one)), ...answers])],
      }
    } finally {
      await rig.remove()
    }
  } finally {
    disk.remove()
  }
}
