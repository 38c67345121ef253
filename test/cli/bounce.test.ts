/** Bounces: read from files, explained by reply, taken in by a pipe. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { observed } from '../../src/lifecycle/facts.js'
import { deriveKeys, makeRef, makeReturnPath } from '../../src/mail/return-path.js'
import { ROOT } from '../parts/postern.js'
import { openStoreIn } from '../parts/store.js'
import { accepted } from '../store/fixture.js'
import { here, openDesk } from './desk.js'

const FIXTURES = join(ROOT, 'test', 'fixtures', 'postfix')
const expected = JSON.parse(readFileSync(join(FIXTURES, 'expected.json'), 'utf8'))

t.test('read prints what the mails say', async (t) => {
  const names = Object.keys(expected).slice(0, 5)
  const { code, stdout } = await here([
    'bounce',
    'read',
    '--json',
    ...names.map((name) => join(FIXTURES, name)),
  ])
  t.equal(code, 0)
  const found = JSON.parse(stdout)
  t.equal(found.length, names.length)
  for (const [i, name] of names.entries())
    t.match(found[i], { file: join(FIXTURES, name), ...expected[name] })
  const [name = ''] = names
  const piped = await here(['bounce', 'read', '--json'], readFileSync(join(FIXTURES, name), 'latin1'))
  t.match(JSON.parse(piped.stdout), [{ file: '-', kind: expected[name].kind }])
  const table = await here(['bounce', 'read', join(FIXTURES, name)])
  t.match(table.stdout, /^FILE +KIND +RECIPIENT/)
})

t.test('one file that is missing does not hide the others', async (t) => {
  const [name = ''] = Object.keys(expected)
  const { code, stdout, stderr } = await here(['bounce', 'read', '--json', '/nowhere', join(FIXTURES, name)])
  t.equal(code, 74)
  t.equal(JSON.parse(stdout).length, 1)
  t.match(stderr, '/nowhere: no such file')
})

t.test('classify', async (t) => {
  const { stdout } = await here(['bounce', 'classify', '550 5.1.1 no such user', '--json'])
  t.match(JSON.parse(stdout), {
    code: 550,
    enhanced: '5.1.1',
    class: 'hard',
    category: 'unknown_user',
    fault: 'recipient',
  })
  t.match(await here(['bounce', 'classify', 'what?']), { code: 65, stderr: /begins with its code/ })
})

const dsn = (to: string): string =>
  [
    'From: MAILER-DAEMON@mx.test',
    `To: ${to}`,
    'Message-ID: <1@mx.test>',
    'Content-Type: multipart/report; report-type=delivery-status; boundary=x',
    '',
    '--x',
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.test',
    '',
    'Final-Recipient: rfc822; ana@example.com',
    'Action: failed',
    'Status: 5.1.1',
    '',
    '--x--',
    '',
  ].join('\r\n')

t.test('ingest does what the bounce door does, signed reports only', async (t) => {
  const desk = openDesk(t)
  desk.file('postern.yaml', `${readFileSync(desk.configFile, 'utf8')}bounce: { domain: bounces.test }\n`)
  const workspace = (await desk.json(['workspace', 'list']))[0]
  const store = await openStoreIn(join(desk.dir, 'data'), { daemon: false })
  await store.open()
  const [account] = await store.accounts()
  const row = await store.workspace(account?.id ?? '', workspace.id)
  const pool = await store.pool(account?.id ?? '', 'sandbox')
  if (account === undefined || row === null || pool === null) throw new Error('nothing was made')
  const mail = await accepted(store, { accountId: account.id, workspace: row, poolId: pool.id })
  const [{ id: recipientId = '' } = {}] = mail.recipients
  await store.settle([observed({ recipientId, seen: 'accepted', at: Date.now(), source: 'smtp' })])
  await store.close()
  const keys = deriveKeys(readFileSync(join(desk.dir, 'data', 'pepper')))
  const path = makeReturnPath(keys, 'bounces.test', {
    recipientId,
    workspaceId: row.id,
    address: 'ana@example.com',
  })
  const forged = path.replace(/^b(...)/, (_, three: string) => `b${[...three].reverse().join('')}`)
  t.match(await desk.run(['bounce', 'ingest'], dsn('someone@bounces.test')), {
    code: 65,
    stderr: /--recipient/,
  })
  t.match(await desk.run(['bounce', 'ingest', '--recipient', forged], dsn(forged)), {
    code: 65,
    stderr: /nothing was taken in/,
  })
  t.match(await desk.run(['bounce', 'ingest'], dsn(path)), { code: 65 }, 'To: is what anybody may write')
  t.match(await desk.json(['email', 'show', mail.id]), { status: 'sent' })
  const taken = await desk.json(['bounce', 'ingest', '--recipient', path], dsn(path))
  t.match(taken, { kind: 'bounce', trust: 'T1', email_id: mail.id, status: 'bounced', suppressed: true })
  t.match(await desk.json(['email', 'show', mail.id]), { status: 'bounced' })
  t.match((await desk.json(['suppression', 'list']))[0], { email: 'ana@example.com', origin: 'bounce' })
  t.match(
    await desk.json(['bounce', 'ingest'], `Delivered-To: ${path.toUpperCase()}\r\n${dsn(path)}`),
    { email_id: mail.id, status: null },
    'twice is once',
  )
  const signed = (id: string, part: string): string =>
    dsn('bounces@bounces.test')
      .replace(/^/, `Message-ID: ${id}\r\n`)
      .replace('--x--', `--x\r\nContent-Type: text/rfc822-headers\r\n\r\n${part}\r\n\r\n--x--`)
  const ref = makeRef(keys, 'ref', { recipientId, workspaceId: row.id, address: 'ana@example.com' })
  const [event] = await desk.json(['event', 'list', '--type', 'email.bounced'])
  const report = await desk.json(['bounce', 'show', event.id])
  t.equal(Buffer.from(report.raw, 'base64').toString(), dsn(path))
  t.match(await desk.run(['bounce', 'show', event.id]), {
    code: 0,
    stdout: /Action: failed\nStatus: 5\.1\.1/,
  })
  t.match(await desk.run(['bounce', 'show', '--raw', event.id]), { code: 0, stdout: dsn(path) })
  t.match(await desk.run(['bounce', 'show', 'evt_x']), { code: 65, stderr: /Event not found/ })
  const fixed = ['bounce', 'ingest', '--recipient', 'bounces@bounces.test']
  t.match(
    await desk.json(fixed, signed('<2@mx.test>', `X-Postern-Ref: ${ref}`)),
    { trust: 'T2', email_id: mail.id },
    'a signed reference in what is returned',
  )
  t.match(
    await desk.json(fixed, signed('<3@mx.test>', `Message-ID: ${mail.messageId}`)),
    { trust: 'T3', email_id: mail.id, status: null },
    'a Message-ID that nobody signed',
  )
  t.match(await desk.json(fixed, signed('<4@mx.test>', 'Subject: x')), { trust: 'T4', email_id: null })
  const shown = (await desk.run(['email', 'show', mail.id])).stdout
  t.match(shown, /trust T3.*noted, not applied: nobody signed for it/)
  t.match(shown, /trust T2.*noted, not applied: already bounced/)
})

t.test("a site's own rules come first", async (t) => {
  const dir = t.testdir({
    'rules.yaml':
      "- category: policy\n  text: no such user\n- category: unknown_user\n  enhanced: ['5.7.']\n  code: 554\n",
    'bad.yaml': '- category: nonsense\n  code: 554\n',
    'worse.yaml': "- category: policy\n  code: 99\n  texts: x\n- enhanced: ['5.x']\n",
    'conf.yaml': 'bounce: { rules_file: rules.yaml }\n',
    'bad-conf.yaml': 'bounce: { rules_file: bad.yaml }\n',
  })
  const file = (name: string) => join(dir, name)
  const said = async (reply: string, ...more: readonly string[]) =>
    JSON.parse((await here(['bounce', 'classify', reply, '--json', ...more])).stdout)
  t.match(await said('550 5.1.1 no such user', '--rules', file('rules.yaml')), { category: 'policy' })
  t.match(await said('550 5.1.1 no such user', '--config', file('conf.yaml')), {
    category: 'policy',
    class: 'soft',
  })
  t.match(await said('554 5.7.1 go away', '--config', file('conf.yaml')), {
    category: 'unknown_user',
    class: 'hard',
  })
  const bad = await here(['bounce', 'classify', '550 x', '--rules', file('bad.yaml')])
  t.match(bad, { code: 78, stderr: /bad\.yaml.*rule 1.*nonsense/ })
  const worse = await here(['bounce', 'classify', '550 x', '--rules', file('worse.yaml')])
  t.equal(worse.code, 78)
  t.match(worse.stderr, /rule 1\.code/)
  t.match(worse.stderr, /rule 1\.texts/)
  t.match(worse.stderr, /rule 2/)
  t.match(await here(['config', 'check', '--config', file('bad-conf.yaml')]), {
    code: 78,
    stdout: /nonsense/,
  })
  t.match(await here(['bounce', 'classify', '550 x', '--rules', '/nowhere']), { code: 78, stderr: /ENOENT/ })
})

t.test('the key of the return paths is changed', async (t) => {
  const desk = openDesk(t)
  t.match(await desk.json(['bounce', 'rotate-key', '--dry-run']), { current: '1' })
  t.match(await desk.json(['bounce', 'rotate-key', '--yes']), { current: '2', retired: [{ id: '1' }] })
})
