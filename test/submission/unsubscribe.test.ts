import { randomBytes } from 'node:crypto'
import t from 'tap'
import type { FieldError } from '../../src/base/fault.js'
import { seal } from '../../src/base/secret.js'
import { checkUnsubscribe, isReached, linked, readToken, tokenOf } from '../../src/submission/unsubscribe.js'
import { mailFor, toOne } from '../store/fixture.js'

const pepper = randomBytes(32)
const READER = {
  accountId: 'acc_1',
  workspaceId: 'ws_1',
  mode: 'live',
  list: 'news',
  email: 'ana@example.com',
  emailId: 'em_1',
} as const

t.test('a token opens what it was made for, under its pepper and its purpose', async (t) => {
  const token = tokenOf(pepper, READER)
  t.same(readToken(pepper, token), READER)
  t.equal(readToken(randomBytes(32), token), null)
  t.equal(readToken(pepper, seal(pepper, 'another purpose', JSON.stringify(Object.values(READER)))), null)
  for (let i = 0; i < token.length; i++) {
    const other = token[i] === 'A' ? 'B' : 'A'
    t.equal(readToken(pepper, token.slice(0, i) + other + token.slice(i + 1)), null)
  }
  for (const odd of [
    '',
    'x',
    `${token}=`,
    ` ${token}`,
    `${token}\n`,
    token.slice(1),
    token + token,
    '-'.repeat(60),
  ])
    t.equal(readToken(pepper, odd), null, odd)
})

t.test('readers must reach it', async (t) => {
  const reached = (url: string | undefined) => isReached(url)
  for (const url of ['https://mail.example.com', 'https://mail.example.com:8443/x/', 'https://192.0.2.7'])
    t.ok(reached(url), url)
  for (const url of [
    undefined,
    'http://mail.example.com',
    'https://localhost',
    'https://127.0.0.2:8080',
    'https://[::1]',
    'https://0.0.0.0:8080',
    'https://[::]',
  ])
    t.notOk(reached(url), String(url))
})

t.test('all that is wrong is said at once', async (t) => {
  const errors: FieldError[] = []
  const names = () => ['subject', 'list-unsubscribe']
  const signed = () => ['from', 'list-unsubscribe-post']
  checkUnsubscribe(null, { at: 'x', baseUrl: undefined, recipients: 9, names, signed }, errors)
  t.same(errors, [], 'of a mail without a list nothing is')
  checkUnsubscribe('No', { at: 'x', baseUrl: 'http://a.test', recipients: 2, names, signed }, errors)
  t.same(
    errors.map(({ kind }) => kind),
    ['format', 'unsupported', 'too_many', 'not_unique', 'not_unique'],
  )
})

t.test('the longest address and list fit into a line, and a login of base_url stays here', async (t) => {
  const email = `${'a'.repeat(64)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.test`
  const at = { accountId: 'acc_1', workspace: { id: 'ws_1' }, poolId: 'pool_1' } as Parameters<
    typeof mailFor
  >[0]
  const extras = { unsubscribe_list: 'x'.repeat(64) }
  const mail = mailFor(at, {
    recipients: [toOne(email)],
    extras,
    raw: Buffer.from('Received: a\r\n b\r\nSubject: x\r\n\r\nHi\r\n'),
  })
  const config = { base_url: 'https://gw:secret@mail.example.com/post/' }
  const lines = Buffer.from(linked({ pepper, config }, mail).raw).toString().split('\r\n')
  t.same(lines.slice(0, 2), ['Received: a', ' b'])
  t.match(lines[2], /^List-Unsubscribe: <https:\/\/mail\.example\.com\/post\/u\/[\w-]+>$/)
  t.ok((lines[2] ?? '').length < 998)
  t.same(lines.slice(3), ['List-Unsubscribe-Post: List-Unsubscribe=One-Click', 'Subject: x', '', 'Hi', ''])
  const token = /\/u\/([\w-]+)>/.exec(lines[2] ?? '')?.[1] ?? ''
  t.match(readToken(pepper, token), { email, mode: 'live' })
  t.equal(linked({ config }, { ...mail, extras: null }).raw, mail.raw)
})
