/**
 * Real clients at the submission door, with STARTTLS and with implicit TLS: each
 * is taken in, its envelope decides, its bytes go on as they were but for the
 * trace line and the Bcc field, and a wrong password is refused.
 */
import t from 'tap'
import { CLIENTS, drive, missing, type Order, type SmtpClient } from '../parts/clients.js'
import { PlainMx } from '../parts/plain-mx.js'
import { Postern } from '../parts/postern.js'

const CRLF = '\r\n'
const FIELDS = [
  'From: App <app@acme.test>',
  'To: Ana <ana@example.com>',
  'Cc: cc@example.com',
  'Bcc: hidden@example.com,',
  '\tfolded@example.com',
  'Subject: =?utf-8?q?Zam=C3=B3wienie_42?=',
  'Date: Fri, 20 Nov 2026 10:00:00 +0000',
  'MIME-Version: 1.0',
  'Content-Type: text/plain; charset=utf-8',
  'Content-Transfer-Encoding: 8bit',
]
const BODY = ['.', '..', '.leading dot', 'Grüße, 日本', '', 'x'.repeat(900), 'From the start', 'end', '']

/** The message of a test; `tag` finds it again. */
const messageOf = (tag: string, more = ''): Buffer =>
  Buffer.from([...FIELDS, `Message-ID: <${tag}@acme.test>`, '', ...BODY, more].join(CRLF).trimEnd() + CRLF)

const postern = new Postern()
const mx = await new PlainMx().start()
t.teardown(async () => {
  await postern.remove()
  await mx.stop()
})
await postern.start()
await postern.route(`smtp://127.0.0.1:${mx.port}?tls=none`)
const key = await postern.key()
const to = ['ana@example.com', 'cc@example.com', 'hidden@example.com']

const orderFor = (implicit: boolean, message: Buffer): Order => ({
  port: postern.ports.submission[implicit ? 1 : 0] ?? 0,
  implicit,
  user: 'apikey',
  password: key,
  from: 'app@acme.test',
  to,
  message,
})

/** What left for each recipient of an email, once all did. */
const leftFor = async (id: string): Promise<string[]> => {
  await postern.until(key, id, ['sent'])
  return mx.messages.filter((raw) => raw.includes(` id ${id}`))
}

/** Without the trace line on top. */
const untraced = (raw: string): string =>
  raw.replace(/^X-Postern-Ref: .*\r\n/, '').replace(/^Received: .*\r\n(?:[ \t].*\r\n)*/, '')

const withoutBcc = (raw: Buffer): string =>
  raw.toString('latin1').replace(/^Bcc: .*\r\n(?:[ \t].*\r\n)*/m, '')

const idIn = async (client: SmtpClient, output: string, tag: string): Promise<string> => {
  const said = /queued as (em_[0-9a-z]{26})/.exec(output)?.[1]
  if (said !== undefined) return said
  // some clients do not show what the server said: the newest mail is theirs
  const { body } = await postern.api('GET', '/v1/emails?limit=1', key)
  const [newest] = body.data
  if (client.carries && newest?.message_id !== `<${tag}@acme.test>`)
    throw new Error(`${tag} is not there\n${output}`)
  return newest.id
}

for (const [n, client] of CLIENTS.entries()) {
  t.test(client.name, async (t) => {
    const why = missing(client)
    if (why !== null) return void t.comment(`skipped: ${why}`)
    for (const implicit of [false, true]) {
      const tag = `${n}-${implicit ? 'tls' : 'starttls'}`
      const message = messageOf(tag)
      const { accepted, output } = await drive(client, orderFor(implicit, message))
      if (!t.ok(accepted, `${tag} is accepted`)) return t.comment(output)
      const id = await idIn(client, output, tag)
      const record = (await postern.api('GET', `/v1/emails/${id}`, key)).body
      t.same(record.recipients.map((one: { address: string }) => one.address).sort(), [...to].sort())
      t.match(record, { source: 'smtp', bcc: ['hidden@example.com'] })
      const left = await leftFor(id)
      t.equal(left.length, to.length, 'one copy for each recipient of the envelope')
      for (const raw of left) {
        t.notMatch(raw, /^bcc:|folded@|hidden@example\.com/im)
        if (client.carries) t.equal(untraced(raw), withoutBcc(message), 'the bytes are the same')
        else t.match(raw, /^\.leading\r$/m)
      }
    }
    const order = orderFor(false, messageOf(`${n}-refused`))
    const refused = await drive(client, { ...order, password: `${key}x` })
    t.notOk(refused.accepted, 'a wrong password is refused')
    if (!client.carries) return
    const big = messageOf(`${n}-big`, `${'0123456789'.repeat(7)}${CRLF}`.repeat(30_000))
    const sent = await drive(client, orderFor(false, big))
    if (!t.ok(sent.accepted, 'two megabytes')) return t.comment(sent.output.slice(-2_000))
    const [raw = ''] = await leftFor(await idIn(client, sent.output, `${n}-big`))
    t.ok(untraced(raw) === withoutBcc(big), 'and the same bytes')
  })
}

t.test('nothing of a refused login was kept', async (t) => {
  const { body } = await postern.api('GET', '/v1/emails?limit=100', key)
  t.notOk(body.data.some((one: { message_id: string }) => one.message_id.includes('refused')))
})
