/**
 * The package of a release over that of the one before: the new program is there, and the database is carried over with a
 * copy of what it was. The newer one is the same code with one more step of the schema.
 */
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { buildWith } from '../parts/another-build.js'
import { debianRoot, noDeb, UNPACKED } from '../parts/debian-root.js'
import { ROOT } from '../parts/postern.js'
import { must, run, untilSaid } from '../parts/run.js'

const dir = mkdtempSync(join(tmpdir(), 'postern-upgrade-'))
t.teardown(() => rmSync(dir, { recursive: true, force: true }))

const packageOf = async (tree: string, name: string): Promise<string> => {
  const out = join(dir, name)
  mkdirSync(out)
  await must(join(tree, 'systemd', 'build-deb.sh'), [out], tree, UNPACKED)
  return join(out, readdirSync(out)[0] ?? '')
}

t.test('a release over the one before', { skip: noDeb, timeout: 280_000 }, async (t) => {
  const { root, dpkg } = debianRoot(dir)
  const before = await packageOf(ROOT, 'before')
  const more = { sqlite: ['CREATE TABLE novelties (id TEXT PRIMARY KEY)'] }
  const after = await packageOf(buildWith(t, '99.0.0', more), 'after')

  const program = join(root, 'usr/lib/postern/postern.js')
  const data = join(dir, 'data')
  const node = join(root, 'usr/lib/postern/bin/node')
  const env = { POSTERN_DATA_DIR: data, POSTERN_PEPPER_FILE: join(root, 'etc/postern/pepper') }
  const conf = join(root, 'etc/postern/postern.yaml')
  const serve = () => untilSaid([node, program, 'serve', '--config', conf], dir, /"listening"/, env)
  const about = async () => JSON.parse((await must(node, [program, 'version', '--json'])).stdout)

  await dpkg('-i', before)
  const old = await about()
  const version = (await must('node', ['systemd/release/version.mjs'])).stdout.trim()
  t.match(old, { version })
  const head = await run('git', ['rev-parse', '--short=12', 'HEAD'])
  if (head.code === 0) t.match(old.commit, head.stdout.trim())
  const first = await serve()
  t.equal(first.code, 0, first.stdout)
  appendFileSync(conf, '\nlog: {level: debug}\n')

  // apt takes what has the same version for what is there, and so does dpkg with this word
  await dpkg('--skip-same-version', '-i', after)
  t.match(await about(), { version: '99.0.0', schema: { sqlite: old.schema.sqlite + 1 } })
  t.match(readFileSync(conf, 'utf8'), /level: debug/)
  const upgraded = await serve()
  t.equal(upgraded.code, 0, upgraded.stdout)
  const copies = readdirSync(data).filter((name) => name.startsWith('before-migration-'))
  t.equal(copies.length, 1, 'a copy of the database as it was')

  // back to the one before: it names the release that the database wants, and takes the copy
  await dpkg('-i', before)
  const refused = await serve()
  t.equal(refused.code, 78)
  t.match(refused.stdout, /this Postern knows \d+: install Postern 99\.0\.0 or newer/)
  const words = ['POSTERN_DATA_DIR', 'POSTERN_PEPPER_FILE'].map(
    (name) => `${name}=${env[name as keyof typeof env]}`,
  )
  await must('env', [
    ...words,
    node,
    program,
    'restore',
    join(data, copies[0] ?? ''),
    '--yes',
    '--config',
    conf,
  ])
  const again = await serve()
  t.equal(again.code, 0, again.stdout)
})
