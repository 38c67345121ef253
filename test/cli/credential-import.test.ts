/** Moving in with a file of names and secrets: bad lines, a second time, an interruption, a person who watches. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import t from 'tap'
import { run } from '../../src/cli/main.js'
import { eventually } from '../parts/eventually.js'
import { cleanEnv } from '../parts/postern.js'
import { command, openDesk } from './desk.js'

const IMPORT = ['credential', 'import', '-', '--workspace', 'default']

/** Secrets that a machine could have made, so that most of these tests are fast. */
const long = (n: number): string => `${n}e7Qz2Vb9Xw4Lr8Tn3Ym6PcAk5Hs1Jd0Uf`

t.test('bad lines have their number, the others are stored, and a second time is harmless', async (t) => {
  const desk = openDesk(t)
  const csv = `username,password\nshop,${long(1)}\nno secret\n\n"bad\u0007name",${long(2)}\nfax,${long(3)}\n`
  t.match(await desk.run([...IMPORT, '--json'], csv), {
    code: 65,
    stderr: /^line 3: skipped: password: .*\nline 5: skipped .*: username: .*\n2 of 4 imported, 2 bad\n$/,
  })
  const again = await desk.run([...IMPORT, '--json'], csv)
  t.match(again, { code: 65, stderr: /0 of 4 imported, 2 there already and left as they are, 2 bad\n$/ })
  t.same(JSON.parse(again.stdout), [])
  t.notMatch(again.stderr, /7Qz2/, 'no secret is said')
  t.match(await desk.json(['credential', 'list']), [{ username: 'fax' }, { username: 'shop' }])
})

t.test('^C leaves whole chunks, and the same file brings the rest', async (t) => {
  const desk = openDesk(t)
  await desk.json(['credential', 'list'])
  const most = Array.from({ length: 50 }, (_, n) => `shop${n}:${long(n)}`)
  const slow = Array.from({ length: 60 }, (_, n) => `till${n}:chosen-${n}`)
  const file = desk.file('all', [...most, ...slow].join('\n'))
  const [program, words] = command([
    '--config',
    desk.configFile,
    'credential',
    'import',
    file,
    '--workspace',
    'default',
  ])
  const child = spawn(program, words, { env: cleanEnv({}), stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const ended = once(child, 'exit')
  const stored = async () => (await desk.json(['credential', 'list'])).length
  await eventually('the first chunk is there', async () => (await stored()) > 0)
  child.kill('SIGINT')
  const [code] = await ended
  t.equal(code, 75, stderr)
  t.match(stderr, /^(50|100) of 110 imported\ninterrupted: .*again/)
  t.equal(await stored(), Number.parseInt(stderr, 10))
  t.match(await desk.run(['credential', 'import', file, '--workspace', 'default']), { code: 0 })
  t.equal(await stored(), 110)
})

t.test('a person who watches sees how far it is', async (t) => {
  const desk = openDesk(t)
  const csv = Array.from({ length: 60 }, (_, n) => `shop${n}:${long(n)}`).join('\n')
  let heard = ''
  const stderr = Object.assign(new PassThrough(), { isTTY: true })
  stderr.on('data', (chunk) => {
    heard += chunk
  })
  const streams = { stdin: Readable.from([Buffer.from(csv)]), stdout: new PassThrough().resume(), stderr }
  t.equal(await run(['--config', desk.configFile, ...IMPORT], streams), 0)
  t.match(heard, /^50 of 60, \d+ a second, \d+ m?s remaining\r\u001b\[K60 of 60, /)
  t.match(heard, /\r\u001b\[K60 of 60 imported\n$/, 'and it is gone at the end')
})
