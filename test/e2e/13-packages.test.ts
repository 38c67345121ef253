/** What is handed out: the npm package in an empty folder, and the Debian package from install to purge. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { cleanEnv, ROOT } from '../parts/postern.js'

interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const run = (program: string, args: readonly string[], cwd = ROOT): Promise<Ran> =>
  new Promise((resolve) =>
    execFile(program, args, { cwd, env: cleanEnv(), maxBuffer: 1 << 26 }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    ),
  )

const must = async (program: string, args: readonly string[], cwd = ROOT): Promise<Ran> => {
  const ran = await run(program, args, cwd)
  if (ran.code !== 0)
    throw new Error(`${program} ${args.join(' ')}: ${ran.code}\n${ran.stdout}\n${ran.stderr}`)
  return ran
}

const dir = mkdtempSync(join(tmpdir(), 'postern-packages-'))
t.teardown(() => rmSync(dir, { recursive: true, force: true }))

const FREE = {
  POSTERN_HTTP__PORT: '0',
  POSTERN_MANAGEMENT__PORT: '0',
  POSTERN_BOUNCE__PORT: '0',
  POSTERN_SUBMISSION__0__PORT: '0',
  POSTERN_SUBMISSION__1__PORT: '0',
}

/** Runs a command until it prints a line like this, then stops it with SIGTERM. */
const untilSaid = async (
  command: readonly string[],
  cwd: string,
  pattern: RegExp,
  env = {},
): Promise<Ran> => {
  const [program = '', ...args] = command
  const child = spawn(program, args, {
    cwd,
    env: cleanEnv({ ...FREE, ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      output += `${line}\n`
      if (pattern.test(line)) child.kill()
    })
  }
  const [code] = await once(child, 'close')
  return { code: code as number, stdout: output, stderr: '' }
}

t.test('npm: only what runs, and `postern dev` in an empty folder', async (t) => {
  const packed = await must('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', dir])
  const [{ filename, files }] = JSON.parse(packed.stdout) as [{ filename: string; files: { path: string }[] }]
  const paths = files.map(({ path }) => path)
  for (const path of [
    'bin/postern',
    'config/postern.yaml',
    'systemd/postern.service',
    'README.md',
    'LICENSE',
  ]) {
    t.ok(paths.includes(path), path)
  }
  const strange = paths.filter(
    (path) => !/^(bin|config|systemd)\/|^dist\/src\/.*\.js$|^(README\.md|LICENSE|package\.json)$/.test(path),
  )
  t.strictSame(strange, [])

  await must('tar', ['xzf', filename], dir)
  // its dependencies, as `npm install` puts them beside it
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'))
  const empty = join(dir, 'empty')
  mkdirSync(empty)
  const command = [process.execPath, join(dir, 'package', 'bin', 'postern'), 'dev']
  const { code, stdout } = await untilSaid(command, empty, /^Watch:/)
  t.equal(code, 0, stdout)
  t.match(stdout, /dev mode: mail is captured/)
  t.strictSame(readdirSync(empty), ['data'])
})

const lacking = ['/usr/bin/dpkg-deb', '/usr/bin/strip', '/usr/bin/systemd-sysusers'].filter(
  (file) => !existsSync(file),
)
const noDeb =
  lacking.length > 0
    ? `${lacking.join(' and ')} not installed`
    : process.getuid?.() === 0
      ? false
      : 'dpkg --root needs root'

t.test('deb: install, start, upgrade, purge', { skip: noDeb }, async (t) => {
  const built = await must(join(ROOT, 'systemd', 'build-deb.sh'), [dir])
  const deb = /'([^']+\.deb)'/.exec(built.stdout)?.[1] ?? ''
  t.ok(existsSync(deb), built.stdout)
  const root = join(dir, 'root')
  for (const folder of ['var/lib/dpkg/info', 'var/lib/dpkg/updates', 'etc']) {
    mkdirSync(join(root, folder), { recursive: true })
  }
  for (const file of ['status', 'available']) writeFileSync(join(root, 'var/lib/dpkg', file), '')
  const dpkg = (...args: readonly string[]) =>
    must('dpkg', [
      `--root=${root}`,
      '--force-script-chrootless',
      '--force-depends',
      '--force-confold',
      ...args,
    ])

  await dpkg('-i', deb)
  t.match(readFileSync(join(root, 'etc/passwd'), 'utf8'), /^postern:.*:\/usr\/sbin\/nologin$/m)
  const unit = readFileSync(join(root, 'usr/lib/systemd/system/postern.service'), 'utf8')
  const exec = /^ExecStart=(.+)$/m.exec(unit)?.[1]?.split(' ') ?? []
  const conf = join(root, 'etc/postern/postern.yaml')
  const command = exec.map((word) => (word.startsWith('/') ? join(root, word) : word))
  const env = { POSTERN_DATA_DIR: join(root, 'var/lib/postern') }
  const served = await untilSaid(command, root, /"listening"/, env)
  t.equal(served.code, 0, served.stdout)
  t.ok(existsSync(join(root, 'var/lib/postern/postern.db')))
  t.match((await must('zcat', [join(root, 'usr/share/man/man1/postern.1.gz')])).stdout, /^\.TH/m)

  appendFileSync(conf, '\nlog: {level: debug}\n')
  await dpkg('-i', deb)
  t.match(readFileSync(conf, 'utf8'), /level: debug/, 'an upgrade keeps what was configured')
  const again = await untilSaid(command, root, /"listening"/, env)
  t.equal(again.code, 0, again.stdout)

  await dpkg('--purge', 'postern')
  const left = (await must('find', [root, '-name', '*postern*', '-not', '-path', '*/dpkg/*'])).stdout
  t.equal(left, '')
  t.notMatch(readFileSync(join(root, 'etc/passwd'), 'utf8'), /postern/)
})

t.test(
  'deb: lintian finds no error',
  { skip: noDeb || (existsSync('/usr/bin/lintian') ? false : 'lintian is not installed') },
  async (t) => {
    const deb = readdirSync(dir).find((name) => name.endsWith('.deb')) ?? ''
    const { stdout } = await run('lintian', ['--fail-on', 'error', join(dir, deb)])
    t.strictSame(
      stdout.split('\n').filter((line) => line.startsWith('E:')),
      [],
    )
  },
)
