/** A data folder moves into PostgreSQL and back, by the command line, with a daemon before and after. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cleanEnv, Postern, ROOT } from '../parts/postern.js'
import { noPostgres, postgres } from '../parts/postgres.js'
import { needsFile } from '../parts/store.js'

t.test('store move', { skip: needsFile || noPostgres() }, async (t) => {
  const server = await postgres()
  const here = new Postern()
  t.teardown(() => here.remove())
  await here.start()
  const urlFile = join(here.dir, 'url')
  writeFileSync(urlFile, server.database(), { mode: 0o600 })
  const key = await here.key('--mode', 'test')
  const mail = { from: 'a@acme.test', to: 'delivered@example.com', subject: 'It moves', text: 'hello' }
  const { status, body } = await here.api('POST', '/v1/emails', key, mail)
  t.equal(status, 202)
  await here.until(key, body.id, ['delivered'])
  t.match(await here.cli('store', 'move', '--to', urlFile), { code: 75, stderr: /another daemon is running/ })
  await here.stop()

  const [kept] = await here.json('email', 'list')
  const moved = await here.cli('store', 'move', '--to', urlFile)
  t.match(
    moved,
    { code: 0, stdout: /^moved to 127.*: 1 mails\n/, stderr: /driver: postgres, url_file: / },
    moved.stderr,
  )
  t.match(await here.cli('email', 'list'), {
    code: 78,
    stderr: /moved to PostgreSQL at 127.*store\.driver postgres/,
  })
  await t.rejects(here.start(), /serve ended with 78:[\s\S]*moved to PostgreSQL/)

  const there = new Postern({ store: { driver: 'postgres', url_file: urlFile } }, here.dir)
  t.same((await there.json('email', 'list'))[0], kept)
  t.match(await there.cli('store', 'move', '--to', urlFile), { code: 65, stderr: /is in 127.* already/ })
  t.match(await there.cli('store', 'move', '--to', urlFile, '--undo'), { code: 0, stdout: /^back from 127/ })
  t.match(await there.cli('email', 'list'), {
    code: 78,
    stderr: /went back to .*: serve it there, .*or name another database/,
  })
  t.same((await new Postern({}, here.dir).json('email', 'list'))[0], kept)

  // whoever reads has gone before the first word
  writeFileSync(urlFile, server.database(), { mode: 0o600 })
  const unread = spawn(
    'bin/postern',
    ['store', 'move', '--config', join(here.dir, 'postern.yaml'), '--to', urlFile],
    {
      cwd: ROOT,
      env: cleanEnv(),
    },
  )
  for (const stream of [unread.stdout, unread.stderr]) stream.destroy()
  t.same(await once(unread, 'exit'), [0, null])
  const again = new Postern({ store: { driver: 'postgres', url_file: urlFile } }, here.dir)
  t.same((await again.json('email', 'list'))[0], kept, 'the move is whole')
})
