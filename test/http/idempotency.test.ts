/** The Idempotency-Key header, over the wire. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { type Ask, MAIL, openKit } from './kit.js'
import { raw } from './raw.js'

const kit = await openKit()
t.teardown(() => kit.stop())

const send = (idempotencyKey: string, body: unknown, more: Partial<Ask> = {}) =>
  kit.ask('/v1/emails', { ...more, body, headers: { 'idempotency-key': idempotencyKey, ...more.headers } })

const total = async (key = kit.key): Promise<number> =>
  (await kit.ask('/v1/emails', { key })).json.pagination.total

t.test('a retry replays byte for byte', async (t) => {
  const first = await send('a', MAIL)
  const again = await send('a', MAIL)
  t.equal(again.status, 202)
  t.equal(again.text, first.text)
  t.equal(again.headers.get('location'), first.headers.get('location'))
  t.equal(first.headers.get('idempotent-replayed'), null)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.not(again.headers.get('x-request-id'), first.headers.get('x-request-id'))
  t.equal(await total(), 1)
})

t.test('white space, key order, escapes and compression do not matter; values do', async (t) => {
  const first = await send('b', MAIL)
  const { from, to, subject, text } = MAIL
  t.equal((await send('b', JSON.stringify({ text, subject, to, from }, null, 4))).text, first.text)
  t.equal((await send('b', JSON.stringify(MAIL).replace('"Hi"', '"\\u0048i"'))).text, first.text)
  const packed = gzipSync(JSON.stringify(MAIL))
  const reply = await fetch(`${kit.url}/v1/emails`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${kit.key}`,
      'content-type': 'application/json',
      'content-encoding': 'gzip',
      'idempotency-key': ' b ',
    },
    body: packed,
  })
  t.equal(await reply.text(), first.text)
  for (const other of [
    { ...MAIL, to: [to] },
    { ...MAIL, cc: null },
    { ...MAIL, text: 'Hello ' },
  ]) {
    const mismatch = await send('b', other)
    t.equal(mismatch.status, 409)
    t.equal(mismatch.json.code, 'idempotency.body_mismatch')
  }
})

t.test('a refused request leaves the key free', async (t) => {
  t.equal((await send('c', { to: 5 })).status, 422)
  t.equal((await send('c', { ...MAIL, to: 'nonsense' })).status, 422)
  t.equal((await send('c', MAIL)).status, 202)
})

t.test('keys are shared by the credentials of one workspace and mode, and by no others', async (t) => {
  const first = await send('d', MAIL)
  const named = { key: kit.platform, headers: { 'x-workspace-id': kit.workspaceId } }
  t.equal((await send('d', MAIL, named)).text, first.text)
  const test = await kit.tenants.createKey(kit.accountId, { name: 't', workspace: 'default', mode: 'test' })
  t.not((await send('d', MAIL, { key: test.secret })).json.id, first.json.id)
  const other = await kit.tenants.createWorkspace(kit.accountId, { name: 'Other' })
  const elsewhere = await send('d', MAIL, { key: kit.platform, headers: { 'x-workspace-id': other.id } })
  t.not(elsewhere.json.id, first.json.id)
})

t.test('50 at once: one email', async (t) => {
  const before = await total()
  const replies = await Promise.all(Array.from({ length: 50 }, () => send('e', MAIL)))
  const made = replies.filter((one) => one.status === 202 && !one.headers.get('idempotent-replayed'))
  t.equal(made.length, 1)
  for (const one of replies) {
    if (one.status === 202) t.equal(one.text, made[0]?.text)
    else
      t.strictSame(
        [one.status, one.json.code, one.headers.get('retry-after')],
        [409, 'idempotency.in_progress', '1'],
      )
  }
  t.equal(await total(), before + 1)
})

t.test('256 bytes are a key, 257 are not; bytes count, not letters', async (t) => {
  const post = (key: string | Buffer) =>
    raw(
      kit.port,
      Buffer.concat([
        Buffer.from(
          `POST /v1/emails HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${kit.key}\r\n`,
        ),
        Buffer.from(`Content-Length: ${JSON.stringify(MAIL).length}\r\nIdempotency-Key: `),
        Buffer.from(key),
        Buffer.from(`\r\n\r\n${JSON.stringify(MAIL)}`),
      ]),
    )
  t.equal((await post('k'.repeat(256))).status, 202)
  t.equal((await post('k'.repeat(257))).status, 400)
  t.equal((await post('\u00e9'.repeat(128))).status, 202)
  t.equal((await post('\u00e9'.repeat(129))).status, 400)
  t.equal((await post(Buffer.alloc(100, 0xe9))).status, 202, 'not even UTF-8')
})

t.test('after 24 hours the key is new', async (t) => {
  const first = await send('f', MAIL)
  kit.clock.advance(24 * 3_600_000 - 5_000)
  t.equal((await send('f', MAIL)).text, first.text)
  kit.clock.advance(10_000)
  const anew = await send('f', { ...MAIL, subject: 'Other' })
  t.equal(anew.status, 202)
  t.not(anew.json.id, first.json.id)
})

t.test('a batch replays too, and its validation mode is part of it', async (t) => {
  const batch = (mode: string) =>
    kit.ask('/v1/emails/batch', {
      body: [MAIL, MAIL],
      headers: { 'idempotency-key': 'g', 'x-batch-validation': mode },
    })
  const first = await batch('strict')
  const again = await batch('strict')
  t.equal(again.text, first.text)
  t.equal(again.headers.get('idempotent-replayed'), 'true')
  t.equal((await batch('permissive')).json.code, 'idempotency.body_mismatch')
  t.equal((await send('g', MAIL)).json.code, 'idempotency.body_mismatch', 'another route')
})

t.test('the header means nothing elsewhere', async (t) => {
  t.equal((await kit.ask('/v1/emails', { headers: { 'idempotency-key': '' } })).status, 200)
})
