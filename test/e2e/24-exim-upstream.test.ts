/**
 * A second real MTA as upstream: Exim, over STARTTLS with a certificate of a
 * private authority and a login. Its own reports come back through the bounce
 * door.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { here } from '../cli/desk.js'
import { authority } from '../parts/certificates.js'
import { eventually } from '../parts/eventually.js'
import { Exim, noExim } from '../parts/exim.js'
import { Postern } from '../parts/postern.js'
import { freePort } from '../parts/postfix.js'

const why = noExim()
if (why !== null) t.plan(0, `skipped: ${why}`)
else {
  t.setTimeout(120_000)
  const { caFile, issue } = await authority(t)
  const bouncePort = await freePort()
  const login = { user: 'gateway', password: 'right horse' }
  const upstream = await new Exim().start({ bouncePort, pair: await issue('localhost'), login })
  const postern = new Postern({
    bounce: { host: '127.0.0.1', port: bouncePort, domain: 'bounce.test' },
    relay: { poll: '100ms' },
  })
  t.teardown(async () => {
    await postern.remove()
    await upstream.stop()
  })
  await postern.start()
  const secret = join(postern.dir, 'upstream-password')
  writeFileSync(secret, `${login.password}\n`, { mode: 0o600 })
  const url = (query: string) =>
    `smtp://${login.user}@localhost:${upstream.port}?password_file=${secret}&${query}`
  await postern.route(url(`tls=verify&ca_file=${caFile}`))
  const key = await postern.key()
  const send = async (to: string | string[], more: object = {}): Promise<string> => {
    const mail = { from: 'App <app@gw.test>', to, subject: 'exim', text: 'hello', ...more }
    const answer = await postern.api('POST', '/v1/emails', key, mail)
    if (answer.status !== 202) throw new Error(answer.text)
    return answer.body.id
  }

  t.test('postern upstream test', async (t) => {
    const { code, stdout } = await here(['upstream', 'test', '--json', '--config', postern.configFile])
    t.equal(code, 0)
    t.match(JSON.parse(stdout), [{ ok: true, dsn: true, tls: /^TLSv1/, said: /signed in/ }])
  })

  t.test('delivered, told by a success report', { timeout: 60_000 }, async (t) => {
    const record = await postern.until(
      key,
      await send('ok@deliver.test', { text: 'gr\u00fc\u00dfe\n.dot' }),
      ['delivered'],
    )
    const copy = upstream.delivered().find((raw) => raw.includes(record.message_id)) ?? ''
    t.match(copy, /^Subject: exim$/m)
    t.match(copy, /with esmtpsa/i, 'encrypted and signed in')
  })

  t.test('refused, busy, and bounced by a report', { timeout: 60_000 }, async (t) => {
    const refused = await postern.until(key, await send('nobody@deliver.test'), ['bounced'])
    t.match(refused.recipients[0].last_response, /^550 5\.1\.1/)
    const busy = await postern.until(key, await send('busy@deliver.test'), ['deferred'])
    t.match(busy.recipients[0].last_response, /^451 4\.2\.1/)
    const later = await postern.until(key, await send('who@local5.test'), ['bounced'])
    const events = (await postern.api('GET', `/v1/emails/${later.id}/events`, key)).body.data
    t.match(events[0], { source: 'dsn', type: 'email.bounced' })
  })

  t.test('recipients of one message in one transaction', { timeout: 60_000 }, async (t) => {
    const pool = await here([
      'pool',
      'update',
      'main',
      '--return-path',
      'fixed',
      '--config',
      postern.configFile,
    ])
    t.equal(pool.code, 0, pool.stderr)
    await postern.relayHasRead()
    const id = await send(['one@deliver.test', 'nobody@deliver.test', 'two@deliver.test'])
    const record = await postern.until(key, id, ['sent', 'delivered', 'bounced'])
    t.match(record.counts, { bounced: 1 })
    const counts = async () => (await postern.api('GET', `/v1/emails/${id}`, key)).body.counts
    await eventually('both are delivered', async () => (await counts()).delivered === 2, { seen: counts })
    t.match(await counts(), { delivered: 2, bounced: 1 }, 'its report speaks for both')
    const copies = () => upstream.delivered().filter((raw) => raw.includes(record.message_id))
    await eventually('a copy at the upstream', () => copies().length > 0)
    t.equal(upstream.log().match(new RegExp(`id=${id}@`, 'g'))?.length, 1, 'one message for two')
  })

  t.test('a password that is wrong defers, and says so', async (t) => {
    writeFileSync(secret, 'wrong horse\n')
    await here([
      'pool',
      'update',
      'main',
      '--upstream',
      url(`tls=verify&ca_file=${caFile}`),
      '--config',
      postern.configFile,
    ])
    const { code, stdout } = await here(['upstream', 'test', '--json', '--config', postern.configFile])
    t.equal(code, 69)
    t.match(JSON.parse(stdout), [{ ok: false, stage: 'auth' }])
    t.notMatch(stdout, 'horse')
  })
}
