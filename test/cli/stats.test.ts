/** postern stats: figures for people, for pipes and for programs, and what is refused in one line. */

import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import t from 'tap'
import { run } from '../../src/cli/main.js'
import { countAll } from '../parts/counted.js'
import { openStoreIn } from '../parts/store.js'
import { accepted, toOne } from '../store/fixture.js'
import { openDesk } from './desk.js'

const desk = openDesk(t)
await desk.json(['workspace', 'update', 'default', '--statistics-tags', 'kind, plan'])

const store = await openStoreIn(join(desk.dir, 'data'))
await store.open()
const [account] = await store.accounts()
const accountId = account?.id ?? ''
const workspace = await store.workspace(accountId, 'default')
if (workspace === null) throw new Error('there is no default workspace')
const at = { accountId, workspace, poolId: workspace.poolId }
const createdAt = Date.now() - 1_000
for (let i = 0; i < 8; i++)
  await accepted(store, at, {
    createdAt,
    recipients: [toOne(i < 6 ? 'ana@long-name.example' : 'bo@b.example')],
    tags: [{ name: 'kind', value: i === 0 ? 'reset' : 'receipt' }],
  })
await countAll(store)
await store.close()

/** As a person sees it whose terminal is so wide. */
const onTerminal = async (columns: number, env: NodeJS.ProcessEnv, ...args: string[]): Promise<string> => {
  const before = { ...process.env }
  Object.assign(process.env, { LANG: 'C.UTF-8', LC_ALL: '', LC_CTYPE: '', TERM: 'xterm' }, env)
  const stdout = Object.assign(new PassThrough(), { isTTY: true, columns })
  let text = ''
  stdout.on('data', (chunk) => {
    text += chunk
  })
  const streams = { stdin: Readable.from([]), stdout, stderr: new PassThrough() }
  const code = await run(['--config', desk.configFile, 'stats', ...args], streams)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, before)
  if (code !== 0) throw new Error(`stats ended with ${code}`)
  return text
}

const plain = (text: string): string => text.replace(/\u001b\[[0-9;]*m/g, '')

t.test('bars in a terminal, as wide as it is', async (t) => {
  for (const columns of [130, 110]) {
    const text = await onTerminal(columns, {}, '--by', 'domain')
    const lines = plain(text).split('\n')
    const widest = Math.max(...lines.map((line) => [...line].length))
    t.ok(widest <= columns && widest > 90, `${widest} of ${columns}`)
    const long = lines.find((line) => line.startsWith('long-name.example')) ?? ''
    const short = lines.find((line) => line.startsWith('b.example')) ?? ''
    const of = (line: string): number => [...line].filter((char) => char === '█').length
    t.ok(of(long) > 2 * of(short) && of(short) > 0, `${of(long)} and ${of(short)}`)
  }
  t.notMatch(await onTerminal(60, {}, '--by', 'domain'), /█/, 'no bars where there is no room')
})

t.test('colour only where it is wanted, and letters that the terminal has', async (t) => {
  t.match(await onTerminal(130, {}, '--by', 'domain'), /\u001b\[36m█/)
  const sober = await onTerminal(130, { NO_COLOR: '1' }, '--by', 'domain')
  t.notMatch(sober, /\u001b/)
  t.match(sober, /█/)
  t.match(await onTerminal(130, { LANG: 'C' }, '--by', 'domain'), /##/)
})

t.test('who has sent with a test key only is told where that is', async (t) => {
  t.match((await desk.run(['stats', '--to', '2d'])).stderr, /no live mail in that time.*--mode test/)
  t.notMatch((await desk.run(['stats'])).stderr, /--mode/)
  t.notMatch((await desk.run(['stats', '--mode', 'test'])).stderr, /--mode/)
})

t.test(
  'where only a test key sends, as in dev, a person sees its mail; a program gets what it asked for',
  async (t) => {
    const dev = openDesk(t)
    await dev.json(['workspace', 'update', 'default', '--name', 'Dev'])
    const kept = await openStoreIn(join(dev.dir, 'data'))
    await kept.open()
    const id = (await kept.accounts())[0]?.id ?? ''
    const home = await kept.workspace(id, 'default')
    if (home === null) throw new Error('there is no default workspace')
    const sender = { accountId: id, workspace: home, poolId: home.poolId }
    for (let i = 0; i < 3; i++) await accepted(kept, sender, { createdAt: Date.now() - 1_000, mode: 'test' })
    await countAll(kept)
    await kept.close()
    const seen = await dev.run(['stats'])
    t.match(seen.stdout, /^from .*, test mail\nrecipients +3 accepted/m)
    t.match(seen.stderr, /no live mail in that time: this is mail of test keys/)
    t.match(await dev.json(['stats']), { mode: 'live', totals: { accepted: 0 } })
    t.match((await dev.run(['stats', '--mode', 'live'])).stdout, /, live mail\nrecipients +0 accepted/)
  },
)

t.test('in a pipe: plain lines, and the same numbers as JSON', async (t) => {
  const { stdout, code } = await desk.run(['stats', '--by', 'tag'])
  t.equal(code, 0)
  t.match(stdout, /^kind:receipt +7 /m)
  t.match(stdout, /^kind:reset +1 /m)
  t.notMatch(stdout, /█|\u001b|##/)
  const told = await desk.json(['stats', '--by', 'tag', '--tag', 'kind'])
  t.match(told, {
    object: 'statistics',
    group_by: 'tag',
    totals: { accepted: 8 },
    mode: 'live',
    workspace_id: null,
  })
  const days = await desk.json(['stats', '--interval', 'day', '--from', '3d', '--tz', 'Asia/Kolkata'])
  t.equal(days.tz, 'Asia/Kolkata')
  t.equal(days.data.length, 4)
  t.ok(days.data.every((day: { at: string }) => day.at.endsWith('T18:30:00.000Z')))
  t.equal((await desk.json(['stats', '--mode', 'test'])).totals.accepted, 0)
})

t.test('what is wrong, in one line', async (t) => {
  const refused = async (code: number, words: RegExp, ...args: string[]) => {
    const told = await desk.run(['stats', ...args])
    t.equal(told.code, code, told.stderr)
    t.match(told.stderr, words)
    t.equal(told.stdout, '')
  }
  await refused(64, /--by: .colour. is not one of/, '--by', 'colour')
  await refused(64, /--limit: 0 is not a number from 1 to 100/, '--limit', '0')
  await refused(65, /--tz: must be a zone/, '--tz', 'Mars/Base')
  await refused(65, /--from: must be a day/, '--from', 'soon')
  await refused(65, /--by: with interval=minute/, '--interval', 'minute', '--by', 'domain')
  await refused(
    65,
    /--from: minutes are kept for 48 hours/,
    '--interval',
    'minute',
    '--from',
    '3d',
    '--to',
    '71h',
  )
  await refused(65, /workspace list/, '--workspace', 'nobody')
})
