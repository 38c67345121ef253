import fc from 'fast-check'
import t from 'tap'
import {
  base64Lines,
  decodeWords,
  decodeXtext,
  encodeWords,
  encodeXtext,
  fromRaw,
  quotedPrintable,
  wellFormed,
  XTEXT,
} from '../../src/mail/encoding.js'
import { anyCharacter } from '../parts/any-text.js'

const readQuotedPrintable = (text: string): Buffer =>
  Buffer.from(
    text
      .replace(/=\r\n/g, '')
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )

t.test('text that every database keeps', async (t) => {
  for (const text of ['', 'a', '\u{1f4e7}\u{10ffff}', '\u0001\uffff']) t.equal(wellFormed(text), text)
  t.equal(wellFormed('\u0000a\u0000\ud83d'), '\ufffda\ufffd\ufffd')
  t.equal(wellFormed('\ude00\u{1f600}\ud83d\ud83d'), '\ufffd\u{1f600}\ufffd\ufffd')
})

t.test('encoded words', async (t) => {
  t.equal(encodeWords('Grüße'), '=?UTF-8?B?R3LDvMOfZQ==?=')
  t.equal(encodeWords('Your order für Anna Smith'), '=?UTF-8?Q?Your_order_f=C3=BCr_Anna_Smith?=')
  for (const [text, wanted] of [
    ['=?iso-8859-1?q?caf=E9?=', 'café'],
    ['=?utf-8?B?w7w=?= =?utf-8?Q?_x?=', 'ü x'],
    ['=?utf-8?B?w7w=?=\r\n =?utf-8?B?w7w=?=', 'üü'],
    ['=?utf-8?B?w7w=?= and =?utf-8?B?w7w=?=', 'ü and ü'],
    ['=?utf-8?Q?=C3?= =?utf-8?Q?=BC?=', 'ü'],
    ['=?ISO-2022-JP?B?GyRCRnxLXBsoQg==?=', '日本'],
    ['=?utf-8*de?Q?f=C3=BCr?=', 'für'],
    ['=?klingon?Q?x?= y', '=?klingon?Q?x?= y'],
    ['=?utf-8?X?x?=', '=?utf-8?X?x?='],
    ['a=?b', 'a=?b'],
    ['=?utf-8?B?YQBi?= =?utf-16le?B?Pdg=?=', 'a\ufffdb\ufffd'],
  ] as const) {
    t.equal(decodeWords(text), wanted, text)
  }
})

t.test('there and back', async () => {
  const text = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.string({ maxLength: 300 }))
  fc.assert(
    fc.property(text, (input) => {
      const words = input === '' ? '' : encodeWords(input)
      return words.split(' ').every((word) => word.length <= 64) && decodeWords(words) === input
    }),
    { numRuns: 500 },
  )
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 400 }), (input) => {
      const lines = Buffer.from(input.replace(/\r\n|\r|\n/g, '\r\n'))
      const quoted = quotedPrintable(lines)
      return (
        readQuotedPrintable(quoted).equals(lines) &&
        /^[\t\r\n\x20-\x7e]*$/.test(quoted) &&
        quoted
          .split('\r\n')
          .every((line) => line.length <= 76 && !/[ \t]$/.test(line) && !/^From /.test(line))
      )
    }),
    { numRuns: 1000 },
  )
})

t.test('quoted-printable at its edges', async (t) => {
  t.equal(quotedPrintable(Buffer.from('a'.repeat(76))), 'a'.repeat(76))
  t.equal(quotedPrintable(Buffer.from('a'.repeat(77))), `${'a'.repeat(75)}=\r\naa`)
  t.equal(quotedPrintable(Buffer.from('From here\r\nFrom there')), '=46rom here\r\n=46rom there')
  t.equal(quotedPrintable(Buffer.from('a \r\n\t')), 'a=20\r\n=09')
  t.equal(quotedPrintable(Buffer.from('a\0b')), 'a=00b', 'NUL never leaves')
  for (let lead = 60; lead < 80; lead++) {
    const lines = quotedPrintable(Buffer.from(`${'a'.repeat(lead)}😀 From x`)).split('\r\n')
    t.ok(
      lines.some((line) => line.includes('=F0=9F=98=80')),
      `a character stays whole after ${lead}`,
    )
  }
  t.equal(
    base64Lines(Buffer.alloc(60))
      .split('\r\n')
      .map((line) => line.length)
      .join(),
    '76,4',
  )
})

t.test('raw 8-bit headers', async (t) => {
  t.equal(fromRaw(Buffer.from('für').toString('latin1')), 'für')
  t.equal(fromRaw('f\xfcr'), 'für', 'not UTF-8: Latin-1')
  t.equal(fromRaw('plain'), 'plain')
})

t.test('xtext', async (t) => {
  t.equal(encodeXtext('a+b=c d@e.f'), 'a+2Bb+3Dc+20d@e.f')
  t.equal(decodeXtext('a+2Bb+3Dc+20d@e.f'), 'a+b=c d@e.f')
  t.equal(decodeXtext('100+ZZ+4'), '100+ZZ+4', 'a broken escape stays')
  t.equal(decodeXtext('+c3+BC'), 'ü')
  t.notOk(XTEXT.test('a b'))
  t.notOk(XTEXT.test('a+2b'), 'hex digits are upper-case')
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const encoded = encodeXtext(text)
      return XTEXT.test(encoded) === (text !== '') && decodeXtext(encoded) === text
    }),
  )
})
