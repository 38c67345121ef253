/** A mail sent again, through the whole product: by HTTP and by the command line, to a real upstream. */
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { PlainMx } from '../parts/plain-mx.js'
import { Postern } from '../parts/postern.js'

t.setTimeout(120_000)
const mx = await new PlainMx().start()
t.teardown(() => mx.stop())
const postern = new Postern()
t.teardown(() => postern.remove())
await postern.start()
await postern.route(`smtp://127.0.0.1:${mx.port}?tls=none`)
const key = await postern.key()

const fieldOf = (raw: string, name: string) => new RegExp(`^${name}: (.*)\r\n`, 'im').exec(raw)?.[1]
const arrived = (count: number) => eventually(`${count} mails`, () => mx.messages.length >= count)

t.test('to those that bounced, then to another by a person', async (t) => {
  const mail = {
    from: 'a@acme.test',
    to: ['ana@example.com', 'nobody@example.com'],
    subject: 'Hi',
    text: 'Hello',
  }
  const { id } = (await postern.api('POST', '/v1/emails', key, mail)).body
  await postern.until(key, id, ['sent', 'bounced'])
  const again = await postern.api('POST', `/v1/emails/${id}/resend`, key, { to: null })
  t.equal(again.status, 202)
  const bounced = await postern.until(key, again.body.id, ['bounced'])
  t.strictSame(
    bounced.recipients.map(({ address }: { address: string }) => address),
    ['nobody@example.com'],
  )
  const session = (await postern.json('session', 'create')).token
  const moved = await postern.api('POST', `/v1/emails/${id}/resend`, session, { to: 'eve@example.com' })
  t.equal(moved.status, 202)
  await postern.until(key, moved.body.id, ['sent'])
  await arrived(2)
  const [first = '', second = ''] = mx.messages
  t.match(fieldOf(first, 'Message-ID'), id)
  t.match(fieldOf(second, 'Message-ID'), moved.body.id)
  t.match(second, /\r\n\r\nHello/)
})

t.test('from the command line, beside the daemon', async (t) => {
  const before = mx.messages.length
  const { id } = (
    await postern.api('POST', '/v1/emails', key, { from: 'a@acme.test', to: 'bo@example.com', text: 'Two' })
  ).body
  await postern.until(key, id, ['sent'])
  const made = await postern.json('email', 'resend', id)
  t.match(made, { object: 'email', resent_from: id, recipients: [{ address: 'bo@example.com' }] })
  await postern.until(key, made.id, ['sent'])
  await arrived(before + 2)
  t.equal((await postern.json('email', 'show', made.id)).resent_from, id)
  t.match(await postern.cli('email', 'show', made.id), { stdout: new RegExp(`again.*${id}`) })
  const source = await postern.cli('email', 'source', made.id)
  const overHttp = await postern.api('GET', `/v1/emails/${made.id}/source`, key)
  t.equal(source.stdout, overHttp.text)
  const asJson = await postern.json('email', 'source', made.id)
  t.equal(Buffer.from(asJson.raw, 'base64').toString(), overHttp.text)
  t.match(await postern.cli('email', 'resend', id, '--to', 'nonsense'), { code: 65, stderr: /--?to|address/ })
  t.match(await postern.cli('email', 'resend', 'em_01k9f3m2zq8v6t4r2p0nxcwbha'), { code: 65 })
})

t.test('a source goes back in as raw', async (t) => {
  const before = mx.messages.length
  const { id } = (
    await postern.api('POST', '/v1/emails', key, { from: 'a@acme.test', to: 'cy@example.com', text: 'Three' })
  ).body
  await postern.until(key, id, ['sent'])
  const { raw } = await postern.json('email', 'source', id)
  const again = await postern.api('POST', '/v1/emails', key, { to: 'cy@example.com', raw })
  t.equal(again.status, 202)
  await postern.until(key, again.body.id, ['sent'])
  await arrived(before + 2)
  const [one = '', other = ''] = mx.messages.slice(before)
  const bare = (raw: string) => raw.replace(/^X-Postern-Ref: [^\n]*\n/, '')
  t.equal(bare(other).replace(/^Received: [^\n]*\n(?:[ \t][^\n]*\n)*/, ''), bare(one))
})
