/** People, links, sessions and the audit, on a real store without a daemon. */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDesk } from './desk.js'

const GOOD = 'violet river under glass\n'

t.test('a person from the command line, and what the audit says of it', async (t) => {
  const desk = openDesk(t)
  const ana = await desk.json(['user', 'create', 'Ana@acme.test', '--role', 'owner', '--ask-password'], GOOD)
  t.match(ana, { id: /^usr_/, email: 'ana@acme.test', role: 'owner', has_password: true })
  t.match(await desk.json(['user', 'list']), [{ id: ana.id, disabled: false }])
  const short = await desk.run(['user', 'password', ana.id], 'short\n')
  t.equal(short.code, 65)
  t.match(short.stderr, /12 to 256 characters/)
  await desk.json(['user', 'password', ana.email], `${GOOD.trim()} two\n`)
  const last = await desk.run(['user', 'update', ana.email, '--disable'])
  t.not(last.code, 0)
  t.match(last.stderr, /owner first/)
  t.match(await desk.json(['user', 'update', ana.email, '--name', 'Ana']), { name: 'Ana' })
  t.equal((await desk.run(['user', 'update', ana.email])).code, 64)

  const refused = await desk.run(['user', 'invite', '--role', 'member'])
  t.match(refused.stderr, /on a terminal only/)
  t.same(await desk.json(['user', 'invitations']), [], 'and none was made')
  const out = join(desk.dir, 'link.txt')
  const made = await desk.json(['user', 'invite', 'bo@acme.test', '--role', 'member', '--out', out])
  t.equal(statSync(out).mode & 0o777, 0o600)
  t.match(readFileSync(out, 'utf8'), /\/invitation\/[0-9A-Za-z]{44}\n$/)
  t.match(await desk.json(['user', 'invitations']), [{ id: made.id, state: 'open', email: 'bo@acme.test' }])
  await desk.json(['user', 'uninvite', made.id])

  const { id } = await desk.json(['session', 'create'])
  t.match(await desk.json(['session', 'list']), [{ id, provider: 'cli', person: null }])
  await desk.json(['session', 'revoke', id, '--yes'])
  await desk.json(['session', 'create', '--role', 'viewer'])
  t.match(await desk.json(['session', 'list']), [{ role: 'viewer' }], 'a script gets no more than it needs')
  t.match(await desk.json(['session', 'revoke', '--all', '--yes']), { changed: 1 })
  t.equal((await desk.run(['session', 'revoke'])).code, 64)

  const audit = await desk.json(['audit', 'list'])
  const uid = `cli:${process.getuid?.()}`
  t.ok(audit.every((one: { actor: { kind: string; id: string } }) => one.actor.id === uid))
  t.same(
    audit.map((one: { action: string }) => one.action).reverse(),
    [
      ...['user.created', 'user.updated', 'user.updated', 'invitation.created', 'invitation.revoked'],
      ...['session.created', 'session.revoked', 'session.created', 'session.revoked'],
    ],
    'one entry each',
  )
  t.notMatch(JSON.stringify(audit), /violet|\$2b/)
  t.equal((await desk.json(['audit', 'list', '--action', 'user'])).length, 3)
})
