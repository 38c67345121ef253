/**
 * `postern dev --demo`: a week of mail in a folder of its own, the same each time, and no way to it on a folder that is
 * somebody's.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { openStore } from '../../src/store/open.js'
import { eventually } from '../parts/eventually.js'
import { BIN, cleanEnv, runCli } from '../parts/postern.js'
import { FREE, run, untilSaid } from '../parts/run.js'

const DEMO = [process.execPath, BIN, 'dev', '--demo']

const start = async (t: Test, cwd: string) => {
  const [program = '', ...args] = DEMO
  const child = spawn(program, args, { cwd, env: cleanEnv(FREE), stdio: ['ignore', 'pipe', 'pipe'] })
  t.teardown(() => child.kill('SIGKILL'))
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => lines.push(line))
  const said = (pattern: RegExp) =>
    eventually(`it says ${pattern}`, () => lines.find((line) => pattern.test(line)), {
      ms: 240_000,
      seen: () => lines,
    })
  await said(/^Watch:/)
  return {
    lines,
    async stop() {
      child.kill()
      t.strictSame(await once(child, 'exit'), [0, null])
    },
  }
}

const rowsOf = async (dir: string, ...command: readonly string[]) => {
  const env = { POSTERN_DATA_DIR: join(dir, 'data', 'demo') }
  const { code, stdout, stderr } = await run(process.execPath, [BIN, ...command, '--json'], dir, env)
  if (code !== 0) throw new Error(`${command.join(' ')}: ${code} ${stderr}`)
  return JSON.parse(stdout)
}

/** All mails: who got what, how it ended, and how long before the end of the week it was sent. */
const contentOf = async (dir: string) => {
  const store = await openStore({ place: { data_dir: join(dir, 'data', 'demo') }, daemon: false })
  await store.open()
  try {
    const [account] = await store.accounts()
    const filter = { accountId: account?.id ?? '', workspaceId: null, mode: null, status: null, to: null }
    const page = { limit: 10_000, direction: 'newer', anchor: null, countUpTo: 0 } as const
    const all = await store.emails({ ...filter, tag: null, createdAfter: null, createdBefore: null }, page)
    return all.rows
      .map(({ to, subject, counts }) => JSON.stringify([to, subject, counts]))
      .filter((one) => !one.includes('webmail.example') || !one.includes('deferred+4.7.1'))
      .sort()
  } finally {
    await store.close()
  }
}

t.setTimeout(600_000)

t.test('a week of mail, the same each time', async (t) => {
  const dir = t.testdir()
  const demo = await start(t, dir)
  t.notOk(
    demo.lines.some((line) => /svc_(test|live)_|\/setup\/\w/.test(line)),
    'a pipe gets no key and no link',
  )
  t.notOk(existsSync(join(dir, 'data', 'postern.db')), 'it is in a folder of its own')
  const content = await contentOf(dir)
  t.equal(content.length, 3_009)
  const statuses = new Set(
    content.flatMap((one) => Object.entries(JSON.parse(one)[2]).flatMap(([name, n]) => (n ? [name] : []))),
  )
  for (const status of ['bounced', 'canceled', 'deferred', 'delivered', 'queued', 'scheduled'])
    t.ok(statuses.has(status), status)

  const list = (...command: readonly string[]) => rowsOf(dir, ...command)
  t.match((await list('workspace', 'list')).map((one: { slug: string }) => one.slug).sort(), [
    'default',
    'power',
    'shop',
  ])
  t.equal((await list('user', 'list')).length, 4)
  const hooks = (await list('webhook', 'list')) as { url: string; health: unknown }[]
  t.equal(hooks.length, 2)
  t.match(JSON.stringify(hooks), /failing/)
  t.equal((await list('suppression', 'incidents')).length, 1)

  await demo.stop()
  const again = await start(t, dir)
  t.strictSame(await contentOf(dir), content)
  await again.stop()
})

t.test('only in a folder of its own', async (t) => {
  const refused = async (cwd: string, env = {}) => {
    const { code, stdout } = await untilSaid(DEMO, cwd, /^Watch:/, env)
    return { code, stdout }
  }
  const served = t.testdir()
  await runCli(['workspace', 'list'], '', served)
  t.match(await refused(served), { code: 78, stdout: /^postern: \.\/data holds the data of a service/ })

  const other = t.testdir({ data: { demo: { 'letters.txt': 'mine' } } })
  t.match(await refused(other), { code: 78, stdout: /has a folder demo that no demo made/ })
  t.ok(existsSync(join(other, 'data', 'demo', 'letters.txt')))

  const shared = t.testdir()
  t.match(await refused(shared, { POSTERN_STORE__DRIVER: 'postgres', POSTERN_STORE__URL_FILE: 'x' }), {
    code: 78,
  })

  const folder = t.testdir({ 'demo.json': '{}' })
  const serve = await untilSaid([process.execPath, BIN, 'serve'], folder, /listening/, {
    POSTERN_DATA_DIR: folder,
  })
  t.match(serve, { code: 78, stdout: /is the demo's, whose mail is of nobody/ })
})
