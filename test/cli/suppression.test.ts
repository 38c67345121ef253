/** Suppressions by hand and by CSV. */
import t from 'tap'
import { openDesk } from './desk.js'

t.test('suppressions by hand and by CSV', async (t) => {
  const desk = openDesk(t)
  t.match(await desk.json(['suppression', 'add', 'Ana@Example.COM', '--reason', 'asked']), {
    email: 'ana@example.com',
    origin: 'manual',
    reason: 'asked',
  })
  const csv = 'email,reason\nbob@example.com,"moved, they say"\nnot an address,x\n'
  const imported = await desk.run(['suppression', 'import', '-', '--json'], csv)
  t.equal(imported.code, 65, 'a bad line is an exit code')
  t.match(JSON.parse(imported.stdout), { read: 2, added: 1, skipped: [{ line: 3 }] })
  const { stdout } = await desk.run(['suppression', 'export'])
  t.match(stdout, /^email,reason,origin,created_at,expires_at\r\n/)
  t.match(stdout, 'bob@example.com,"moved, they say",import,')
  t.equal((await desk.json(['suppression', 'list', '--origin', 'import'])).length, 1)
  t.match(await desk.json(['suppression', 'remove', 'ana@example.com', '--yes']), { deleted: true })
  t.match(await desk.run(['suppression', 'remove', 'ana@example.com', '--yes']), { code: 65 })
  const again = await desk.run(['suppression', 'import', '-'], stdout)
  t.match(again, { code: 0, stdout: /2 of 2 added/ }, 'an export imports')
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
  t.match(await desk.run(['suppression', 'import', '-', '--mode', 'test'], stdout), { code: 0 })
  t.same((await emails('--mode', 'test')).sort(), ['all@example.com', 'test@example.com'])
  t.match(await desk.run(['suppression', 'list', '--account', '--mode', 'test']), { code: 64 })
  t.match(await desk.json(['suppression', 'remove', 'all@example.com', '--account', '--yes']), {
    deleted: true,
  })
})
