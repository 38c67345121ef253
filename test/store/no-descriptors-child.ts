/**
 * NAME      no-descriptors-child - a savepoint that touches many pages when no file can be opened any more
 * DESCRIPTION
 *   Argument: folder. Prints how many rows are left when the savepoint was taken back.
 */
import { execFileSync } from 'node:child_process'
import { openWriter, prepareFile } from '../../src/store/sqlite/connect.js'

const db = openWriter(prepareFile(process.argv[2] as string))
db.exec('CREATE TABLE t (a TEXT); CREATE INDEX t_a ON t (a)')
const add = db.prepare('INSERT INTO t VALUES (?)')
const addMany = (times: number): void => {
  for (let i = 0; i < times; i++) add.run(`${(i * 7919) % 10_007}`)
}
db.transaction(addMany)(10_000)
execFileSync('prlimit', [`--pid=${process.pid}`, '--nofile=4:4'])
db.exec('BEGIN; SAVEPOINT one')
addMany(1_000)
db.exec('ROLLBACK TO one; RELEASE one; COMMIT')
process.stdout.write(String(db.prepare('SELECT count(*) FROM t').pluck().get()))
