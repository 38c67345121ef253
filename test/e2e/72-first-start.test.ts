/** Two machines begin at once on one empty database, each with a pepper of its own: one is the first, the other is told. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Postern } from '../parts/postern.js'
import { noPostgres, postgres } from '../parts/postgres.js'

t.test('two peppers', { skip: noPostgres(), timeout: 120_000 }, async (t) => {
  const urls = (await postgres()).database()
  const both = [1, 2].map(() => {
    const postern = new Postern({ store: { driver: 'postgres', url_file: 'database.url' } })
    writeFileSync(join(postern.dir, 'database.url'), urls, { mode: 0o600 })
    mkdirSync(join(postern.dir, 'data'), { mode: 0o700 })
    writeFileSync(join(postern.dir, 'data', 'pepper'), randomBytes(32), { mode: 0o600 })
    t.teardown(() => postern.remove())
    return postern
  })
  const ends = await Promise.all(
    both.map((postern) =>
      postern.start().then(
        () => 'serves',
        (error: Error) => error.message,
      ),
    ),
  )
  const first = ends.indexOf('serves')
  t.not(first, -1, ends.join('\n'))
  t.match(
    ends[1 - first],
    /^serve ended with 78:\n.*pepper is not the one of this database.*put the right one back/s,
  )
  const key = await (both[first] as Postern).key()
  t.equal((await (both[first] as Postern).api('GET', '/v1/emails', key)).status, 200)
  t.match(await (both[1 - first] as Postern).start().catch((error: Error) => error.message), /ended with 78/)
})
