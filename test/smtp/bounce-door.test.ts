/** The bounce door with a real client: bytes, several recipients, size, stopping. */
import { createTransport } from 'nodemailer'
import { generate } from 'selfsigned'
import t from 'tap'
import { dial } from './client.js'
import { certificate, openBounceDoor } from './doors.js'

const transportTo = (port: number) =>
  createTransport({ host: '127.0.0.1', port, ignoreTLS: true, name: 'mta.test' })

t.test('a report arrives as it was, once for each recipient', async (t) => {
  const { door, reports, port } = await openBounceDoor()
  const raw = Buffer.from('Subject: Zażółć\r\n\r\n.dot\r\n\xff\r\n', 'latin1')
  const transport = transportTo(port)
  await transport.sendMail({ envelope: { from: '', to: ['ba1@bounces.test', 'bb2@bounces.test'] }, raw })
  await transport.sendMail({ envelope: { from: 'someone@far.test', to: 'BA1@bounces.test' }, raw })
  transport.close()
  t.same(
    reports.map(({ address }) => address),
    ['ba1@bounces.test', 'bb2@bounces.test', 'BA1@bounces.test'],
  )
  for (const report of reports) t.ok(report.raw.equals(raw))
  await door.stop()
})

t.test('forged addresses are refused, and the good ones of the same mail are not', async (t) => {
  const { door, reports, port } = await openBounceDoor()
  const transport = transportTo(port)
  const sent = await transport.sendMail({
    envelope: { from: '', to: ['ba1@bounces.test', 'forged@bounces.test', 'ba1@other.test'] },
    raw: 'Subject: x\r\n\r\n',
  })
  transport.close()
  t.same(sent.rejected, ['forged@bounces.test', 'ba1@other.test'])
  t.equal(reports.length, 1)
  await door.stop()
})

const LARGE = { message_size: 25 * 1024 * 1024, memory: 64 * 1024 * 1024 }
const MIB = 1024 * 1024

t.test(
  'of a large report the beginning is kept, whatever comes at once; beyond the limit it is refused',
  async (t) => {
    const { door, reports, port } = await openBounceDoor(LARGE)
    const transport = transportTo(port)
    const raw = Buffer.concat([Buffer.from('Subject: x\r\n\r\n'), Buffer.alloc(13 * MIB, 'a line\r\n')])
    const to = (i: number) => ({ envelope: { from: '', to: `ba${i}@bounces.test` }, raw })
    await Promise.all(Array.from({ length: 20 }, (_, i) => transport.sendMail(to(i))))
    t.equal(reports.length, 20)
    for (const report of reports) t.ok(report.raw.equals(raw.subarray(0, MIB)))
    const refusal = await transport
      .sendMail({ ...to(0), raw: Buffer.concat([raw, raw]) })
      .then(String, (error: { response?: string }) => error.response ?? '')
    t.match(refusal, /^552 5\.3\.4 /)
    t.equal(reports.length, 20)
    transport.close()
    await door.stop()
  },
)

t.test('postmaster and abuse are handed on whole, once, beside the reports of the same mail', async (t) => {
  const { door, reports, letters, port } = await openBounceDoor(LARGE)
  const transport = transportTo(port)
  const raw = Buffer.concat([Buffer.from('Subject: x\r\n\r\n'), Buffer.alloc(2 * MIB, 'a line\r\n')])
  const to = ['ba1@bounces.test', 'Postmaster@Bounces.test', 'abuse@bounces.test']
  await transport.sendMail({ envelope: { from: 'who@far.test', to }, raw })
  t.same([reports.length, letters.length], [1, 1])
  t.ok(reports[0]?.raw.equals(raw.subarray(0, MIB)))
  t.ok(Buffer.from(letters[0]?.raw ?? '').equals(raw))
  t.match(letters[0], { to: /^postmaster@bounces\.test$/i, ip: '127.0.0.1', hello: 'mta.test' })
  const again = transport.sendMail({
    envelope: { from: '', to: 'abuse@bounces.test' },
    raw: 'Delivered-To: abuse@bounces.test\r\n\r\n',
  })
  await t.rejects(again, /554 5\.4\.6 /)
  transport.close()
  const client = dial(port)
  client.socket.write('EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<PostMaster>\r\nDATA\r\n')
  await client.until(/^354/m)
  client.socket.write('Subject: y\r\n\r\n.\r\nQUIT\r\n')
  t.match(await client.closed(), /250 2\.6\.0/)
  t.equal(letters[1]?.to, 'postmaster@bounces.test')
  await door.stop()
})

t.test('what comes to fbl@ and is no report goes to a person', async (t) => {
  const { door, reports, letters, port } = await openBounceDoor(LARGE)
  const transport = transportTo(port)
  const raw = `Subject: Confirm this address\r\n\r\n${'a line\r\n'.repeat(MIB / 4)}`
  for (const to of ['ba1@bounces.test', 'fbl@bounces.test'])
    await transport.sendMail({ envelope: { from: 'loops@isp.test', to }, raw })
  transport.close()
  t.same([reports.length, letters.map(({ to }) => to)], [2, ['fbl@bounces.test']])
  t.equal(letters[0]?.raw.length, raw.length)
  await door.stop()
})

t.test('STARTTLS with the certificate of the day, for old servers too', async (t) => {
  const { door, reports, port } = await openBounceDoor()
  const { cert } = await certificate()
  const under = (minVersion: 'TLSv1' | 'TLSv1.3', ca: string) =>
    createTransport({
      ...{ host: '127.0.0.1', port, requireTLS: true, name: 'mta.test' },
      tls: { ca, servername: 'localhost', minVersion, ciphers: 'DEFAULT@SECLEVEL=0' },
      ...(minVersion === 'TLSv1'
        ? {
            tls: {
              ca,
              servername: 'localhost',
              minVersion,
              maxVersion: 'TLSv1',
              ciphers: 'DEFAULT@SECLEVEL=0',
            },
          }
        : {}),
    })
  const mail = { envelope: { from: '', to: 'ba1@bounces.test' }, raw: 'Subject: x\r\n\r\n' }
  await under('TLSv1.3', cert).sendMail(mail)
  await under('TLSv1', cert).sendMail(mail)
  t.equal(reports.length, 2)
  const other = await generate([{ name: 'commonName', value: 'localhost' }])
  door.renew({ key: other.private, cert: other.cert })
  await t.rejects(under('TLSv1.3', cert).sendMail(mail), 'the old one is gone')
  await under('TLSv1.3', other.cert).sendMail(mail)
  t.equal(reports.length, 3)
  await door.stop()
})

t.test('start and stop in any order', async (t) => {
  const { door } = await openBounceDoor()
  await door.start()
  await door.stop()
  await door.stop()
  t.throws(() => door.address)
})
