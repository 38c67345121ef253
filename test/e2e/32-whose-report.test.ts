/**
 * Lists, aliases, forwards and renames at a real Postfix, each with the client's own name for the recipient
 * (ORCPT) and without: the status is what became of it, and nobody is suppressed for another's death.
 */
import { createTransport } from 'nodemailer'
import t from 'tap'
import { PlainMx } from '../parts/plain-mx.js'
import { Postern } from '../parts/postern.js'
import { freePort, noPostfix, Postfix } from '../parts/postfix.js'

const ALIASES = {
  'list@deliver.test': 'dead1@local5.test, dead2@quota.test, fine@deliver.test',
  'alias@deliver.test': 'dead3@local5.test',
  'forward@deliver.test': 'known@mx.test',
  'old-forward@deliver.test': 'who@local5.test',
  'renamed@deliver.test': 'fine@deliver.test',
}

const why = noPostfix()
if (why !== null) t.plan(0, `skipped: ${why}`)
else {
  const bouncePort = await freePort()
  const mx = await new PlainMx().start()
  const maps = Object.entries(ALIASES).map(([from, to]) => `{ ${from} = ${to} }`)
  const upstream = await new Postfix().start({
    ...{ bouncePort, plainMxPort: mx.port },
    settings: { virtual_alias_maps: `inline:{ ${maps.join(', ')} }` },
  })
  const postern = new Postern({ bounce: { host: '127.0.0.1', port: bouncePort, domain: 'bounce.test' } })
  t.teardown(async () => {
    await postern.remove()
    upstream.stop()
    await mx.stop()
  })
  await postern.start()
  await postern.route(`smtp://127.0.0.1:${upstream.port}?tls=none`)
  const key = await postern.key()
  const client = createTransport({
    ...{ host: '127.0.0.1', port: postern.ports.submission[0] ?? 0, requireTLS: true },
    ...{ tls: { rejectUnauthorized: false }, auth: { user: 'apikey', pass: key }, pool: true },
  })
  t.teardown(() => client.close())

  const send = async (to: string, original: string | null): Promise<string> => {
    const { response } = await client.sendMail({
      ...{ from: 'app@gw.test', to, subject: 'whose report', text: 'hello' },
      ...(original !== null && { dsn: { notify: ['success', 'failure'], recipient: original } }),
    })
    return /em_\w+/.exec(response)?.[0] ?? response
  }

  /** Forwards lead to addresses that we write to as well. */
  const known = await Promise.all(['known@mx.test', 'who@local5.test'].map((to) => send(to, null)))
  for (const id of known) await postern.until(key, id, ['delivered', 'bounced'])

  t.test('the status is what became of it', async (t) => {
    const cases = [
      ['list@deliver.test', 'bounced'],
      ['alias@deliver.test', 'bounced'],
      ['forward@deliver.test', 'delivered'],
      ['old-forward@deliver.test', 'bounced'],
      ['renamed@deliver.test', 'delivered'],
      ['fine@deliver.test', 'delivered'],
    ] as const
    const sent = cases.flatMap(([to, status]) =>
      // as an alias of the client's side gives it, and as an address that we know
      [null, 'root@web01.test', 'known@mx.test'].map((original) => ({ to, status, original })),
    )
    const ids = await Promise.all(sent.map(({ to, original }) => send(to, original)))
    for (const [at, { to, status, original }] of sent.entries()) {
      const record = await postern.until(key, ids[at] ?? '', [status])
      t.equal(record.status, status, `${to}, ORCPT ${original}`)
    }
    const { body } = await postern.api('GET', '/v1/suppressions', key)
    t.same(
      body.data.map(({ email }: { email: string }) => email),
      ['who@local5.test'],
      'who was written to as such, and is dead',
    )
  })

  t.test('an address that is dead itself is suppressed, whatever the client called it', async (t) => {
    const id = await send('gone@local5.test', 'root@web01.test')
    await postern.until(key, id, ['bounced'])
    const { body } = await postern.api('GET', '/v1/suppressions', key)
    t.ok(body.data.some(({ email }: { email: string }) => email === 'gone@local5.test'))
    const events = (await postern.api('GET', `/v1/emails/${id}/events`, key)).body.data
    const told = events.find(({ source }: { source: string }) => source === 'dsn')
    const path = `/v1/emails/${id}/events/${told.id}/report`
    const { text } = await postern.api('GET', path, key)
    t.match(text, /^Original-Recipient: ?rfc822; ?root@web01\.test\r?$/m, 'and the report is kept')
    const { stdout } = await postern.cli('bounce', 'show', told.id)
    t.match(stdout, /^Final-Recipient: ?rfc822; ?gone@local5\.test$/m)
  })
}
