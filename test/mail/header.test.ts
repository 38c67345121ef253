import fc from 'fast-check'
import t from 'tap'
import {
  fieldValue,
  foldField,
  isForbiddenHeader,
  isHeaderName,
  isHeaderTooLarge,
  isHeaderValue,
  keepsUnsubscribeRule,
  scanHeader,
  textField,
} from '../../src/mail/header.js'
import { anyCharacter } from '../parts/any-text.js'

t.test('what a caller may set', async (t) => {
  for (const name of [
    'From',
    'BCC',
    'message-id',
    'Content-Type',
    'content-x',
    'DKIM-Signature',
    'Return-Path',
  ]) {
    t.ok(isForbiddenHeader(name), name)
  }
  for (const name of ['X-Order', 'Reply-To', 'List-Unsubscribe', 'In-Reply-To', 'Contents']) {
    t.notOk(isForbiddenHeader(name), name)
  }
  for (const name of ['', 'X Order', 'X:Order', 'X-Ö', 'X\r\nY', 'X\0']) t.notOk(isHeaderName(name), name)
  t.ok(isHeaderName("X-Order_1!'"))
  t.ok(isHeaderValue('a\tb ü'))
  for (const value of ['a\r', 'a\nb', 'a\0b', '\x7f']) t.notOk(isHeaderValue(value))
})

t.test('the unsubscribe rule (RFC 8058)', async (t) => {
  const post = { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }
  t.ok(keepsUnsubscribeRule({}))
  t.ok(keepsUnsubscribeRule({ 'List-Unsubscribe': '<mailto:u@x.test>' }))
  t.ok(keepsUnsubscribeRule({ ...post, 'list-unsubscribe': '<mailto:u@x.test>, <https://x.test/u?a=1>' }))
  t.notOk(keepsUnsubscribeRule(post))
  t.notOk(keepsUnsubscribeRule({ ...post, 'List-Unsubscribe': '<http://x.test/u>' }))
  t.notOk(keepsUnsubscribeRule({ ...post, 'List-Unsubscribe': 'https://x.test/u' }))
  t.notOk(
    keepsUnsubscribeRule({
      'list-unsubscribe-post': 'List-Unsubscribe=one-click',
      'List-Unsubscribe': '<https://x.test/u>',
    }),
  )
})

t.test('folding', async (t) => {
  t.equal(foldField('Subject', 'short'), 'Subject: short\r\n')
  t.equal(foldField('X', 'y'.repeat(200)), `X: ${'y'.repeat(200)}\r\n`, 'a word stays whole, beside its name')
  t.equal(textField('Subject', 'für'), 'Subject: =?UTF-8?Q?f=C3=BCr?=\r\n')
  t.equal(textField('Subject', '=?UTF-8?Q?x?='), 'Subject: =?UTF-8?B?PT9VVEYtOD9RP3g/PQ==?=\r\n')
  t.equal(textField('X-A', '=?UTF-8?Q?x?=', false), 'X-A: =?UTF-8?Q?x?=\r\n')
  t.equal(textField('Subject', 'a\r\nBcc: x@y.z'), 'Subject: a Bcc: x@y.z\r\n')
  const value = fc
    .array(fc.stringMatching(/^[!-~]{0,40}[ \t]{0,3}$/), { maxLength: 60 })
    .map((all) => all.join('').trim())
  fc.assert(
    fc.property(value, (text) => {
      const field = foldField('X-Name', text)
      const lines = field.slice(0, -2).split('\r\n')
      return (
        field.replace(/\r\n(?=[ \t])/g, '') === `X-Name: ${text}\r\n` &&
        lines.every((line, i) => i === 0 || /^[ \t]+[^ \t]/.test(line)) &&
        lines.every((line) => line.length <= 78 || !/[^ \t][ \t]+[^ \t]+[ \t]+[^ \t]/.test(line.slice(60)))
      )
    }),
  )
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, maxLength: 3000 }), (text) =>
      textField('Subject', text)
        .split('\r\n')
        .every((line) => line.length <= 998 && /^[\t\x20-\x7e]*$/.test(line)),
    ),
    { numRuns: 200 },
  )
})

t.test('fields and their offsets', async (t) => {
  const raw = Buffer.from(
    'From: a@b.c\r\nSUBJECT : one\r\n two\r\n\tthree\nnonsense\r\nX-E:\r\n\r\nBody: no\r\n',
  )
  const { fields, end, body } = scanHeader(raw)
  t.strictSame(
    fields.map((field) => [field.name, field.name === '' ? '' : fieldValue(raw, field)]),
    [
      ['from', 'a@b.c'],
      ['subject', 'one two\tthree'],
      ['', ''],
      ['x-e', ''],
    ],
  )
  t.equal(raw.toString('latin1', end), '\r\nBody: no\r\n')
  t.equal(raw.toString('latin1', body), 'Body: no\r\n')
  t.equal(scanHeader(Buffer.from('A: b\n\nbody')).body, 6, 'LF alone ends lines too')
  t.strictSame(scanHeader(Buffer.from('A: b\r\n')), {
    fields: [{ name: 'a', start: 0, value: 2, end: 6 }],
    end: 6,
    body: 6,
  })
  t.strictSame(scanHeader(Buffer.alloc(0)), { fields: [], end: 0, body: 0 })
  const grave = Buffer.from('X: voil\u00e0\r\n\r\n')
  t.equal(fieldValue(grave, scanHeader(grave).fields[0]!), Buffer.from('voil\u00e0').toString('latin1'))
})

t.test('any octets: the fields lie side by side from the first to the end', async () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[AB:ü \t\r\n]{0,60}$/), (text) => {
      const raw = Buffer.from(text)
      const { fields, end, body } = scanHeader(raw)
      let at = 0
      for (const field of fields) {
        if (field.start !== at || field.end <= at) return false
        at = field.end
      }
      return at === end && body >= end && body <= raw.length
    }),
    { numRuns: 2000 },
  )
})

t.test('the bounds of a header section, which are none of the body', (t) => {
  const isTooLarge = (text: string) => isHeaderTooLarge(Buffer.from(text, 'latin1'))
  const fields = (count: number) => 'X-A: 1\r\n'.repeat(count)
  const long = (octets: number) => `X-B: ${'b'.repeat(octets)}\r\n`
  t.notOk(isTooLarge(`${fields(10_000)}\r\nHello`))
  t.ok(isTooLarge(`${fields(10_001)}\r\nHello`))
  t.notOk(isTooLarge(`${long(1_048_000)}\r\nHello`))
  t.ok(isTooLarge(`${long(1_048_600)}\r\nHello`))
  t.ok(isTooLarge(long(1_100_000)), 'a header that never ends')
  t.notOk(isTooLarge(`${fields(3)}\r\n${fields(200_000)}`), 'what looks like fields in the body')
  t.notOk(isTooLarge(`X-A: 1\n\n${long(2_000_000)}`), 'with bare line ends')
  t.end()
})
