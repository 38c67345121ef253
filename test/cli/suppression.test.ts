/** Suppressions by hand and by CSV. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { openIncident } from '../parts/incident.js'
import { cleanEnv } from '../parts/postern.js'
import { openStoreIn } from '../parts/store.js'
import { command, openDesk } from './desk.js'

t.test('suppressions by hand and by CSV', async (t) => {
  const desk = openDesk(t)
  t.match(await desk.json(['suppression', 'add', 'Ana@Example.COM', '--reason', 'asked']), {
    email: 'ana@example.com',
    origin: 'manual',
    reason: 'asked',
  })
  const csv = 'email,reason\nbob@example.com,"moved, they say"\nnot an address,x\n'
  t.match(await desk.run(['import', '-'], csv), { code: 65, stderr: /1 of 2 lines .* nothing was done/ })
  const imported = await desk.run(['import', '-', '--json', '--force'], csv)
  t.equal(imported.code, 65, 'a bad line is an exit code')
  t.match(JSON.parse(imported.stdout), { read: 2, added: 1, skipped: [{ line: 3 }] })
  const { stdout } = await desk.run(['suppression', 'export'])
  t.match(stdout, /^email,reason,origin,created_at,expires_at,list\r\n/)
  t.match(stdout, 'bob@example.com,"moved, they say",import,')
  t.equal((await desk.json(['suppression', 'list', '--origin', 'import'])).length, 1)
  t.match(await desk.json(['suppression', 'remove', 'ana@example.com', '--yes']), { deleted: true })
  t.match(await desk.run(['suppression', 'remove', 'ana@example.com', '--yes']), { code: 65 })
  const again = await desk.run(['import', '-'], stdout)
  t.match(again, { code: 0, stdout: /0 of 2 added, 1 listed already, 1 not taken/ }, 'an export imports')
  t.match(again.stderr, /1 passed over: taken off the list here since then/)
})

t.test('an import counts what it adds, and passes over bad lines', async (t) => {
  const desk = openDesk(t)
  const csv = [
    'email,expires_at',
    'a@example.com,someday',
    'b@example.com,90d',
    'B@Example.com,',
    'nobody,',
    'c@example.com,',
  ].join('\n')
  for (const more of [['--dry-run'], []]) {
    const words = ['import', '-', '--json', '--force', ...more]
    const { code, stdout, stderr } = await desk.run(words, csv)
    t.equal(code, 65)
    t.match(JSON.parse(stdout), {
      read: 5,
      added: 2,
      listed: 1,
      skipped: [{ line: 2, email: 'a@example.com', message: /someday/ }, { line: 5 }],
    })
    t.match(stderr, /line 2: a@example.com: .*someday/)
  }
  t.equal((await desk.json(['suppression', 'list'])).length, 2)
  const again = await desk.run(['import', '-', '--dry-run'], 'c@example.com\nd@example.com\n')
  t.match(again, { code: 0, stdout: /1 of 2 would be added, 1 listed already/ })
})

t.test('a long list ends, and says so', async (t) => {
  const desk = openDesk(t)
  const lines = Array.from({ length: 1001 }, (_, i) => `a${i}@example.com`)
  t.match(await desk.run(['import', '-'], `email\n${lines.join('\n')}\n`), { code: 0 })
  const list = async (...more: readonly string[]) => {
    const { code, stdout, stderr } = await desk.run(['suppression', 'list', '--json', ...more])
    t.equal(code, 0, stderr)
    return { rows: JSON.parse(stdout).length as number, said: stderr }
  }
  t.same(await list(), {
    rows: 1000,
    said: 'these are the first 1000, and there are more: --limit N, or --all\n',
  })
  t.match(await list('--limit', '3'), { rows: 3, said: /first 3/ })
  t.same(await list('--limit', '1001'), { rows: 1001, said: '' })
  t.same(await list('--all'), { rows: 1001, said: '' })
  t.equal((await desk.run(['suppression', 'export'])).stdout.trim().split('\n').length, 1002)
})

t.test('lists of their own: for tests, and for the whole account', async (t) => {
  const desk = openDesk(t)
  const emails = async (...more: readonly string[]): Promise<string[]> =>
    (await desk.json(['suppression', 'list', ...more])).map(({ email }: { email: string }) => email)
  await desk.json(['suppression', 'add', 'live@example.com'])
  await desk.json(['suppression', 'add', 'test@example.com', '--mode', 'test'])
  t.match(await desk.json(['suppression', 'add', 'all@example.com', '--account', '--expires', '90d']), {
    scope: 'account',
    expires_at: /Z$/,
  })
  t.same(await emails(), ['live@example.com'])
  t.same(await emails('--mode', 'test'), ['test@example.com'])
  t.same(await emails('--account'), ['all@example.com'])
  const { stdout } = await desk.run(['suppression', 'export', '--account'])
  t.match(await desk.run(['import', '-', '--mode', 'test'], stdout), { code: 0 })
  t.same((await emails('--mode', 'test')).sort(), ['all@example.com', 'test@example.com'])
  t.match(await desk.run(['suppression', 'list', '--account', '--mode', 'test']), { code: 64 })
  t.match(await desk.json(['suppression', 'remove', 'all@example.com', '--account', '--yes']), {
    deleted: true,
  })
})

t.test('a whole domain', async (t) => {
  const desk = openDesk(t)
  t.match(await desk.json(['suppression', 'add', '*@Example.COM']), { email: '*@example.com' })
  t.match(await desk.json(['suppression', 'add', 'ana@example.com']), { email: 'ana@example.com' })
  t.match(await desk.json(['suppression', 'show', 'bob@example.com']), { email: '*@example.com' })
  const removed = await desk.run(['suppression', 'remove', 'ana@example.com', '--yes'])
  t.match(removed, {
    code: 0,
    stdout: /removed ana@example\.com; \*@example\.com suppresses it all the same/,
  })
  const none = await desk.run(['suppression', 'remove', 'ana@example.com', '--yes'])
  t.match(none, { code: 65, stderr: /no entry of its own on this list: \*@example\.com suppresses it/ })
  const { stdout } = await desk.run(['suppression', 'export'])
  t.match(stdout, /^\*@example\.com,/m)
  t.match(await desk.run(['import', '-', '--account'], stdout), { code: 0 })
  t.match(await desk.json(['suppression', 'remove', '*@example.com', '--yes']), {
    deleted: true,
    still: { email: '*@example.com', scope: 'account' },
  })
})

t.test('by mailing list', async (t) => {
  const desk = openDesk(t)
  const add = await desk.json(['suppression', 'add', 'Ana@Example.com', '--list', 'news'])
  t.match(add, { email: 'ana@example.com', list: 'news', origin: 'manual' })
  await desk.json(['suppression', 'add', 'ana@example.com', '--reason', 'gone'])
  await desk.json(['suppression', 'add', 'bo@example.com', '--list', 'offers'])
  t.match(await desk.json(['suppression', 'list', '--list', 'news']), [
    { email: 'ana@example.com', list: 'news' },
  ])
  t.equal((await desk.json(['suppression', 'list'])).length, 3)
  t.match(await desk.json(['suppression', 'show', 'ana@example.com', '--list', 'news']), { list: 'news' })
  for (const wrong of [
    ['add', 'a@example.com', '--list', 'No List'],
    ['add', '*@example.com', '--list', 'news'],
    ['add', 'a@example.com', '--list', 'news', '--account'],
  ])
    t.match(await desk.run(['suppression', ...wrong]), { code: 65 }, wrong.join(' '))
  const { stdout } = await desk.run(['suppression', 'export'])
  t.match(stdout, /^email,reason,origin,created_at,expires_at,list\r?$/m)
  t.match(stdout, /^ana@example\.com,,manual,[^,]+,,news\r?$/m)
  const removed = await desk.run(['suppression', 'remove', 'ana@example.com', '--list', 'news', '--yes'])
  t.match(removed, {
    code: 0,
    stdout: /removed ana@example\.com \(list news\); ana@example\.com suppresses it/,
  })
  t.match(await desk.run(['suppression', 'remove', 'ana@example.com', '--list', 'news', '--yes']), {
    code: 65,
    stderr: /ana@example\.com \(list news\) has no entry of its own/,
  })
  t.match(await desk.run(['import', '-', '--mode', 'test'], stdout), { code: 0 })
  const back = await desk.json(['suppression', 'list', '--mode', 'test'])
  t.same(back.map(({ email, list = '' }: { email: string; list?: string }) => `${email} ${list}`).sort(), [
    'ana@example.com ',
    'ana@example.com news',
    'bo@example.com offers',
  ])
  t.match(await desk.run(['import', '-', '--force'], stdout.replace(',news', ',No List')), {
    stderr: /its list must be/,
  })
  const again = await desk.json(['import', '-'], stdout)
  t.match(again, { added: 0 }, 'who was taken off since then stays off')
  const audit = await desk.json(['audit', 'list', '--action', 'suppression.removed'])
  t.match(audit, [{ detail: { email: 'ana@example.com', list: 'news' } }])
})

t.test('what follows -- is an address, whatever it begins with', async (t) => {
  const desk = openDesk(t)
  const added = await desk.run([
    'suppression',
    'add',
    'ana@example.com',
    '--',
    '-dash@example.com',
    '--x@example.com',
  ])
  t.match(added, { code: 0 })
  const listed = await desk.json(['suppression', 'list'])
  t.same(listed.map(({ email }: { email: string }) => email).sort(), [
    '--x@example.com',
    '-dash@example.com',
    'ana@example.com',
  ])
  t.match(await desk.run(['suppression', 'remove', '--yes', '--', '-dash@example.com']), { code: 0 })
})

t.test('what a spreadsheet would run as a formula goes out as text and comes back', async (t) => {
  const desk = openDesk(t)
  const odd = ['=1+1@example.com', '+tag@example.com', '-dash@example.com', "'=x@example.com"]
  const csv = odd.map((email) => `"'${email}","=HYPERLINK(""x"")"`).join('\n')
  t.match(await desk.run(['import', '-'], csv), { code: 0 })
  const { stdout } = await desk.run(['suppression', 'export'])
  t.notMatch(stdout, /(?:^|,|\n)"?[=+@-]/)
  t.match(await desk.run(['import', '-', '--mode', 'test'], stdout), { code: 0 })
  const back = await desk.json(['suppression', 'list', '--mode', 'test'])
  t.same(back.map(({ email }: { email: string }) => email).sort(), [...odd].sort())
  t.equal(back[0].reason, '=HYPERLINK("x")')
})

t.test('exports of other providers come in as they are', async (t) => {
  const desk = openDesk(t)
  for (const [n, csv] of [
    'status,reason,email,created\n5.1.1,unknown user,NN@example.com,1700000000\n',
    'address,code,error,created_at\nNN@example.com,550,unknown user,2026-01-01\n',
    '"EmailAddress","SuppressionReason","Origin","CreatedAt"\nNN@example.com,HardBounce,Recipient,2026-01-01\n',
    'recipient,type,source\nNN@example.com,transactional,Bounce Rule\n',
    'Email Address,Reason\nNN@example.com,unknown user\n',
    'NN@example.com,unknown user\n',
    'NN@example.com\n',
    '\ufeffE-mail address;Reason\r\nNN@example.com;"unknown; user"\r\n',
  ].entries()) {
    const text = csv.replace('NN', `n${n}`)
    t.match(await desk.run(['import', '-'], text), { code: 0, stdout: /1 of 1/ }, text)
    const [row] = await desk.json(['suppression', 'list'])
    t.match(row, { email: `n${n}@example.com` })
    const said = ['5.1.1 unknown user', '550 unknown user', undefined, undefined, 'unknown user']
    t.equal(row.reason, [...said, 'unknown user', undefined, 'unknown; user'][n], text)
  }
})

t.test('addresses that bounced at the same time wait for a decision', async (t) => {
  const desk = openDesk(t)
  await desk.json(['suppression', 'list'])
  const store = await openStoreIn(join(desk.dir, 'data'), { daemon: false })
  await store.open()
  t.teardown(() => store.close())
  const [account] = await store.accounts()
  const workspace = await store.workspace(account?.id ?? '', 'default')
  const place = { accountId: account?.id ?? '', workspaceId: workspace?.id ?? '' }
  const id = await openIncident(store, place, Date.now())
  t.match(await desk.json(['suppression', 'incidents']), [{ id, pending: 20, decision: null }])
  t.same(await desk.json(['suppression', 'list']), [])
  t.equal((await desk.json(['suppression', 'list', '--pending'])).length, 20)
  t.match(await desk.run(['suppression', 'list', '--pending', '--origin', 'manual']), { code: 64 })
  t.match(await desk.json(['suppression', 'accept', id]), { id, decision: 'accepted', pending: 0 })
  t.equal((await desk.json(['suppression', 'list'])).length, 20)
  t.match(await desk.run(['suppression', 'dismiss', id]), { code: 65, stderr: /accepted/ })
  t.same(await desk.json(['suppression', 'incidents']), [])
  t.match(await desk.json(['suppression', 'incidents', id]), { id })
  t.match(await desk.run(['suppression', 'accept', 'inc_x']), { code: 65, stderr: /incidents shows/ })
  t.match(await desk.json(['audit', 'list', '--action', 'suppression']), [
    { action: 'suppression.accepted', actor: { kind: 'cli' } },
  ])
})

t.test('a long list is stored in pieces, and taken up again where it was broken off', async (t) => {
  const desk = openDesk(t)
  const lines = Array.from({ length: 30_000 }, (_, i) => `person${i}@example.com,left`)
  const file = desk.file('list.csv', `email,reason\n${lines.join('\n')}\n`)
  await desk.json(['suppression', 'list'])
  const [node, words] = command(['import', file, '--json', '--config', desk.configFile])
  const child = spawn(node, words, { env: cleanEnv(), stdio: ['ignore', 'pipe', 'pipe'] })
  const said = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    said.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    said.stderr += chunk
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const some = async () => (await desk.run(['suppression', 'show', 'person0@example.com'])).code === 0
  await eventually('the first piece is stored', some)
  child.kill('SIGTERM')
  t.equal(await ended, 75, said.stderr)
  t.match(said.stderr, /interrupted after \d+000 of 30000 lines: give the same file again/)
  const { read, added } = JSON.parse(said.stdout)
  t.equal(read, added)
  t.ok(added < 30_000)
  t.match(await desk.json(['import', file]), {
    read: 30_000,
    added: 30_000 - added,
    listed: added,
  })
  const [first, second, ...more] = await desk.json(['audit', 'list', '--action', 'suppression'])
  t.same([first.detail.changed, second.detail.changed, more], [30_000 - added, added, []], 'one entry a run')
})
