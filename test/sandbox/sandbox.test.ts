/** The sandbox as an upstream: nodemailer relays to it. One case per reply of its table. */
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { newRecipientId } from '../../src/base/id.js'
import { silentLog } from '../../src/base/log.js'
import { deriveKeys, makeRef, makeReturnPath } from '../../src/mail/return-path.js'
import { createSandbox } from '../../src/sandbox/sandbox.js'
import { ALIASES, SIMULATIONS, simulationFor } from '../../src/sandbox/simulation.js'
import type { RecipientOwner } from '../../src/store/port/mail.js'

/** How recipients stand in the store, by id. */
const stands = new Map<string, { address: string; status: string }>()
const openSandbox = async () => {
  const store = { recipient: async (id: string) => (stands.get(id) ?? null) as RecipientOwner | null }
  const made = createSandbox({ hostname: 'sandbox.test', store, log: silentLog(), pace: 20 })
  await made.start()
  t.teardown(() => made.stop())
  return made
}
const sandbox = await openSandbox()

const send = async (
  to: string,
  { from = 'btoken1@bounces.test', envid = 'em_1', at = sandbox } = {},
): Promise<string> => {
  const transport = createTransport({ ...at.address, secure: false, ignoreTLS: true })
  const reply = await transport
    .sendMail({
      envelope: { from, to },
      dsn: { id: envid, return: 'headers', notify: ['success'], recipient: `rfc822;${to}` },
      raw: 'From: a@b.test\r\nSubject: Hi\r\nMessage-ID: <m1@b.test>\r\n\r\n.dot\r\nbody\r\n',
    })
    .then(
      (sent) => sent.response,
      (error: { response?: string }) => error.response ?? String(error),
    )
  transport.close()
  return reply
}

t.test('delivered, and any other name: taken', async (t) => {
  for (const name of ['anyone', 'bounced-later', 'late-bounce', 'delayed', 'relayed', 'slow', 'complained'])
    t.match(await send(`${name}@x.test`), /^250 2\.0\.0 /)
})

t.test('bounced: at RCPT, with the code that the address asks for', async (t) => {
  t.match(await send('bounced@x.test'), /^550 5\.1\.1 /)
  t.match(await send('bounced+5.2.2@x.test'), /^552 5\.2\.2 Mailbox full/)
  t.match(await send('Bounced+5.7.1@x.test'), /^554 5\.7\.1 /)
})

t.test('deferred: once, or for ever', async (t) => {
  t.match(await send('deferred@x.test'), /^451 4\.2\.0 /)
  t.match(await send('deferred@x.test'), /^250 /)
  t.match(await send('deferred@x.test'), /^451 /, 'a later mail is deferred anew')
  t.match(await send('deferred+4.2.2@x.test'), /^452 4\.2\.2 /)
  for (let i = 0; i < 3; i++) t.match(await send('deferred+forever@x.test'), /^451 4\.2\.0 /)
})

t.test('deferred: once, though the sandbox began anew between the two', async (t) => {
  const keys = deriveKeys(Buffer.alloc(32, 7))
  const to = 'deferred@x.test'
  for (const by of ['return path', 'envid']) {
    const subject = { recipientId: newRecipientId(), workspaceId: 'ws_1', address: to }
    const from = by === 'envid' ? 'bounces@bounces.test' : makeReturnPath(keys, 'bounces.test', subject)
    const mail = { from, envid: by === 'envid' ? makeRef(keys, 'envid', subject) : 'em_2' }
    stands.set(subject.recipientId, { address: to, status: 'queued' })
    t.match(await send(to, { ...mail, at: await openSandbox() }), /^451 /, by)
    t.match(await send(to, { ...mail, at: await openSandbox() }), /^451 /, 'nothing is stored of the first')
    stands.set(subject.recipientId, { address: to, status: 'deferred' })
    t.match(await send(to, { ...mail, at: await openSandbox() }), /^250 /, 'it stands as deferred')
    t.match(
      await send('deferred@y.test', { ...mail, at: await openSandbox() }),
      /^451 /,
      'of another address',
    )
  }
})

t.test('deferred: whoever came first is delivered next, however many came since', async (t) => {
  const socket = connect(sandbox.address.port, sandbox.address.host)
  t.teardown(() => socket.destroy())
  const replies = createInterface({ input: socket })
  const rcpt = (i: number): string => `RCPT TO:<deferred+${i}@crowd.test>\r\n`
  const all = Array.from({ length: 20_000 }, (_, i) => rcpt(i)).join('')
  socket.write(`EHLO a.test\r\nMAIL FROM:<b@bounces.test>\r\n${all}${rcpt(0)}QUIT\r\n`)
  const seen: string[] = []
  for await (const line of replies) seen.push(line)
  t.equal(seen.filter((line) => line.startsWith('451 ')).length, 20_000)
  t.match(seen.at(-2), /^250 /)
})

t.test('the table is for people too', async (t) => {
  for (const { name, shows } of SIMULATIONS) {
    t.equal(simulationFor(`${name}@x.test`).name, name)
    t.match(shows, /^\S.{10,}/)
  }
  t.equal(simulationFor('"bounced"@x.test').name, 'bounced')
  t.equal(
    simulationFor('bounced+4.2.2@x.test').reply?.slice(0, 9),
    '550 5.1.1',
    'a code that does not fit is ignored',
  )
})

t.test('second names', async (t) => {
  for (const [name, first] of Object.entries(ALIASES)) {
    t.same(simulationFor(`${name}@x.test`), simulationFor(`${first}@x.test`), name)
    t.not(simulationFor(`${first}@x.test`), SIMULATIONS[0], `${first} is a row`)
  }
  t.match(simulationFor('Hard+5.1.2@x.test').reply, /^550 5\.1\.2 /)
  t.match(simulationFor('soft+5.3.4@x.test').reply, /^552 5\.3\.4 /)
  t.match(simulationFor('soft@x.test').reply, /^552 5\.2\.2 /)
})
