/** The single executable, alone in an empty folder: it takes mail by both doors, captures it, and leaves nothing behind. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { cleanEnv, ROOT } from '../parts/postern.js'
import { noPostgres } from '../parts/postgres.js'
import { FREE, must, type Ran, run, untilSaid } from '../parts/run.js'
import { servesOnPostgres } from '../parts/serves-on-postgres.js'

const dir = mkdtempSync(join(tmpdir(), 'postern-executable-'))
t.teardown(() => rmSync(dir, { recursive: true, force: true }))
const built = await must(join(ROOT, 'systemd', 'build-sea.sh'), [dir])
const made = built.stdout.trim().split('\n').at(-1) ?? ''
t.match(
  readFileSync(`${made}.licences.txt`, 'utf8'),
  /better-sqlite3 \d/,
  'the licences of what is inside come along',
)
const alone = join(dir, 'alone')
mkdirSync(alone)
const postern = join(alone, 'postern')
copyFileSync(made, postern)

const fed = (program: string, args: readonly string[], input: string, env = {}): Promise<Ran> =>
  new Promise((resolve) => {
    const child = execFile(program, args, { cwd: alone, env: cleanEnv(env) }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    )
    child.stdin?.end(input)
  })

t.test('it says what it is', async (t) => {
  const says = (await must(postern, ['version'], alone)).stdout
  t.match(says, /^postern \d+\.\d+\.\d+\S* \(schema \d+ of SQLite and \d+ of PostgreSQL, .*node v/)
  const { code, stdout: head } = await run('git', ['rev-parse', '--short=12', 'HEAD'])
  if (code === 0) t.match(says, `commit ${head.trim()}`)
  t.match((await must(postern, ['--help'], alone)).stdout, /^ {2}postern serve/m)
  t.match(await run(postern, ['serv'], alone), { code: 64, stderr: /did you mean serve\?/ })
  t.strictSame(readdirSync(alone), ['postern'])
})

/** `postern dev`, and the lines that it has printed. */
const dev = async () => {
  // the folder of temporary files is its own, to see that it stays empty
  const temporary = join(dir, 'tmp')
  mkdirSync(temporary)
  const child = spawn(postern, ['dev'], {
    cwd: alone,
    env: cleanEnv({ ...FREE, TMPDIR: temporary }),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  const said = async (pattern: RegExp): Promise<RegExpExecArray> => {
    const find = () => lines.map((line) => pattern.exec(line)).find((one) => one !== null)
    return eventually(`it says ${pattern}`, find, { seen: () => lines })
  }
  await said(/^Watch:/)
  return { child, said, temporary }
}

const LARGE = 'a line of text\n'.repeat(100_000) // read by a thread of its own, which must be inside

t.test('dev: mail by HTTP and by the sendmail link, each captured', async (t) => {
  const { child, said, temporary } = await dev()
  t.teardown(() => child.kill('SIGKILL'))
  const [, http] = await said(/API +(http:\S+)\/v1 /)
  const [, smtp] = await said(/SMTP +(\S+) /)
  const key = readFileSync(join(alone, 'data', 'dev.key'), 'utf8').trim()
  const answer = await fetch(`${http}/v1/emails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ from: 'a@acme.test', to: 'bounced@example.com', subject: 'x', text: LARGE }),
  })
  t.equal(answer.status, 202)
  await said(/^em_\S+ bounced@example\.com {2}.*→ bounced/)

  const sendmail = join(dir, 'sendmail')
  symlinkSync(postern, sendmail)
  const words = ['-t', '-i', '-f', 'a@acme.test', '--server', smtp ?? '']
  const env = { POSTERN_KEY_FILE: join(alone, 'data', 'dev.key') }
  const sent = await fed(sendmail, words, 'To: delivered@example.com\nSubject: x\n\nx\n', env)
  t.equal(sent.code, 0, sent.stderr)
  await said(/^em_\S+ delivered@example\.com {2}.*→ delivered/)

  if (existsSync('/proc/self/maps')) {
    const maps = readFileSync(`/proc/${child.pid}/maps`, 'utf8')
    const files = new Set(maps.match(/\S*better_sqlite3\.node/g))
    t.equal(files.size, 1, 'all threads share one SQLite: two would undo each other its locks')
  }
  t.strictSame(readdirSync(temporary), [])
  child.kill()
  t.strictSame(await once(child, 'exit'), [0, null])
})

t.test('bcrypt, the other native module, and serve', async (t) => {
  const words = ['credential', 'create', '--workspace', 'default', '--username', 'printer']
  const { code, stderr } = await fed(postern, words, 'a password\n')
  t.equal(code, 0, stderr)
  const served = await untilSaid([postern, 'serve'], alone, /"listening"/)
  t.equal(served.code, 0, served.stdout)
  t.strictSame(readdirSync(alone).sort(), ['data', 'postern'])
})

t.test('serve, its store on a PostgreSQL', { skip: noPostgres() }, (t) =>
  servesOnPostgres(t, { command: [postern, 'serve'], dir }),
)

t.test('a folder for temporary files that forbids running is gone around', async (t) => {
  const { code, stderr } = await fed(postern, ['workspace', 'list'], '', { TMPDIR: '/proc' })
  t.equal(code, 0, stderr)
})
