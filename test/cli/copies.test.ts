/** Copies of the database: made, refused, put back; and what a newer version left behind. */
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { newId } from '../../src/base/id.js'
import { openWriter, takeDaemonLock } from '../../src/store/sqlite/connect.js'
import { makeEarlier } from '../parts/earlier.js'
import { needsFile } from '../parts/store.js'
import { accepted, claimOne, filterOf, HOUR, ofLease, page, scopeOf } from '../store/fixture.js'
import { openDesk, postern } from './desk.js'
import { withStore } from './waiting.js'

t.test('there and back', { skip: needsFile }, async (t) => {
  const desk = openDesk(t)
  const copy = join(desk.dir, 'copy.db')
  t.match(await desk.run(['backup', copy]), { code: 74, stderr: /there is no database yet/ })
  await desk.json(['workspace', 'create', 'Before'])
  t.match(await desk.json(['backup', copy]), { file: copy, schema_version: Number })
  t.equal(statSync(copy).mode & 0o777, 0o600)
  t.match(await desk.run(['backup', copy]), { code: 73, stderr: /exists already; --yes replaces it/ })
  await desk.json(['workspace', 'create', 'After'])

  t.match(await desk.run(['restore', copy]), { code: 64, stderr: /--yes/ })
  t.match(await desk.run(['restore', copy, '--dry-run']), { code: 0, stdout: /would be restored/ })
  t.equal((await desk.json(['workspace', 'list'])).length, 3, 'nothing was changed')
  const unlock = takeDaemonLock(join(desk.dir, 'data'))
  t.match(await desk.run(['restore', copy, '--yes']), { code: 75, stderr: /another daemon is running/ })
  unlock()
  const restored = await desk.json(['restore', copy, '--yes'])
  t.match(
    (await desk.json(['workspace', 'list'])).map(({ slug }: { slug: string }) => slug),
    ['before', 'default'],
  )
  t.ok(existsSync(join(restored.previous, 'postern.db')), 'what was there is kept')
  t.same(
    readdirSync(join(desk.dir, 'data')).filter((name) => name.startsWith('restore-')),
    [],
  )
})

t.test('no copy is made inside the data folder, whatever it is called', { skip: needsFile }, async (t) => {
  const desk = openDesk(t)
  await desk.json(['workspace', 'create', 'Kept'])
  const data = join(desk.dir, 'data')
  const database = join(data, 'postern.db')
  const { ino } = statSync(database)
  mkdirSync(join(data, 'copies'))
  symlinkSync(data, join(desk.dir, 'elsewhere'))
  symlinkSync(join(data, 'copies'), join(desk.dir, 'copies'))
  for (const target of [
    database,
    join(data, 'postern.db-wal'),
    join(data, 'copy.db'),
    join(data, 'copies', 'a.db'),
    join(desk.dir, 'elsewhere', 'postern.db'),
    join(desk.dir, 'copies', 'a.db'),
  ]) {
    t.match(await desk.run(['backup', target, '--yes']), { code: 73, stderr: /is inside data_dir/ }, target)
  }
  t.equal(statSync(database).ino, ino)
  t.same(readdirSync(join(data, 'copies')), [])

  linkSync(database, join(desk.dir, 'second-name.db'))
  symlinkSync(database, join(desk.dir, 'link.db'))
  for (const name of ['second-name.db', 'link.db']) {
    await desk.json(['backup', join(desk.dir, name), '--yes'])
    t.equal(statSync(database).ino, ino, `${name} was replaced, and not what it named`)
  }
  t.equal((await desk.json(['workspace', 'list'])).length, 2)
})

t.test('a folder, a device or a pipe is never replaced by a copy', { skip: needsFile }, async (t) => {
  const desk = openDesk(t)
  await desk.json(['workspace', 'create', 'Kept'])
  const folder = join(desk.dir, 'folder')
  mkdirSync(folder)
  const pipe = join(desk.dir, 'pipe')
  t.equal(spawnSync('mkfifo', [pipe]).status, 0)
  const link = join(desk.dir, 'null')
  symlinkSync('/dev/null', link)
  for (const target of [folder, pipe, link]) {
    const refused = { code: 73, stderr: /is no ordinary file/ }
    t.match(await desk.run(['backup', target, '--yes']), refused, target)
    t.notOk(statSync(target).isFile(), target)
  }
})

t.test(
  'two copies to one file at once: it is whole, and nothing is left beside it',
  { skip: needsFile },
  async (t) => {
    const desk = openDesk(t)
    await desk.json(['workspace', 'create', 'Kept'])
    const copy = join(desk.dir, 'copy.db')
    // what a copy that was killed left behind, with a journal that must not be played into the next one
    const [gone] = [spawnSync('true').pid]
    for (const left of ['', '-journal']) desk.file(`copy.db.${gone}.part${left}`, 'cut off')
    desk.file('copy.db.part', 'somebody else’s')
    const backup = () => postern(['backup', copy, '--yes', '--config', desk.configFile])
    for (const { code, stderr } of await Promise.all([backup(), backup(), backup()])) t.equal(code, 0, stderr)
    t.same(
      readdirSync(desk.dir).filter((name) => name.startsWith('copy.db')),
      ['copy.db', 'copy.db.part'],
    )
    t.match(await desk.run(['restore', copy, '--dry-run']), { code: 0 })
  },
)

t.test('what is no copy is refused, and nothing is touched', { skip: needsFile }, async (t) => {
  const desk = openDesk(t)
  await desk.json(['workspace', 'create', 'Kept'])
  t.match(await desk.run(['restore', desk.configFile, '--yes']), { code: 74, stderr: /not a database/ })
  t.match(await desk.run(['restore', join(desk.dir, 'nothing'), '--yes']), {
    code: 74,
    stderr: /no such file/,
  })
  const foreign = join(desk.dir, 'foreign.db')
  const db = openWriter(foreign)
  db.exec('CREATE TABLE bookmarks (url TEXT)')
  db.close()
  for (const file of [desk.file('empty', ''), foreign]) {
    t.match(await desk.run(['restore', file, '--yes']), { code: 74, stderr: /is no copy made by postern/ })
  }
  t.equal((await desk.json(['workspace', 'list'])).length, 2)
  t.notOk(readdirSync(join(desk.dir, 'data')).some((name) => name.startsWith('before-restore')))
})

t.test('with its secrets, a copy is all that a new machine needs', { skip: needsFile }, async (t) => {
  const here = openDesk(t)
  await here.json(['workspace', 'create', 'Moved'])
  await here.json(['bounce', 'rotate-key', '--yes'])
  const [plain, whole] = [join(here.dir, 'plain.db'), join(here.dir, 'whole.db')]
  t.same((await here.json(['backup', plain])).files, [])
  const said = await here.run(['backup', whole, '--with-secrets'])
  t.match(said, { code: 0, stderr: /holds the pepper/ })
  t.equal(statSync(whole).mode & 0o777, 0o600)
  const pepper = readFileSync(join(here.dir, 'data', 'pepper'))
  t.notOk(readFileSync(plain).includes(pepper))
  t.ok(readFileSync(whole).includes(pepper))

  const there = openDesk(t)
  await there.json(['restore', whole, '--yes'])
  const data = join(there.dir, 'data')
  t.same(readFileSync(join(data, 'pepper')), pepper)
  t.equal(statSync(join(data, 'pepper')).mode & 0o777, 0o600)
  t.match(await there.json(['bounce', 'rotate-key', '--dry-run']), { current: '2', retired: [{ id: '1' }] })
  t.notOk(readFileSync(join(data, 'postern.db')).includes(pepper), 'no secret stays in the database')
  t.equal((await there.json(['workspace', 'list'])).length, 2)
})

t.test(
  'what waits in a copy is held when it is restored, unless --send says otherwise',
  { skip: needsFile },
  async (t) => {
    const desk = openDesk(t)
    await desk.json(['workspace', 'list'])
    const key = await desk.json(['key', 'create', '--workspace', 'default', '--name', 'app'])
    const now = Date.now()
    const waiting = await withStore(desk, async (store, at) => {
      await store.createSession({
        ...{ id: newId('ses'), accountId: at.accountId, userId: null, lookup: 'l', hash: Buffer.from('h') },
        ...{ createdAt: now, lastSeenAt: now, expiresAt: now + HOUR, idleMs: HOUR, role: 'owner' },
        ...{ provider: 'cli', address: null, userAgent: null, oidc: null },
      })
      const later = await accepted(store, at, { createdAt: now, scheduledAt: now + HOUR })
      return { queued: await accepted(store, at, { createdAt: now }), later, at }
    })
    await desk.json(['user', 'create', 'ana@x.test', '--role', 'owner'])
    const copy = join(desk.dir, 'night.db')
    await desk.json(['backup', copy])
    const claimed = await withStore(desk, async (store, at) => {
      const one = await claimOne(store, at, now + 1)
      await store.settle([ofLease(one)])
      await store.recover('earlier', now)
      return one
    })
    t.equal(claimed.emailId, waiting.queued.id, 'it is sent after the copy was made')

    t.match(await desk.json(['restore', copy, '--yes', '--dry-run']), { held: 2 })
    const said = await desk.json(['restore', copy, '--yes'])
    t.match(said, { held: 2, due: 0, sessions_ended: 1, credentials: [] })
    t.match(said.keys, [{ id: key.id, name: 'app' }])
    t.match(said.people, [{ name: 'ana@x.test owner' }])
    await withStore(desk, async (store, at) => {
      t.same(await store.claim(at.poolId, 9, now + 9 * HOUR, now + 8 * HOUR), [], 'nothing is sent twice')
      t.equal(await store.sessionByLookup('l'), null)
      t.match((await store.events(waiting.queued.id, page())).rows[0], {
        reason: 'restored',
        source: 'operator',
      })
      t.equal(await store.reschedule(scopeOf(at), waiting.later.id, now + 2 * HOUR, now), 'done')
      t.same(await store.claim(at.poolId, 9, now + 9 * HOUR, now + 8 * HOUR), [], 'nor a new appointment')
    })
    await desk.json(['queue', 'release', '--all', '--reason', 'it was lost', '--yes'])
    await withStore(desk, async (store, at) => {
      t.equal((await store.claim(at.poolId, 9, now + 9 * HOUR, now + 8 * HOUR)).length, 2)
    })

    t.match(await desk.json(['restore', copy, '--yes', '--send']), { held: 0, due: 2 })
    await withStore(desk, async (store, at) => {
      t.equal((await claimOne(store, at, now + 1)).emailId, waiting.queued.id)
      const mark = (await store.emails(filterOf(at), page())).newer
      await accepted(store, at, { createdAt: now })
      t.ok(Number((await store.emails(filterOf(at), page())).newer) > Number(mark))
    })
  },
)

t.test('an older schema is copied first, and the newest copies are kept', { skip: needsFile }, async (t) => {
  const desk = openDesk(t)
  const data = join(desk.dir, 'data')
  const copies = () => readdirSync(data).filter((name) => name.startsWith('before-migration-'))
  for (let i = 0; i < 5; i++) {
    for (const name of ['postern.db', 'postern.db-wal']) rmSync(join(data, name), { force: true })
    makeEarlier(data, '0.9.0')
    t.match(await desk.json(['migrate']), { from: 43, copy: /before-migration-43-/ })
  }
  const kept = copies()
  t.equal(kept.length, 3)
  // of migrations that were cut off while they copied
  for (let i = 0; i < 4; i++)
    for (const left of ['', '-journal'])
      desk.file(`data/before-migration-43-later.db.${i}.part${left}`, 'cut off')
  for (const name of ['postern.db', 'postern.db-wal']) rmSync(join(data, name), { force: true })
  makeEarlier(data, '0.9.0')
  await desk.json(['migrate'])
  t.equal(copies().length, 3, 'their remains go')
  t.equal(copies().filter((name) => kept.includes(name)).length, 2, 'and take no copy along')
})

t.test('what is older than 0.9.0 is refused, and not touched', { skip: needsFile }, async (t) => {
  const desk = openDesk(t)
  const older = join(desk.dir, 'older')
  makeEarlier(older, '0.9.0')
  const copy = join(older, 'postern.db')
  const set = (version: number): void => {
    const db = openWriter(copy)
    db.pragma(`user_version = ${version}`)
    db.pragma('journal_mode = DELETE')
    db.close()
  }
  set(42)
  const bytes = readFileSync(copy)
  const refused = {
    code: 78,
    stderr:
      /^postern: the database has schema version 42, this Postern opens 43 and newer: open it once with Postern 0\.9 or 0\.10, then with this one\n$/,
  }
  await desk.json(['workspace', 'create', 'Kept'])
  t.match(await desk.run(['restore', copy, '--yes']), refused)
  t.match(await desk.run(['restore', copy, '--dry-run']), refused)
  t.equal((await desk.json(['workspace', 'list'])).length, 2, 'what was there stands')

  const there = openDesk(t, `data_dir: ${older}\n`)
  for (const words of [
    ['migrate'],
    ['workspace', 'list'],
    ['store', 'move', '--to', there.file('url', 'postgres://u:p@127.0.0.1:9/d')],
  ])
    t.match(await there.run(words), refused, words.join(' '))
  t.match(await there.run(['doctor']), { code: 78, stdout: /schema 42 was made before 0\.9\.0/ })
  t.ok(readFileSync(copy).equals(bytes))
  t.notOk(readdirSync(older).some((name) => name.startsWith('before-migration-')))

  set(43)
  const empty = openDesk(t)
  mkdirSync(join(empty.dir, 'data'), { mode: 0o700 })
  copyFileSync(join(older, 'pepper'), join(empty.dir, 'data', 'pepper'))
  await empty.json(['restore', copy, '--yes'])
  const slugs = (await empty.json(['workspace', 'list'])).map(({ slug }: { slug: string }) => slug)
  t.ok(slugs.includes('waiting'), 'a copy that 0.9.0 made is restored')
})

t.test('migrate --compact gives room back, now and from then on', { skip: needsFile }, async (t) => {
  const desk = openDesk(t)
  await desk.json(['workspace', 'create', 'Kept'])
  const data = join(desk.dir, 'data')
  const file = join(data, 'postern.db')
  const db = openWriter(file)
  db.pragma('journal_mode = DELETE')
  db.pragma('auto_vacuum = NONE')
  db.exec(
    'VACUUM; CREATE TABLE ballast (bytes BLOB); INSERT INTO ballast VALUES (zeroblob(4000000)); DROP TABLE ballast',
  )
  t.equal(db.pragma('auto_vacuum', { simple: true }), 0)
  db.close()
  const unlock = takeDaemonLock(data)
  t.match(await desk.run(['migrate', '--compact']), { code: 75, stderr: /another daemon is running/ })
  unlock()
  const before = statSync(file).size
  const { bytes_before, bytes } = await desk.json(['migrate', '--compact'])
  t.equal(bytes_before, before)
  t.equal(bytes, statSync(file).size)
  t.ok(bytes < before - 3_900_000, `${before} became ${bytes}`)
  const after = openWriter(file)
  t.equal(after.pragma('auto_vacuum', { simple: true }), 2)
  after.close()
  t.equal((await desk.json(['workspace', 'list'])).length, 2)
})

t.test('migrate goes forward only', { skip: needsFile }, async (t) => {
  const desk = openDesk(t)
  await desk.json(['workspace', 'list'])
  t.match(await desk.json(['migrate']), { copy: null }, 'nothing to do, so no copy is kept')
  const db = openWriter(join(desk.dir, 'data', 'postern.db'))
  db.pragma('user_version = 99')
  db.close()
  t.match(await desk.run(['migrate']), { code: 78, stderr: /install Postern \d+\.\d+\.\d+ or newer/ })
  t.match(await desk.run(['workspace', 'list']), {
    code: 78,
    stderr: /^postern: the database has schema version 99/,
  })
})
