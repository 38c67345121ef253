import fc from 'fast-check'
import t from 'tap'
import type { Reply } from '../../src/mail/reply.js'
import { createReplyReader, scan, toPayload } from '../../src/relay/dialogue/wire.js'

/** What a receiver makes of the bytes after 354 (RFC 5321, 4.5.2). */
const receive = (wire: string): { message: string; rest: string } => {
  const end = wire.startsWith('.\r\n') ? 0 : wire.indexOf('\r\n.\r\n') + 2
  return { message: wire.slice(0, end).replace(/^\./gm, ''), rest: wire.slice(end + 3) }
}

const onWire = (raw: Uint8Array): string => {
  const { head, body, end } = toPayload(raw)
  return Buffer.concat([head, body, end]).toString('latin1')
}

const line = fc.stringMatching(/^[.a-z\x80-\xff ]{0,6}$/)
const clean = fc.array(line, { maxLength: 8 }).map((lines) => lines.map((one) => `${one}\r\n`).join(''))

t.test('a message arrives as it was', async (t) => {
  fc.assert(
    fc.property(clean, (text) => {
      const { message, rest } = receive(onWire(Buffer.from(text, 'latin1')))
      return message === text && rest === ''
    }),
  )
  t.equal(onWire(Buffer.from('a\r\n.\r\n..b\r\n')), 'a\r\n..\r\n...b\r\n.\r\n')
  t.equal(onWire(Buffer.from('.')), '..\r\n.\r\n')
  t.equal(onWire(Buffer.from('no end')), 'no end\r\n.\r\n')
  t.equal(onWire(Buffer.from('')), '.\r\n')
  t.equal(onWire(Buffer.from('a\r\n')), 'a\r\n.\r\n')
})

t.test('whatever comes in, one message goes out: no bare line end, no NUL, no early end', async (t) => {
  const bytes = fc.array(fc.constantFrom(0, 10, 13, 46, 97, 200), { maxLength: 40 })
  fc.assert(
    fc.property(bytes, (raw) => {
      const wire = onWire(Uint8Array.from(raw))
      const { rest } = receive(wire)
      return rest === '' && !/\r(?!\n)|(?<!\r)\n|\0/.test(wire)
    }),
    { numRuns: 2_000 },
  )
  t.pass()
})

t.test('scan', async (t) => {
  t.same(scan(Buffer.from('.a\r\n.b\r\nc')), { dots: 2, dirty: false, eightBit: false })
  t.match(scan(Buffer.from('a\n.b')), { dirty: true })
  t.match(scan(Buffer.from('a\r.b')), { dirty: true })
  t.match(scan(Buffer.from('a\r')), { dirty: true })
  t.match(scan(Buffer.from('a\0')), { dirty: true })
  t.match(scan(Buffer.from('é')), { dirty: false, eightBit: true })
})

t.test('replies, whatever the chunks', async (t) => {
  const text = '250-one\r\n250-2.1.0 two é\r\n250 three\r\n\r\n354 go\r\n550 5.1.1 no\n'
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 40 }), (cuts) => {
      const replies: Reply[] = []
      const read = createReplyReader((reply) => replies.push(reply))
      const bytes = Buffer.from(text)
      let at = 0
      for (let i = 0; at < bytes.length; i++) {
        const size = cuts[i % cuts.length] ?? 1
        read(bytes.subarray(at, at + size))
        at += size
      }
      return (
        replies.map(({ code }) => code).join() === '250,354,550' && replies[0]?.text === 'one two é three'
      )
    }),
  )
  const seen: Reply[] = []
  createReplyReader((reply) => seen.push(reply))(Buffer.from('garbage\r\n'))
  t.match(seen, [{ code: 0, text: 'garbage' }])
  const endless = createReplyReader(() => {})
  t.throws(() => {
    for (let i = 0; i < 10_000; i++) endless(Buffer.from('250-and so on\r\n'))
  }, /reply too long/)
})
