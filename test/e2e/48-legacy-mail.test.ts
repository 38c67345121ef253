/**
 * Mail as old software hands it in, through the whole product to an upstream that offers
 * everything: bare line ends, a raw 8-bit subject, no From, and the null sender, which stays
 * the null sender over a resend, a restart and a reroute.
 */
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { UpstreamServer } from '../relay/upstream-server.js'
import { dial } from '../smtp/client.js'

t.setTimeout(120_000)
const upstream = new UpstreamServer()
const port = await upstream.listen()
const postern = new Postern({
  submission: [{ host: '127.0.0.1', port: 0, tls: 'none' }],
  default_from: 'Scanner <scanner@acme.test>',
})
t.teardown(async () => {
  await postern.remove()
  await upstream.close()
})
await postern.start()
await postern.route(`smtp://127.0.0.1:${port}?tls=none`)
const key = await postern.key()

/** Says the commands, then these octets; resolves with the last reply. */
const submit = async (from: string, to: string, octets: string): Promise<string> => {
  const client = dial(postern.ports.submission[0] ?? 0)
  const login = Buffer.from(`\0any\0${key}`).toString('base64')
  client.socket.write(`EHLO x\r\nAUTH PLAIN ${login}\r\nMAIL FROM:<${from}>\r\nRCPT TO:<${to}>\r\nDATA\r\n`)
  await client.until(/^(?:354|5\d\d) /m)
  client.socket.write(Buffer.from(`${octets}\r\n.\r\nQUIT\r\n`))
  return (await client.closed()).split('\r\n').find((line) => /queued as|^554 /.test(line)) ?? client.heard()
}
const taken = async (from: string, to: string, octets: string): Promise<string> => {
  const reply = await submit(from, to, octets)
  const id = /queued as (em_\w+)/.exec(reply)?.[1]
  if (id === undefined) throw new Error(reply)
  return id
}
const arrived = (count: number) => eventually(`${count} mails`, () => upstream.received.length >= count)

t.test('bare line ends, no From, a raw subject', async (t) => {
  const id = await taken(
    'scanner@acme.test',
    'ana@example.com',
    'To: ana@example.com\nSubject: Zażółć\n\none\rtwo',
  )
  await postern.until(key, id, ['sent', 'delivered'])
  const [got] = upstream.received
  t.notMatch(got?.mail, /SMTPUTF8/)
  t.match(got?.wire, /^From: Scanner <scanner@acme\.test>\r$/m)
  t.match(got?.wire, /^Subject: =\?UTF-8\?/m)
  t.match(got?.wire, /\r\n\r\none\r\ntwo\r\n$/)
  await postern.json('workspace', 'update', 'default', '--line-endings', 'strict')
  const refused = await submit('scanner@acme.test', 'ana@example.com', 'Subject: x\n\none')
  t.match(refused, /^554 5\.6\.0 .*line_endings.*normalize/)
  await postern.json('workspace', 'update', 'default', '--line-endings', 'normalize')
})

t.test('odd dots go out as they came, by both doors', async (t) => {
  const mail = 'From: a@acme.test\r\nTo: x.@docomo.test\r\nSubject: x\r\n\r\none'
  const ids = [await taken('a@acme.test', '.x@docomo.test', mail)]
  const to = ['a..b@docomo.test', 'Ann <x.@docomo.test>']
  ids.push((await postern.api('POST', '/v1/emails', key, { from: 'a@acme.test', to, text: 'x' })).body.id)
  for (const id of ids) await postern.until(key, id, ['sent', 'delivered'])
  const rcpt = upstream.lines
    .filter((line) => line.includes('@docomo.test'))
    .map((line) => line.split(' ')[1])
  t.same(rcpt.sort(), ['TO:<.x@docomo.test>', 'TO:<a..b@docomo.test>', 'TO:<x.@docomo.test>'])
  t.match(upstream.received.at(-1)?.wire, /^To: a\.\.b@docomo\.test,\s+Ann <x\.@docomo\.test>\r$/m)
  const test = await postern.key('--mode', 'test')
  const { body } = await postern.api('POST', '/v1/emails', test, { from: 'a@acme.test', to, text: 'x' })
  await postern.until(test, body.id, ['sent', 'delivered'])
})

t.test('the null sender stays one', async (t) => {
  const bounce = 'From: MAILER-DAEMON <MAILER-DAEMON@legacy.test>\r\nSubject: Undelivered\r\n\r\nx'
  const id = await taken('', 'bo@example.com', bounce)
  await postern.until(key, id, ['sent'])
  t.match(upstream.received.at(-1)?.mail, /^MAIL FROM:<> /)
  t.match(upstream.received.at(-1)?.rcpt, [/NOTIFY=NEVER/])
  const again = await postern.api('POST', `/v1/emails/${id}/resend`, key, { to: null })
  await postern.until(key, again.body.id, ['sent'])
  t.match(upstream.received.at(-1)?.mail, /^MAIL FROM:<> /)

  await postern.json('pool', 'create', 'other', '--upstream', `smtp://127.0.0.1:${port}?tls=none`)
  const [member] = (await postern.json('pool', 'show', 'main')).members
  await postern.json('upstream', 'pause', member.id)
  await postern.relayHasRead()
  const count = upstream.received.length
  const later = await taken('', 'cy@example.com', bounce)
  await postern.stop()
  await postern.start()
  await postern.json('queue', 'reroute', '--email', later, '--to', 'other', '--reason', 'x', '--yes')
  await postern.until(key, later, ['sent'])
  await arrived(count + 1)
  t.match(upstream.received.at(-1)?.mail, /^MAIL FROM:<> /)
})
