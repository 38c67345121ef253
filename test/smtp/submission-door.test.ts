/**
 * What a dialogue file cannot say: chunks, time, limits, stopping, old TLS and
 * whose certificate is shown.
 */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { connect as connectTls, type DetailedPeerCertificate, type TLSSocket } from 'node:tls'
import fc from 'fast-check'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { eventually } from '../parts/eventually.js'
import { dial, ENVELOPE, HELLO } from './client.js'
import { certificate, openDoor, PASSWORD } from './doors.js'

t.test('whatever the segments, one submission is one mail with the same bytes', async () => {
  const { door, taken, port } = await openDoor('clear')
  const line = fc.string({ unit: fc.constantFrom('.', 'a', ' ', 'ł', '<'), maxLength: 8 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { minLength: 1, maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 }),
      async (lines, cuts) => {
        const message = `Subject: x\r\n\r\n${lines.join('\r\n')}\r\n`
        const wire = Buffer.from(`${HELLO}${ENVELOPE}${message.replaceAll('\r\n.', '\r\n..')}.\r\nQUIT\r\n`)
        const { socket, closed } = dial(port)
        for (let at = 0, i = 0; at < wire.length; i++) {
          const size = cuts[i % cuts.length] ?? 1
          socket.write(wire.subarray(at, at + size))
          at += size
          if (i % 4 === 0) await new Promise(setImmediate)
        }
        const heard = await closed()
        const mails = taken.mails.splice(0)
        if (mails.length !== 1 || !Buffer.from(mails[0]!.raw).equals(Buffer.from(message))) {
          throw new Error(`${mails.length} mails: ${JSON.stringify(heard)}`)
        }
      },
    ),
    { numRuns: 60 },
  )
  await door.stop()
})

t.test('what the stage below gets', async (t) => {
  const { door, taken, port } = await openDoor('starttls')
  const transport = createTransport({
    host: '127.0.0.1',
    port,
    name: 'client.test',
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'anything', pass: PASSWORD },
  })
  const sent = await transport.sendMail({
    envelope: { from: 'a@b.test', to: ['c@d.test', 'e@f.test'] },
    dsn: { id: 'id+1', return: 'full', notify: ['failure', 'delay'], recipient: 'rfc822;o@p.test' },
    raw: Buffer.from('Subject: zażółć\r\n\r\n.dot\r\n'),
  })
  transport.close()
  t.match(sent.response, /^250 2\.6\.0 Ok: queued as em_/)
  const [mail] = taken.mails
  const dsn = { notify: 'FAILURE,DELAY', orcpt: 'rfc822;o@p.test' }
  t.match(mail, {
    mailFrom: 'a@b.test',
    recipients: [
      { address: 'c@d.test', dsn },
      { address: 'e@f.test', dsn },
    ],
    ret: 'FULL',
    envid: 'id+2B1',
    received: { ip: '127.0.0.1', hello: 'client.test', protocol: 'ESMTPSA', tls: /^TLSv1\.3 TLS_/ },
  })
  t.equal(Buffer.from(mail!.raw).toString(), 'Subject: zażółć\r\n\r\n.dot\r\n')
  await door.stop()
})

t.test('250 is said only after the stage below resolved', async (t) => {
  const { door, taken, port } = await openDoor('clear')
  let open = () => {}
  taken.gate = new Promise((resolve) => {
    open = resolve
  })
  const { socket, until, heard } = dial(port)
  socket.write(`${HELLO}${ENVELOPE}Subject: x\r\n\r\n.\r\n`)
  await until(/354 /)
  await eventually('the stage below has it', () => taken.waiting === 1)
  const later = dial(port)
  later.socket.write('EHLO x\r\nQUIT\r\n')
  t.match(await later.closed(), /221 /, 'another came and went meanwhile')
  t.notMatch(heard(), /queued/)
  open()
  t.match(await until(/queued/), /250 2\.6\.0 Ok: queued as em_/)
  socket.destroy()
  await door.stop()
})

t.test('a stalled or trickled message is cut and stores nothing', async (t) => {
  const { door, taken, port } = await openDoor('clear', { idle: 150 })
  const stalled = dial(port)
  stalled.socket.write(`${HELLO}${ENVELOPE}Subject: x\r\n`)
  const trickled = dial(port)
  trickled.socket.write(`${HELLO}${ENVELOPE}Subject: y\r\n`)
  const drip = setInterval(() => trickled.socket.write('a'), 20)
  // which of the two clocks strikes first is the machine's business
  const cut = /354 [^\r]*\r\n421 4\.4\.2 (?:Timeout|The message comes too slowly)/
  t.match(await stalled.closed(), cut)
  t.match(await trickled.closed(), cut)
  clearInterval(drip)
  t.same(taken.mails, [])
  await door.stop()
})

t.test('an idle client is cut, also one that trickles a command or never shakes hands', async (t) => {
  const { door, port } = await openDoor('starttls', { idle: 150 })
  const silent = dial(port)
  const trickled = dial(port)
  const drip = setInterval(() => trickled.socket.write('N'), 20)
  const handshake = dial(port)
  handshake.socket.write('EHLO x\r\nSTARTTLS\r\n')
  t.match(await silent.closed(), /\r\n421 4\.4\.2 Timeout, closing\r\n$/)
  t.match(await trickled.closed(), /\r\n421 4\.4\.2 Timeout, closing\r\n$/)
  t.match(await handshake.closed(), /Ready to start TLS\r\n$/)
  clearInterval(drip)
  await door.stop()
})

t.test('a session of days hears what its workspace says by now', async (t) => {
  let ahead = 0
  const clock = { now: systemClock.now, tick: () => systemClock.tick() + ahead }
  const { door, taken, port } = await openDoor('clear', {}, clock)
  const { socket, until, closed } = dial(port)
  const mail = 'MAIL FROM:<stranger@b.test>\r\n'
  socket.write(`${HELLO}${mail}RSET\r\n`)
  t.match(await until(/250 2\.0\.0/), /235 [^\r]*\r\n250 2\.1\.0/)
  taken.restricted = true
  ahead = 1_001
  socket.write(`${mail}QUIT\r\n`)
  t.match(await closed(), /\r\n550 5\.7\.1 [^\r]*\r\n221 /)
  await door.stop()
})

t.test('a client that never reads does not fill the memory', async (t) => {
  const { door, port } = await openDoor('clear', { idle: 300 })
  const { socket } = dial(port)
  socket.pause()
  let flooding = true
  socket.on('close', () => {
    flooding = false
  })
  const noops = Buffer.from('NOOP\r\n'.repeat(10_000))
  while (flooding && socket.writableLength < 1e7) {
    socket.write(noops)
    await new Promise(setImmediate)
  }
  t.pass('the door stopped reading')
  socket.destroy()
  await door.stop()
})

t.test('stop: 421 to the idle, a reply to the message on its way', async (t) => {
  const { door, taken, port } = await openDoor('clear')
  let open = () => {}
  taken.gate = new Promise((resolve) => {
    open = resolve
  })
  const idle = dial(port)
  await idle.until(/220/)
  const sending = dial(port)
  sending.socket.write(`${HELLO}${ENVELOPE}Subject: x\r\n`)
  await sending.until(/354/)
  const storing = dial(port)
  storing.socket.write(`${HELLO}${ENVELOPE}Subject: z\r\n\r\n.\r\n`)
  await storing.until(/354/)
  const stopped = door.stop()
  t.match(await idle.closed(), /421 4\.3\.2 Service stopping/)
  sending.socket.write('\r\nbody\r\n.\r\n')
  await eventually('both were handed in', () => taken.waiting === 2)
  open()
  for (const client of [sending, storing]) {
    t.match(
      await client.closed(),
      /250 2\.6\.0 Ok: queued as em_\w+\r\n421 4\.3\.2 Service stopping[^\r]*\r\n$/,
    )
  }
  await stopped
  t.equal(taken.mails.length, 2)
  await door.stop()
  t.equal(await dial(port).closed(), '', 'nobody listens')
})

t.test('start and stop in any order', async (t) => {
  const { door } = await openDoor('clear')
  await door.start()
  t.equal(door.addresses.length, 1)
  await door.stop()
  await door.stop()
  t.same(door.addresses, [])
  await door.start()
  t.ok((door.addresses[0]?.port ?? 0) > 0)
  await door.stop()
})

const peerOf = async (socket: TLSSocket): Promise<DetailedPeerCertificate> => {
  await once(socket, 'secureConnect')
  return socket.getPeerCertificate(true)
}

t.test('our certificate is shown, and a fresh one after renew', async (t) => {
  const { door, port } = await openDoor('implicit')
  const { cert, key } = await certificate()
  const first = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ca: [cert] })
  t.equal((await peerOf(first)).subject.CN, 'localhost')
  t.ok(first.authorized)
  first.destroy()
  door.renew({ key, cert })
  const second = connectTls({ port, host: '127.0.0.1', servername: 'other.test', rejectUnauthorized: false })
  t.equal((await peerOf(second)).subject.CN, 'localhost')
  second.destroy()
  await door.stop()
})

const startTls = async (
  port: number,
  version: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3',
): Promise<string> => {
  const { socket, until } = dial(port)
  socket.write('EHLO x\r\nSTARTTLS\r\n')
  await until(/Ready/)
  socket.removeAllListeners()
  const secure = connectTls({
    socket: socket as Socket,
    minVersion: version,
    maxVersion: version,
    ciphers: 'DEFAULT@SECLEVEL=0',
    rejectUnauthorized: false,
  })
  const agreed = await new Promise<string>((resolve) => {
    secure.on('secureConnect', () => resolve(secure.getProtocol() ?? ''))
    secure.on('error', () => resolve('refused'))
  })
  secure.destroy()
  return agreed
}

t.test('TLS 1.0 and 1.1 only on a legacy listener', async (t) => {
  const old = await openDoor('legacy')
  const usual = await openDoor('starttls')
  for (const version of ['TLSv1', 'TLSv1.1'] as const) {
    t.equal(await startTls(old.port, version), version)
    t.equal(await startTls(usual.port, version), 'refused')
  }
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    t.equal(await startTls(usual.port, version), version)
  }
  t.equal(await startTls(old.port, 'TLSv1.2'), 'TLSv1.2')
  t.equal(await startTls(old.port, 'TLSv1.3'), 'refused')
  await old.door.stop()
  await usual.door.stop()
})
