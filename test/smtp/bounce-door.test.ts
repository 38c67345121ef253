/** The bounce door with a real client: bytes, several recipients, size, stopping. */
import { createTransport } from 'nodemailer'
import t from 'tap'
import { openBounceDoor } from './doors.js'

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

t.test('a report beyond the limit is refused, not cut', async (t) => {
  const { door, reports, port } = await openBounceDoor()
  const transport = transportTo(port)
  const raw = Buffer.concat([Buffer.from('Subject: x\r\n\r\n'), Buffer.alloc(11 * 1024 * 1024, 'line\r\n')])
  const refusal = await transport.sendMail({ envelope: { from: '', to: 'ba1@bounces.test' }, raw }).then(
    () => '',
    (error: { response?: string }) => error.response ?? '',
  )
  t.match(refusal, /^552 5\.3\.4 /)
  transport.close()
  t.same(reports, [])
  await door.stop()
})

t.test('start and stop in any order', async (t) => {
  const { door } = await openBounceDoor()
  await door.start()
  await door.stop()
  await door.stop()
  t.throws(() => door.address)
})
