/** What may stand before a connection, cut anywhere; and what may not. */
import fc from 'fast-check'
import t from 'tap'
import { parseProxyHeader } from '../../../src/smtp/admission.js'

const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n'

/** A header of version 2: command, family, addresses and ports, further fields. */
const v2 = (command: number, family: number, octets: readonly number[], more: Buffer = Buffer.alloc(0)) => {
  const size = octets.length + more.length
  return Buffer.concat([
    Buffer.from(SIGNATURE, 'latin1'),
    Buffer.from([command, family, size >> 8, size & 255]),
    Buffer.from(octets),
    more,
  ])
}
const V4 = [203, 0, 113, 7, 192, 0, 2, 1, 0x9c, 0x40, 0, 25]
const V6 = [...Buffer.from('20010db80000000000000000000000070a', 'hex')].slice(0, 16)
const PORTS = [0x9c, 0x40, 0, 25]

const GOOD: readonly (readonly [name: string, header: Buffer, client: string | null])[] = [
  ['TCP4', Buffer.from('PROXY TCP4 203.0.113.7 192.0.2.1 40000 25\r\n'), '203.0.113.7'],
  ['TCP6', Buffer.from('PROXY TCP6 2001:DB8:0:0::7 ::1 40000 25\r\n'), '2001:db8::7'],
  [
    'the longest',
    Buffer.from(`PROXY TCP6 ${'ffff:'.repeat(7)}ffff ${'ffff:'.repeat(7)}ffff 65535 65535\r\n`),
    'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
  ],
  ['UNKNOWN', Buffer.from('PROXY UNKNOWN\r\n'), null],
  ['UNKNOWN with addresses', Buffer.from('PROXY UNKNOWN ::1 ::1 1 2\r\n'), null],
  ['2, TCP4', v2(0x21, 0x11, V4), '203.0.113.7'],
  ['2, TCP6', v2(0x21, 0x21, [...V6, ...V6, ...PORTS]), '2001:db8::7'],
  ['2, further fields', v2(0x21, 0x11, V4, Buffer.from([0x04, 0, 2, 0, 0])), '203.0.113.7'],
  ['2, LOCAL', v2(0x20, 0x00, []), null],
  ['2, LOCAL with addresses', v2(0x20, 0x11, V4), null],
  ['2, UNSPEC', v2(0x21, 0x00, []), null],
  ['2, UNIX', v2(0x21, 0x31, Array<number>(216).fill(0)), null],
  ['2, UDP', v2(0x21, 0x12, V4), null],
]

t.test('each header, whole and cut at every octet, with the client behind it', async (t) => {
  for (const [name, header, client] of GOOD) {
    const rest = Buffer.from('EHLO x\r\n')
    t.strictSame(parseProxyHeader(Buffer.concat([header, rest])), { length: header.length, client }, name)
    for (let cut = 1; cut < header.length; cut++)
      if (parseProxyHeader(header.subarray(0, cut)) !== 'incomplete') t.fail(`${name}, cut at ${cut}`)
  }
})

const BAD: readonly (readonly [name: string, bytes: Buffer])[] = [
  ['an SMTP client', Buffer.from('EHLO x\r\n')],
  ['a TLS client', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00])],
  ['lower case', Buffer.from('proxy TCP4 203.0.113.7 192.0.2.1 40000 25\r\n')],
  ['no end within 107 octets', Buffer.from(`PROXY UNKNOWN ${'x'.repeat(120)}`)],
  ['an end after 107 octets', Buffer.from(`PROXY UNKNOWN ${'x'.repeat(100)}\r\n`)],
  ['a bare LF', Buffer.from(`PROXY TCP4 203.0.113.7 192.0.2.1 40000 25\n${' '.repeat(80)}`)],
  ['another family', Buffer.from('PROXY UDP4 203.0.113.7 192.0.2.1 40000 25\r\n')],
  ['the family of the other', Buffer.from('PROXY TCP4 2001:db8::7 ::1 40000 25\r\n')],
  ['a name', Buffer.from('PROXY TCP4 localhost 192.0.2.1 40000 25\r\n')],
  ['a leading zero', Buffer.from('PROXY TCP4 203.0.113.007 192.0.2.1 40000 25\r\n')],
  ['a zone', Buffer.from('PROXY TCP6 fe80::1%eth0 ::1 40000 25\r\n')],
  ['a port too high', Buffer.from('PROXY TCP4 203.0.113.7 192.0.2.1 65536 25\r\n')],
  ['no ports', Buffer.from('PROXY TCP4 203.0.113.7 192.0.2.1\r\n')],
  ['two blanks', Buffer.from('PROXY TCP4  203.0.113.7 192.0.2.1 40000 25\r\n')],
  ['one word more', Buffer.from('PROXY TCP4 203.0.113.7 192.0.2.1 40000 25 x\r\n')],
  ['2, another version', v2(0x11, 0x11, V4)],
  ['2, another command', v2(0x22, 0x11, V4)],
  ['2, another family', v2(0x21, 0x41, V4)],
  ['2, another transport', v2(0x21, 0x13, V4)],
  ['2, too short for its addresses', v2(0x21, 0x11, V4.slice(0, 11))],
  ['2, too long', v2(0x21, 0x11, V4, Buffer.alloc(9_000))],
]

t.test('anything else is refused', async (t) => {
  for (const [name, bytes] of BAD) t.equal(parseProxyHeader(bytes), 'invalid', name)
})

t.test('whatever comes, there is an answer, and an address is an address', async () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((some) => Buffer.from(some)),
    fc.uint8Array({ maxLength: 60 }).map((some) => Buffer.concat([Buffer.from(SIGNATURE, 'latin1'), some])),
    fc
      .string({ unit: fc.constantFrom(' ', '1', '.', ':', 'TCP4', 'TCP6', 'f', '\r\n') })
      .map((some) => Buffer.from(`PROXY ${some}`)),
  )
  fc.assert(
    fc.property(bytes, (some) => {
      const read = parseProxyHeader(some)
      if (typeof read === 'string') return true
      return read.length <= some.length && (read.client === null || /^[0-9a-f.:]+$/.test(read.client))
    }),
    { numRuns: 2_000 },
  )
})
