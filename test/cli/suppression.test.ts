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
