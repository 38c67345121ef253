/**
 * Sending domains: what the command line prints is what the upstream's
 * signatures verify against, and who may not send is told so at both doors.
 */
import t from 'tap'
import { here } from '../cli/desk.js'
import { publishedKey, verifies } from '../parts/dkim-verify.js'
import { DnsServer } from '../parts/dns-server.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { UpstreamServer } from '../relay/upstream-server.js'

const daemon = new Postern()
t.teardown(() => daemon.remove())
await daemon.start()
const key = await daemon.key()
const upstream = new UpstreamServer()
await daemon.route(`smtp://127.0.0.1:${await upstream.listen()}?tls=none`)
t.teardown(() => upstream.close())
const dns = await new DnsServer().start()
t.teardown(() => dns.stop())
const resolver = `127.0.0.1:${dns.port}`

const cli = (...args: readonly string[]) => here([...args, '--config', daemon.configFile])
const json = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await cli(...args, '--json')
  if (code !== 0) throw new Error(`postern ${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}
interface Printed {
  readonly name: string
  readonly value: string
  readonly state: string | null
}
const sent = async (from: string) => {
  const { status, body } = await daemon.api('POST', '/v1/emails', key, {
    from,
    to: 'ana@example.com',
    subject: 'Grüße',
    text: '.dots\r\n..and more  \r\n',
    html: '<p>Hi</p>',
    headers: {
      'List-Unsubscribe': '<https://shop.example/u>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    },
  })
  if (status === 202) await daemon.until(key, body.id, ['sent'])
  const wire = upstream.received.at(-1)?.wire ?? ''
  return { status, body, message: wire.replace(/^\.\./gm, '.') }
}
const selectorsIn = (message: string) => [...message.matchAll(/\bs=(pn\w+);/g)].map((match) => match[1])
/** The relay reads its domains once a second: sends until a mail is signed as it should be by then. */
const signedSo = (from: string, holds: (selectors: readonly (string | undefined)[]) => boolean) =>
  eventually('a mail is signed so', async () => {
    const { message } = await sent(from)
    return holds(selectorsIn(message)) && message
  })

let printed: readonly Printed[] = []
t.test('signed by both keys', async (t) => {
  const unsigned = await sent('a@shop.example')
  t.notMatch(unsigned.message, /DKIM-Signature/)
  const added = await json('domain', 'add', 'shop.example')
  printed = added.records
  t.match(await cli('domain', 'show', 'shop.example'), {
    stdout: /_domainkey\.shop\.example\. IN TXT "v=DKIM1/,
  })
  const message = await signedSo('Shop <a@news.shop.example>', (selectors) => selectors.length > 0)
  const mine = printed.filter(({ name }) => name.includes('_domainkey'))
  t.equal(selectorsIn(message).length, 2)
  for (const { name, value } of mine) {
    t.ok(verifies(message, publishedKey(value), name.split('.')[0]), `${name} verifies`)
  }
  t.match(message, /list-unsubscribe:[\s\S]*list-unsubscribe-post/)
  t.notMatch((await sent('a@other.example')).message, /DKIM-Signature/)
})

t.test('checked in DNS; rotated with overlap', async (t) => {
  t.match(await cli('domain', 'check', 'shop.example', '--resolver', resolver), {
    code: 69,
    stdout: /missing/,
    stderr: /not verified/,
  })
  t.match(await cli('domain', 'check', '--resolver', 'nonsense'), { code: 64 })
  for (const { name, value } of printed) dns.txt.set(name, value)
  t.match(await json('domain', 'check', 'shop.example', '--resolver', resolver), { verified: true })
  const rotated = await json('domain', 'rotate', 'shop.example')
  await daemon.relayHasRead()
  const fresh = (rotated.records as readonly Printed[]).filter(({ state }) => state === 'next')
  t.equal(fresh.length, 2)
  const before = selectorsIn((await sent('a@shop.example')).message)
  t.notOk(before.some((selector) => fresh.some(({ name }) => name.startsWith(`${selector}.`))))
  for (const { name, value } of fresh) dns.txt.set(name, value)
  await json('domain', 'check', 'shop.example', '--resolver', resolver)
  const isFresh = (selector: string | undefined) => fresh.some(({ name }) => name.startsWith(`${selector}.`))
  const message = await signedSo('a@shop.example', (selectors) => selectors.some(isFresh))
  for (const { name, value } of fresh) {
    t.ok(verifies(message, publishedKey(value), name.split('.')[0]), `${name} verifies`)
  }
})

t.test('a workspace limited to its domains', async (t) => {
  await json('workspace', 'update', 'default', '--restrict-senders')
  t.equal((await sent('a@shop.example')).status, 202)
  t.match(await sent('a@other.example'), { status: 403, body: { code: 'email.sender_not_allowed' } })
  t.match(await cli('domain', 'remove', 'shop.example'), { code: 64, stderr: /--yes/ })
  t.match(await json('domain', 'remove', 'shop.example', '--yes'), { deleted: true })
  t.same(await json('domain', 'list'), [])
  t.equal((await sent('a@shop.example')).status, 403)
})
