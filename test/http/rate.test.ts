/** The send window and its headers, over the wire. */
import t from 'tap'
import { type Kit, MAIL, openKit, type Reply } from './kit.js'

const kit = await openKit({ authFailures: 3 })
t.teardown(() => kit.stop())

const headers = ({ headers }: Reply): number[] =>
  ['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`x-ratelimit-${name}`)))

/** A key with a small limit of its own, at the start of a minute. */
const limited = async (
  limit: number,
): Promise<(path: string, ask?: Parameters<Kit['ask']>[1]) => Promise<Reply>> => {
  kit.clock.advance(60_000 - (kit.clock.now() % 60_000))
  const { secret } = await kit.tenants.createKey(kit.accountId, {
    name: 'limited',
    workspace: 'default',
    rateLimitPerMinute: limit,
  })
  return (path, ask) => kit.ask(path, { key: secret, ...ask })
}

t.test('only sends count, also refused ones; reads look', async (t) => {
  const ask = await limited(5)
  const reset = (Math.floor(kit.clock.now() / 60_000) + 1) * 60
  t.strictSame(headers(await ask('/v1/emails')), [5, 5, reset])
  t.strictSame(headers(await ask('/v1/emails', { body: MAIL })), [5, 4, reset])
  t.strictSame(headers(await ask('/v1/emails', { body: {} })), [5, 3, reset], 'invalid')
  t.strictSame(headers(await ask('/v1/emails', { body: '{' })), [5, 2, reset], 'malformed')
  t.strictSame(headers(await ask('/v1/api-keys')), [5, 2, reset], '403')
  t.strictSame(headers(await ask('/v1/emails/em_x')), [5, 2, reset], '404')
  t.strictSame(
    headers(await ask('/v1/emails/batch', { body: [MAIL, MAIL] })),
    [5, 0, reset],
    'one for each item',
  )
  const refused = await ask('/v1/emails', { body: '{' })
  t.equal(refused.json.code, 'rate_limit.exceeded', 'before the body is looked at')
  t.strictSame(headers(refused), [5, 0, reset])
  const wait = Number(refused.headers.get('retry-after'))
  t.ok(wait >= 1 && kit.clock.now() + wait * 1_000 >= reset * 1_000, 'never too early')
  kit.clock.advance(reset * 1_000 - kit.clock.now())
  t.equal((await ask('/v1/emails', { body: MAIL })).status, 202, 'exactly at the reset')
})

t.test('answers that need no credential show the window of the one that came along', async (t) => {
  const ask = await limited(5)
  await ask('/v1/emails', { body: MAIL })
  const reset = (Math.floor(kit.clock.now() / 60_000) + 1) * 60
  const shown = async (path: string, method = 'GET') => headers(await ask(path, { method }))
  t.strictSame(await shown('/v1/nope'), [5, 4, reset], 'unknown route')
  t.strictSame(await shown('/v1/emails', 'DELETE'), [5, 4, reset], 'other method')
  t.strictSame(await shown('/errors'), [5, 4, reset])
  t.strictSame(await shown('/errors/nope'), [5, 4, reset])
  const target = `/v1/emails/${'x'.repeat(20_000)}`
  t.strictSame(headers(await ask(target)), [5, 4, reset], 'refused before its route was looked for')
  t.strictSame(headers(await kit.ask('/errors', { key: null })), [3, 3, reset], 'nobody')
  t.strictSame(headers(await kit.ask('/v1/nope', { key: 'svc_live_x' })), [3, 2, reset], 'a guess counts')
  const guess = `svc_live_${'x'.repeat(44)}`
  for (let n = 0; n < 3; n++) await kit.ask('/errors', { key: guess })
  t.strictSame(headers(await kit.ask('/errors', { key: null })), [3, 0, reset])
  t.equal((await kit.ask('/errors', { key: guess })).status, 200, 'and refuses nothing that is public')
})

t.test('a batch that does not fit is refused as a whole', async (t) => {
  const ask = await limited(4)
  t.equal((await ask('/v1/emails', { body: MAIL })).status, 202)
  const refused = await ask('/v1/emails/batch', { body: [MAIL, MAIL, MAIL, MAIL] })
  t.strictSame([refused.status, headers(refused)[1]], [429, 2], 'its first send is gone')
  t.equal((await ask('/v1/emails/batch', { body: [MAIL, MAIL] })).status, 202)
  const tooMany = await ask('/v1/emails/batch', { body: Array(5).fill(MAIL) })
  t.equal(tooMany.status, 429)
})

t.test('exact under 100 parallel requests', async (t) => {
  const ask = await limited(37)
  const replies = await Promise.all(Array.from({ length: 100 }, () => ask('/v1/emails', { body: MAIL })))
  t.equal(replies.filter(({ status }) => status === 202).length, 37)
  t.equal(replies.filter(({ status }) => status === 429).length, 63)
  t.ok(replies.every((reply) => (headers(reply)[1] ?? -1) >= 0))
})

t.test('HTTP and SMTP share one counter', async (t) => {
  const { secret } = await kit.tenants.createKey(kit.accountId, {
    name: 'shared',
    workspace: 'default',
    rateLimitPerMinute: 2,
  })
  const principal = await kit.tenants.authenticateBearer(secret)
  await kit.tenants.sendWindow.consume(principal, 1)
  t.equal((await kit.ask('/v1/emails', { key: secret, body: MAIL })).status, 202)
  t.equal((await kit.ask('/v1/emails', { key: secret, body: MAIL })).status, 429)
})

t.test('guesses of one address', async (t) => {
  kit.clock.advance(60_000)
  const guess = () => kit.ask('/v1/emails', { key: 'svc_live_x' })
  const first = await guess()
  t.strictSame([first.status, ...headers(first).slice(0, 2)], [401, 3, 2])
  await guess()
  t.equal(headers(await guess())[1], 0)
  const refused = await guess()
  t.equal(refused.json.code, 'rate_limit.auth_failures')
  t.match(refused.headers.get('retry-after'), /^[1-9]\d*$/)
  t.equal((await kit.ask('/v1/emails')).status, 200, 'a good key still passes')
  t.equal((await kit.ask('/v1/emails', { key: null })).json.code, 'auth.credentials_missing')
  kit.clock.advance(60_000)
  t.equal((await guess()).status, 401)
})
