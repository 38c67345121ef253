/**
 * The negative control of the power cut: the same writes with the library's own
 * default. Prints each id after its commit; a disk that tells the truth loses some.
 */
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '../../src/store/sqlite/connect.js'

const [dataDir = ''] = process.argv.slice(2)
const db = new Database(join(dataDir, 'control.db'))
db.pragma('journal_mode = WAL')
db.pragma('synchronous = NORMAL')
db.pragma('wal_autocheckpoint = 1000000') // a checkpoint would sync what was acknowledged long ago
db.exec('CREATE TABLE IF NOT EXISTS mails (id TEXT PRIMARY KEY, raw BLOB)')
const put = db.prepare('INSERT INTO mails VALUES (?, ?)')
for (let i = 0; ; i++) {
  const id = `${process.pid}-${i}`
  put.run(id, Buffer.alloc(2000, 'x'))
  writeSync(1, `accepted ${id}\n`)
}
