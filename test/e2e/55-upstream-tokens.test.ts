/**
 * A whole daemon whose upstream takes tokens only: added on the command line, tried, used, with refresh
 * tokens that rotate, across a restart; and no secret anywhere.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { tokenEndpoint } from '../relay/oauth/endpoint.js'

const CANARY = 'canary-0123456789'
const postern = new Postern({ oauth: { allow_networks: ['127.0.0.0/8'] } })
t.teardown(() => postern.remove())
await postern.start()
const key = await postern.key()

/** Its refresh token is good once. */
const state = { refresh: `${CANARY}-0`, tokens: 0, logins: [] as string[] }
const endpoint = await tokenEndpoint(t, ({ refresh_token }) => {
  if (refresh_token !== state.refresh)
    return [400, { error: 'invalid_grant', error_description: refresh_token }]
  state.tokens++
  state.refresh = `${CANARY}-${state.tokens}`
  return { access_token: `${CANARY}-token-${state.tokens}`, refresh_token: state.refresh, expires_in: 3600 }
})
const office = new SMTPServer({
  authMethods: ['XOAUTH2'],
  logger: false,
  onAuth: ({ username, accessToken = '' }, _session, done) => {
    state.logins.push(accessToken)
    if (accessToken === `${CANARY}-token-${state.tokens}`) return done(null, { user: username })
    done(null, { data: { status: '401', schemes: 'bearer mac', scope: 'mail' } } as never)
  },
  onData: (stream, _session, done) => {
    stream.resume()
    stream.on('end', () => done())
  },
})
office.on('error', () => {})
await new Promise<void>((resolve) => office.listen(0, '127.0.0.1', resolve))
t.teardown(() => new Promise<void>((resolve) => office.close(() => resolve())))
const { port } = office.server.address() as AddressInfo

const send = async (subject: string): Promise<void> => {
  const answer = await postern.api('POST', '/v1/emails', key, {
    ...{ from: 'gw@acme.test', to: 'ana@example.test', subject, text: 'hello' },
  })
  t.equal(answer.status, 202, answer.text)
  await postern.until(key, answer.body.id, ['sent'])
}

t.test('added, tried, used, restarted', async (t) => {
  const file = join(t.testdir(), 'refresh')
  writeFileSync(file, `${state.refresh}\n`)
  const login = ['--token-url', endpoint.url, '--client-id', 'gw', '--refresh-token-file', file]
  const url = `smtp://gw%40acme.test@localhost:${port}?tls=required`
  const [added] = await postern.json('upstream', 'add', 'default', url, ...login)
  t.match(added, { host: 'localhost', has_auth: true, has_oauth: true, auth_mechanism: null })
  await send('one')
  const kept = state.tokens
  await send('two')
  t.equal(state.tokens, kept, 'the token is still good')
  const tried = await postern.json('upstream', 'test')
  t.match(tried, [
    { ok: true, auth_offered: ['XOAUTH2'], auth_mechanism: 'XOAUTH2', said: /signed in by XOAUTH2/ },
  ])
  t.equal(state.tokens, kept + 1, 'a trial asks for a token of its own')
  await postern.stop()
  await postern.start()
  await send('three')
  t.equal(state.tokens, kept + 2, 'each new refresh token was stored')
})

t.test('a refresh token that is over is told in words, and nothing shows a secret', async (t) => {
  state.refresh = 'something else'
  const { stdout, stderr, code } = await postern.cli('upstream', 'test')
  t.equal(code, 69)
  t.match(stdout, /no token: 127\.0\.0\.1:\d+ answered 400 invalid_grant: …/)
  const doctor = await postern.cli('doctor')
  t.match(doctor.stdout, /auth failed: no token/)
  t.match(doctor.stdout, /token_url=http:/, 'the remedy keeps every part of the URL')
  const pool = await postern.cli('pool', 'show', 'default', '--json')
  for (const text of [stdout, stderr, doctor.stdout, pool.stdout, postern.output.join('\n')])
    t.notMatch(text, CANARY)
  for (const name of readdirSync(join(postern.dir)))
    if (name.startsWith('postern.db')) t.notOk(readFileSync(join(postern.dir, name)).includes(CANARY), name)
})

t.test('mail that waits for a token says so, in the API, in the log and on the command line', async (t) => {
  await postern.stop()
  await postern.start()
  const { body } = await postern.api('POST', '/v1/emails', key, {
    ...{ from: 'gw@acme.test', to: 'ana@example.test', subject: 'four', text: 'hello' },
  })
  const asked = async () => (await postern.api('GET', `/v1/emails/${body.id}`, key)).body
  await postern.until(key, body.id, ['deferred'])
  // the relay tells once a second what it knows of its upstreams
  await eventually('it waits for a login', async () => (await asked()).waiting?.reason === 'login')
  t.match((await asked()).waiting, { reason: 'login', detail: /lets us sign in/ })
  const shown = await postern.cli('email', 'show', body.id)
  t.match(shown.stdout, /no upstream of pool default lets us sign in/)
  t.match(shown.stdout, /no token: 127\.0\.0\.1:\d+ answered 400 invalid_grant/)
  const { body: log } = await postern.api('GET', `/v1/emails/${body.id}/events`, key)
  t.match(log.data[0], {
    type: 'email.deferred',
    detail: { stage: 'auth', error: /no token: 127\.0\.0\.1:\d+ answered 400/ },
  })
})
