/**
 * What goes to an upstream that lacks an extension the message would need:
 * another form of the same message, or nothing and a reason; never 8-bit octets
 * that it did not agree to.
 */
import t from 'tap'
import type { Claimed } from '../../src/lifecycle/facts.js'
import { mail, poolRow, startFlow, upstreamRow } from './parts.js'
import { UpstreamServer } from './upstream-server.js'

const send = async (extensions: readonly string[], ...mails: readonly Claimed[]) => {
  const server = new UpstreamServer({ extensions })
  const { queue, stop } = startFlow([poolRow([upstreamRow(await server.listen())])])
  queue.add(...mails)
  await queue.settled(mails.length)
  await stop()
  await server.close()
  return { outcomes: queue.outcomes, received: server.received, lines: server.lines }
}

const raw = (...lines: readonly string[]) => Buffer.from(`${lines.join('\r\n')}\r\n`)
const utf8 = (...lines: readonly string[]) => mail({ raw: raw(...lines), needsSmtpUtf8: true })

t.test('without SMTPUTF8 text in the header becomes encoded words', async (t) => {
  const one = utf8('From: Zo\u00eb <a@example.com>', 'Subject: gr\u00fc\u00dfe', '', 'hello')
  const { outcomes, received } = await send(['PIPELINING', '8BITMIME', 'SIZE 100000'], one)
  t.match(outcomes, [{ seen: 'accepted' }])
  const wire = received[0]?.wire ?? ''
  t.match(wire, /^[\t\r\n\x20-\x7e]*$/)
  t.match(wire, /^Subject: =\?UTF-8\?/im)
  t.notMatch(received[0]?.mail, /SMTPUTF8|8BITMIME/)
  t.match(received[0]?.mail, `SIZE=${wire.length}`, 'the size is that of what is sent')
})

t.test('with SMTPUTF8 it is encoded too: a hop behind may lack it', async (t) => {
  const one = utf8('From: a@example.com', 'Subject: gr\u00fc\u00dfe', '', 'hello')
  const { received } = await send(['8BITMIME', 'SMTPUTF8'], one)
  t.notMatch(received[0]?.mail, /SMTPUTF8|8BITMIME/)
  t.match(received[0]?.wire, /^Subject: =\?UTF-8\?/m)
})

t.test('what the client has signed stays raw, and needs no SMTPUTF8', async (t) => {
  const signature = 'DKIM-Signature: v=1; d=example.com; h=From:\r\n Subject; b=x'
  const one = utf8(
    signature,
    'From: a@example.com',
    'Subject: gr\u00fc\u00dfe',
    'X-Who: Zo\u00eb',
    '',
    'hello',
  )
  const { received, outcomes } = await send(['8BITMIME', 'SMTPUTF8'], one)
  t.match(outcomes, [{ seen: 'accepted' }])
  t.match(received[0]?.mail, /BODY=8BITMIME/)
  t.notMatch(received[0]?.mail, /SMTPUTF8/)
  const wire = Buffer.from(received[0]?.wire ?? '', 'latin1').toString()
  t.match(wire, /^Subject: gr\u00fc\u00dfe\r$/m)
  t.match(wire, /^X-Who: =\?UTF-8\?/m, 'what it has not signed is encoded')
})

t.test('an address beyond ASCII goes raw, under SMTPUTF8', async (t) => {
  const raw_ = raw('From: a@example.com', 'Subject: gr\u00fc\u00dfe', '', 'hello')
  const one = mail({ raw: raw_, address: 'jos\u00e9@example.com', needsSmtpUtf8: true })
  const { received } = await send(['8BITMIME', 'SMTPUTF8'], one)
  t.match(received[0]?.mail, /SMTPUTF8 BODY=8BITMIME$/)
  t.equal(Buffer.from(received[0]?.wire ?? '', 'latin1').toString(), raw_.toString())
})

t.test('a mail that needs it for another recipient only', async (t) => {
  const { outcomes, received } = await send([], utf8('From: a@example.com', 'Subject: hi', '', 'hello'))
  t.match(outcomes, [{ seen: 'accepted' }])
  t.notMatch(received[0]?.mail, /SMTPUTF8/)
})

t.test('an address that needs it bounces, and says which', async (t) => {
  const address = mail({ address: 'jos\u00e9@example.com', needsSmtpUtf8: true })
  const header = utf8('From: a@example.com', 'Cc: jos\u00e9@example.com', '', 'hello')
  const { outcomes, lines } = await send(['8BITMIME'], address, header)
  const of = ({ recipientId }: Claimed) => outcomes.find((one) => one.recipientId === recipientId)
  const no = { code: 550, enhanced: '5.6.7' }
  t.match(of(address), { seen: 'rejected', reply: { ...no, text: /^The recipient address needs SMTPUTF8/ } })
  t.match(of(header), {
    seen: 'rejected',
    reply: { ...no, text: /^An address in the header needs SMTPUTF8/ },
  })
  t.notOk(lines.some((line) => line.startsWith('MAIL')))
})

t.test('without 8BITMIME an 8-bit body is not sent', async (t) => {
  const body = mail({ raw: raw('From: a@example.com', '', 'gr\u00fc\u00dfe') })
  const { outcomes, lines } = await send(['SMTPUTF8'], body)
  t.match(outcomes, [{ seen: 'rejected', reply: { code: 554, enhanced: '5.6.3', text: /8BITMIME/ } }])
  t.notOk(lines.some((line) => line.startsWith('MAIL')))
})

t.test('a member that can takes what another one can not', async (t) => {
  const [bare, able] = [new UpstreamServer({ extensions: [] }), new UpstreamServer()]
  const rows = [upstreamRow(await bare.listen()), upstreamRow(await able.listen(), { priority: 1 })]
  const { queue, stop } = startFlow([poolRow(rows)])
  queue.add(mail({ raw: raw('From: a@example.com', '', 'gr\u00fc\u00dfe') }))
  await queue.settled(1)
  t.match(queue.outcomes, [{ seen: 'accepted', attempt: 1 }])
  t.equal(able.received.length, 1)
  await stop()
  await Promise.all([bare.close(), able.close()])
})
