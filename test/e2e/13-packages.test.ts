/** What is handed out: the npm package in an empty folder, and the Debian package from install to purge. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { debianRoot, noDeb, UNPACKED } from '../parts/debian-root.js'
import { eventually } from '../parts/eventually.js'
import { COMPILERS, failing, isOldNode, otherNode } from '../parts/other-node.js'
import { cleanEnv, ROOT } from '../parts/postern.js'
import { noPostgres } from '../parts/postgres.js'
import { FREE, must, run, untilSaid } from '../parts/run.js'
import { servesOnPostgres } from '../parts/serves-on-postgres.js'

const dir = mkdtempSync(join(tmpdir(), 'postern-packages-'))
t.teardown(() => rmSync(dir, { recursive: true, force: true }))

const packed = (await must(join(ROOT, 'systemd', 'build-npm.sh'), [dir])).stdout.trim()

t.test('npm: only what runs, and `postern dev` in an empty folder', async (t) => {
  const listed = (await must('tar', ['-tzf', packed])).stdout.trim().split('\n')
  const paths = listed.map((path) => path.replace(/^package\//, ''))
  for (const path of [
    'bin/postern',
    'bin/native/install.mjs',
    'bin/native/node20/package-lock.json',
    'config/postern.yaml',
    'systemd/postern.service',
    'README.md',
    'LICENSE',
  ]) {
    t.ok(paths.includes(path), path)
  }
  const meant =
    /^config\/|^systemd\/(?!build|bundle|release)|^bin\/(?!.*node_modules)|^dist\/run\/[\w-]+\.js(\.map)?$|^dist\/run\/licences\.txt$|^(README\.md|LICENSE|package\.json)$/
  t.strictSame(
    paths.filter((path) => !meant.test(path)),
    [],
  )

  const user = join(dir, 'user')
  mkdirSync(user)
  // the older driver would be compiled for a minute: what the checkout compiled for this Node stands in for it
  const words = ['--no-audit', '--no-fund', ...(isOldNode ? ['--ignore-scripts'] : [])]
  await must('npm', ['install', '--prefix', user, ...words, packed])
  const brought = readdirSync(join(user, 'node_modules')).filter((name) => !name.startsWith('.'))
  t.ok(brought.length <= 6, `few packages come along: ${brought}`)
  const installed = join(user, 'node_modules', 'postern')
  const newer = join(user, 'node_modules', 'better-sqlite3')
  t.equal(existsSync(newer), !isOldNode, 'npm brings the newer driver where it runs')
  rmSync(newer, { recursive: true, force: true })

  const said = await run(join(user, 'node_modules', '.bin', 'postern'), ['workspace', 'list'], user)
  t.match(said, { code: 78, stdout: '', stderr: /^postern: the SQLite driver for Node .* can not be loaded/ })
  const remedy = /; run: (npm .*)\n$/.exec(said.stderr)?.[1] ?? ''
  const native = join(installed, 'bin', 'native')
  if (isOldNode) {
    t.equal(remedy, `npm ci --prefix ${native}/node20`)
    symlinkSync(join(ROOT, 'bin', 'native', 'node20', 'node_modules'), join(native, 'node20', 'node_modules'))
  } else {
    const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    const version = optionalDependencies['better-sqlite3']
    t.equal(remedy, `npm install --no-save --prefix ${native} better-sqlite3@${version}`)
    await must('sh', ['-c', remedy])
  }

  const empty = join(dir, 'empty')
  mkdirSync(empty)
  const { code, stdout } = await untilSaid(
    [join(user, 'node_modules', '.bin', 'postern'), 'dev'],
    empty,
    /^Watch:/,
  )
  t.equal(code, 0, stdout)
  t.match(stdout, /dev mode: mail is captured/)
  t.strictSame(readdirSync(empty), ['data'])
  if (noPostgres() === false)
    await servesOnPostgres(t, { command: [join(user, 'node_modules', '.bin', 'postern'), 'serve'], dir })

  const npx = spawn('npx', ['postern', 'dev'], { cwd: user, env: cleanEnv(FREE), stdio: 'ignore' })
  const note = join(user, 'data', 'listening.json')
  await eventually('npx runs it', () => existsSync(note))
  npx.kill('SIGTERM')
  await eventually('a signal to npx ends the daemon', () => !existsSync(note))
})

t.test('npx: from the tarball alone to a relayed mail, with nothing compiled', async (t) => {
  const newer = isOldNode ? await otherNode(dir) : process.execPath
  const { folder, called } = failing(dir, COMPILERS)
  const alone = join(dir, 'alone')
  mkdirSync(alone)
  const began = Date.now()
  const npx = spawn('npx', ['--yes', '--package', packed, 'postern', 'dev'], {
    cwd: alone,
    env: cleanEnv({
      ...FREE,
      PATH: `${folder}:${dirname(newer)}:${process.env.PATH}`,
      HOME: alone,
      npm_config_cache: join(dir, 'cache-of-its-own'),
    }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => npx.kill('SIGKILL'))
  const lines: string[] = []
  for (const stream of [npx.stdout, npx.stderr])
    createInterface({ input: stream }).on('line', (line) => lines.push(line))
  const said = (pattern: RegExp) =>
    eventually(`it says ${pattern}`, () => lines.map((line) => pattern.exec(line)).find((one) => one), {
      ...{ ms: 120_000, seen: () => lines },
    })
  const [, api = ''] = await said(/API +(http:\S+)/)
  await said(/^Watch:/)
  const key = readFileSync(join(alone, 'data', 'dev.key'), 'utf8').trim()
  const answer = await fetch(`${api}/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'a@acme.test', to: 'you@example.com', subject: 'x', text: 'x' }),
  })
  const { id } = (await answer.json()) as { id: string }
  await said(new RegExp(`^${id} you@example\\.com .*delivered`))
  t.comment(`${Date.now() - began} ms from nothing to a relayed mail`)
  t.strictSame(called(), [], 'no compiler was called')
  npx.kill('SIGTERM')
  await once(npx, 'close')
})

t.test('deb: install, start, upgrade, purge', { skip: noDeb }, async (t) => {
  const built = await must(join(ROOT, 'systemd', 'build-deb.sh'), [dir], ROOT, UNPACKED)
  const deb = /'([^']+\.deb)'/.exec(built.stdout)?.[1] ?? ''
  t.ok(existsSync(deb), built.stdout)
  const { root, dpkg } = debianRoot(dir)

  await dpkg('-i', deb)
  const user = /^postern:.*:(\d+):(\d+):.*:\/usr\/sbin\/nologin$/m.exec(
    readFileSync(join(root, 'etc/passwd'), 'utf8'),
  )
  const [, uid, gid] = user ?? []
  t.ok(uid)
  chmodSync(dir, 0o711) // the daemon's user passes through
  // by the Node of the package, which its first line names at a place outside of this root
  const node = join(root, 'usr/lib/postern/bin/node')
  const unit = readFileSync(join(root, 'usr/lib/systemd/system/postern.service'), 'utf8')
  const exec = /^ExecStart=(.+)$/m.exec(unit)?.[1]?.split(' ') ?? []
  const conf = join(root, 'etc/postern/postern.yaml')
  // as its user, whose folder root does not serve, without the hooks of tap, which that user may not write for
  const asUser = [
    'setpriv',
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    'env',
    '-u',
    'NODE_OPTIONS',
  ]
  const command = [...asUser, node, ...exec.map((word) => (word.startsWith('/') ? join(root, word) : word))]
  const pepper = join(root, 'etc/postern/pepper')
  const env = { POSTERN_DATA_DIR: join(root, 'var/lib/postern'), POSTERN_PEPPER_FILE: pepper }
  t.match(unit, /^LoadCredential=pepper:\/etc\/postern\/pepper$/m)
  const made = readFileSync(pepper)
  t.equal(made.length, 32)
  t.equal(statSync(pepper).mode & 0o777, 0o640)
  const served = await untilSaid(command, root, /"listening"/, env)
  t.equal(served.code, 0, served.stdout)
  if (noPostgres() === false)
    await servesOnPostgres(t, { command, dir: root, uid: Number(uid), env: { POSTERN_PEPPER_FILE: pepper } })
  t.ok(existsSync(join(root, 'var/lib/postern/postern.db')))
  t.notOk(existsSync(join(root, 'var/lib/postern/pepper')), 'a copy of the data folder proves no key')
  for (const page of ['man1/postern.1', 'man5/postern.yaml.5']) {
    t.match((await must('zcat', [join(root, `usr/share/man/${page}.gz`)])).stdout, /^\.TH/m)
  }

  appendFileSync(conf, '\nlog: {level: debug}\n')
  await dpkg('-i', deb)
  t.match(readFileSync(conf, 'utf8'), /level: debug/, 'an upgrade keeps what was configured')
  t.same(readFileSync(pepper), made)
  const again = await untilSaid(command, root, /"listening"/, env)
  t.equal(again.code, 0, again.stdout)

  // a database whose pepper is gone gets no other one; one in the data folder moves out of it
  unlinkSync(pepper)
  await dpkg('-i', deb)
  t.notOk(existsSync(pepper))
  writeFileSync(join(root, 'var/lib/postern/pepper'), made, { mode: 0o600 })
  await dpkg('-i', deb)
  t.same(readFileSync(pepper), made)
  t.notOk(existsSync(join(root, 'var/lib/postern/pepper')))

  await dpkg('--remove', 'postern')
  t.ok(existsSync(join(root, 'var/lib/postern/postern.db')), 'removing keeps data, pepper and configuration')
  t.ok(existsSync(pepper))
  t.ok(existsSync(conf))
  await dpkg('--purge', 'postern')
  const left = (await must('find', [root, '-name', '*postern*', '-not', '-path', '*/dpkg/*'])).stdout
  t.equal(left, '')
  t.notMatch(readFileSync(join(root, 'etc/passwd'), 'utf8'), /postern/)
})

t.test(
  'one data folder by the package and by a checkout on an old Node in turns',
  { skip: noDeb },
  async (t) => {
    const deb = readdirSync(dir).find((name) => name.endsWith('.deb')) ?? ''
    const tree = join(dir, 'tree')
    await must('dpkg-deb', ['-x', join(dir, deb), tree])
    const depends = (await must('dpkg-deb', ['-f', join(dir, deb), 'Depends'])).stdout
    t.notMatch(depends, /node/, 'it brings its own')
    const cwd = join(dir, 'turns')
    mkdirSync(cwd)
    const lib = join(tree, 'usr/lib/postern')
    // each of the two SQLite drivers; the older one is in this checkout where its Node is that old
    const commands = [
      [join(lib, 'bin/node'), join(lib, 'postern.js')],
      [isOldNode ? process.execPath : await otherNode(dir), join(ROOT, 'bin/postern')],
    ]
    const said = ([program = '', ...words]: readonly string[], ...args: readonly string[]) =>
      must(program, [...words, ...args], cwd)

    const seen: string[] = []
    for (const turn of [0, 1, 2, 3]) {
      const command = commands[turn % 2] ?? []
      seen.push((await said(command, 'version')).stdout)
      await said(command, 'workspace', 'create', `turn-${turn}`)
      const served = await untilSaid([...command, 'dev'], cwd, /^Watch:/)
      t.equal(served.code, 0, served.stdout)
      const listed = JSON.parse((await said(command, 'workspace', 'list', '--json')).stdout) as {
        slug: string
      }[]
      t.equal(listed.filter(({ slug }) => slug.startsWith('turn-')).length, turn + 1)
      const copy = join(cwd, `copy-${turn}.db`)
      await said(command, 'backup', copy) // reads every page of the copy and checks it
      t.ok(existsSync(copy))
    }
    t.equal(new Set(seen).size, 2, `two Nodes took turns: ${seen.join('')}`)
  },
)

t.test(
  'deb: lintian finds no error',
  { timeout: 250_000, skip: noDeb || (existsSync('/usr/bin/lintian') ? false : 'lintian is not installed') },
  async (t) => {
    // without Node, which goes along as its makers publish it, and which it would read for a minute
    const deb = readdirSync(dir).find((name) => name.endsWith('.deb')) ?? ''
    const tree = join(dir, 'without-node')
    await must('dpkg-deb', ['-R', join(dir, deb), tree])
    const node = join(tree, 'usr/lib/postern/bin/node')
    rmSync(node)
    writeFileSync(node, '#!/bin/sh\n', { mode: 0o755 })
    const sums = join(tree, 'DEBIAN/md5sums')
    writeFileSync(sums, readFileSync(sums, 'utf8').replace(/^.* usr\/lib\/postern\/bin\/node\n/m, ''))
    const small = join(dir, 'small.deb')
    await must('dpkg-deb', ['--root-owner-group', '-Zgzip', '-z1', '--build', tree, small])
    const { stdout } = await run('lintian', ['--fail-on', 'error', small])
    t.strictSame(
      stdout.split('\n').filter((line) => line.startsWith('E:')),
      [],
    )
  },
)
