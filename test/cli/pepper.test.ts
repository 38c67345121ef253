/** A pepper that is not the database's is never used silently: commands, doctor and restore say so. */
import { copyFileSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { seal } from '../../src/base/secret.js'
import { needsFile } from '../parts/store.js'
import { factorOf } from '../store/contract-identity.js'
import { openDesk } from './desk.js'
import { withStore } from './waiting.js'

t.test('another pepper: refused by each command, named by doctor, accepted on demand', async (t) => {
  const desk = openDesk(t)
  const pepper = join(desk.dir, 'data', 'pepper')
  await desk.json(['key', 'create', '--workspace', 'default'])
  t.match(await desk.json(['pepper', 'show']), { file: pepper, fits: true })
  const findings = async () =>
    JSON.parse((await desk.run(['doctor', '--json'])).stdout).filter(
      ({ check }: { check: string }) => check === 'second factor',
    )
  const { id } = await desk.json(['user', 'create', 'ana@acme.test'], 'violet river under glass\n')
  const secret = seal(readFileSync(pepper), `second factor of ${id}`, 'JBSWY3DPEHPK3PXP')
  await withStore(desk, (store, { accountId }) =>
    store.addFactor(factorOf({ id, accountId }, { secret }), [], null),
  )
  t.same(await findings(), [], 'her app is sealed with this one')
  renameSync(pepper, join(desk.dir, 'right'))
  writeFileSync(pepper, Buffer.alloc(32, 1), { mode: 0o600 })

  const refused = await desk.run(['key', 'list'])
  t.equal(refused.code, 78)
  t.match(refused.stderr, /not the one of this database.*postern pepper accept/)
  t.equal((await desk.run(['pepper', 'show'])).code, 78)
  const { stdout, code } = await desk.run(['doctor', '--json'])
  t.equal(code, 78)
  t.match(
    JSON.parse(stdout).filter(({ check }: { check: string }) => check === 'pepper'),
    [{ result: 'fail', remedy: `cp /from/backup/pepper ${pepper}` }],
  )

  t.equal((await desk.run(['pepper', 'accept'])).code, 64, 'not without --yes')
  t.equal((await desk.run(['pepper', 'accept', '--dry-run'])).code, 0)
  t.equal((await desk.run(['key', 'list'])).code, 78)
  t.match(await desk.run(['pepper', 'accept', '--yes']), { code: 0, stderr: /user reset-factors/ })
  t.equal((await desk.run(['key', 'list'])).code, 0)
  const remedy = 'postern user reset-factors ana@acme.test'
  t.match(await findings(), [{ result: 'warn', detail: /^ana@acme\.test has an authenticator app/, remedy }])
  t.equal((await desk.run([...remedy.split(' ').slice(1), '--yes'])).code, 0)
  t.same(await findings(), [])
})

t.test('lost: said, and a new one only when asked', async (t) => {
  const desk = openDesk(t)
  await desk.json(['key', 'list'])
  unlinkSync(join(desk.dir, 'data', 'pepper'))
  const lost = await desk.run(['key', 'list'])
  t.equal(lost.code, 74)
  t.match(lost.stderr, /pepper is missing.*postern pepper accept/)
  t.notOk(readdirSync(join(desk.dir, 'data')).includes('pepper'))
  t.equal((await desk.run(['pepper', 'accept', '--yes'])).code, 0)
  t.match(await desk.json(['pepper', 'show']), { fits: true })
})

t.test('two peppers: doctor tells which is wrong by the mark in the database', async (t) => {
  const desk = openDesk(t, 'hostname: gw.postern.test\ndata_dir: data\npepper_file: etc/pepper\n')
  await desk.json(['key', 'list'])
  const stray = join(desk.dir, 'data', 'pepper')
  writeFileSync(stray, Buffer.alloc(32, 1), { mode: 0o600 })
  t.match(await desk.run(['key', 'list']), { code: 78, stderr: /two different peppers/ })
  const { stdout } = await desk.run(['doctor', '--json'])
  const found = JSON.parse(stdout).find(({ check }: { check: string }) => check === 'pepper')
  t.match(found, { result: 'fail', remedy: `mv ${stray} ${stray}.other` })
})

t.test('a copy is not restored beside another pepper', { skip: needsFile }, async (t) => {
  const [old, fresh] = [openDesk(t), openDesk(t)]
  const copy = join(old.dir, 'copy.db')
  await old.json(['key', 'create', '--workspace', 'default'])
  await old.json(['backup', copy])
  await fresh.json(['key', 'list'])
  const refused = await fresh.run(['restore', copy, '--yes'])
  t.equal(refused.code, 78)
  t.match(refused.stderr, /belongs to another pepper.*--any-pepper/)
  copyFileSync(join(old.dir, 'data', 'pepper'), join(fresh.dir, 'data', 'pepper'))
  t.equal((await fresh.run(['restore', copy, '--yes'])).code, 0)
  t.equal((await fresh.json(['key', 'list'])).length, 1)
})
