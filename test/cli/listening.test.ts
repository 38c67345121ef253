/** Where a daemon listens is noted in its folder; where the disk has no room for the note, it serves all the same. */
import { existsSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { noteListening } from '../../src/cli/listening.js'
import { readConfig } from '../../src/config/load.js'
import { smallDisk } from '../parts/mount.js'

const disk = smallDisk(8, 64)
const why = typeof disk === 'string' ? disk : false
t.teardown(() => typeof disk !== 'string' && disk.remove())

t.test('a disk without names of files', { skip: why }, async (t) => {
  const folder = typeof disk === 'string' ? '' : disk.path
  const dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  const config = { ...readConfig(null), data_dir: dataDir }
  const file = join(dataDir, 'listening.json')
  const lines: unknown[] = []
  const log = { warn: (...said: unknown[]) => void lines.push(said) }
  const ports = (http: number) => ({ http, submission: [], bounce: 0, management: 0 })
  // of one that was killed
  noteListening(config, ports(1), log)
  t.match(JSON.parse(readFileSync(file, 'utf8')), { ports: { http: 1 } })
  for (let n = statfsSync(folder).ffree; n > 0; n--) writeFileSync(join(folder, `filler${n}`), '')
  const forget = noteListening(config, ports(2), log)
  t.equal(lines.length, 1)
  t.notOk(existsSync(file), 'what it said is not so any more')
  rmSync(join(folder, 'filler1'))
  forget()
})
