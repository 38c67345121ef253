/**
 * Mail through real servers that take tokens only (smtp-server, XOAUTH2), as the relay sends it.
 */
import { writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import t, { type Test } from 'tap'
import type { OauthRow } from '../../../src/store/port/tenants.js'
import { mail, poolRow, startFlow, upstreamRow } from '../parts.js'
import { tokenEndpoint } from './endpoint.js'

const NOTHING: OauthRow = {
  ...{ tokenFile: null, serviceAccountFile: null, tokenUrl: null, clientId: null },
  ...{ sealedSecret: null, sealedRefreshToken: null, scope: null },
}

/** Takes `good` tokens only. */
const office = async (t: Test, good: Set<string>) => {
  const logins: string[] = []
  const server = new SMTPServer({
    authMethods: ['XOAUTH2'],
    logger: false,
    onAuth: ({ username, accessToken = '' }, _session, done) => {
      logins.push(`${username} ${accessToken}`)
      if (good.has(accessToken)) return done(null, { user: username })
      done(null, { data: { status: '401', schemes: 'bearer mac', scope: 'mail' } } as never)
    },
    onData: (stream, _session, done) => {
      stream.resume()
      stream.on('end', () => done())
    },
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())))
  return { logins, port: (server.server.address() as AddressInfo).port }
}

const start = (port: number, oauth: Partial<OauthRow>) => {
  const login = { user: 'gw@acme.test', oauth: { ...NOTHING, ...oauth } }
  const row = upstreamRow(port, { host: 'localhost', tls: 'required', ...login })
  return startFlow([poolRow([row])], { timeouts: { connect: 10_000, greeting: 10_000 } })
}

t.test('one token serves many mails; a refused one is asked for anew', async (t) => {
  const good = new Set(['t1'])
  const { logins, port } = await office(t, good)
  const endpoint = await tokenEndpoint(t, (_, nth) => ({ access_token: `t${nth}`, expires_in: 3600 }))
  const { queue, pools, stop } = start(port, { tokenUrl: endpoint.url, clientId: 'gw', sealedSecret: 's' })
  queue.add(mail())
  await queue.settled(1)
  queue.add(mail())
  await queue.settled(2)
  t.same(logins, ['gw@acme.test t1'], 'a kept connection asks for nothing')
  good.clear()
  good.add('t2')
  // its connections go, as they do when a server restarts
  for (const upstream of pools.upstreams()) upstream.abortAll()
  queue.add(mail())
  await queue.settled(3)
  t.match(queue.outcomes, Array(3).fill({ seen: 'accepted' }))
  t.same(logins.slice(1), ['gw@acme.test t1', 'gw@acme.test t2'])
  await stop()
})

t.test('a file, and a token that nobody takes', async (t) => {
  const { port } = await office(t, new Set(['good']))
  const tokenFile = join(t.testdir(), 'token')
  writeFileSync(tokenFile, 'good\n')
  const fine = start(port, { tokenFile })
  fine.queue.add(mail())
  await fine.queue.settled(1)
  t.match(fine.queue.outcomes, [{ seen: 'accepted' }])
  await fine.stop()
  writeFileSync(tokenFile, 'canary-token\n')
  const bad = start(port, { tokenFile })
  bad.queue.add(mail())
  await bad.queue.settled(1)
  t.match(bad.queue.outcomes, [
    {
      seen: 'postponed',
      detail: { stage: 'auth', error: /^XOAUTH2 refused: 535 .*\(status 401, scope mail\)$/ },
    },
  ])
  t.notMatch(JSON.stringify([bad.queue.outcomes, bad.lines]), 'canary')
  await bad.stop()
})

t.test('without a token the mail waits, and nothing is said to the server', async (t) => {
  const { logins, port } = await office(t, new Set())
  const endpoint = await tokenEndpoint(t, () => [401, { error: 'invalid_client' }])
  const { queue, stop } = start(port, { tokenUrl: endpoint.url, clientId: 'gw', sealedSecret: 's' })
  queue.add(mail())
  await queue.settled(1)
  t.match(queue.outcomes, [
    { seen: 'postponed', detail: { stage: 'auth', error: /^no token: .* answered 401 invalid_client$/ } },
  ])
  t.same(logins, [])
  await stop()
})
