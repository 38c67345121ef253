import { deepStrictEqual, strictEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import {
  domainOf,
  formatMailbox,
  isAddress,
  isRecipient,
  normalizeAddress,
  parseAddress,
  parseAddressList,
  parseRecipient,
  wireAddress,
} from '../../src/mail/address.js'
import { isMailbox } from '../../src/smtp/commands.js'
import { anyCharacter } from '../parts/any-text.js'

const GOOD: [string, string | null, string][] = [
  ['a@b.c', null, 'a@b.c'],
  ['  ana@example.com ', null, 'ana@example.com'],
  ['<ana@example.com>', null, 'ana@example.com'],
  ['Ana <ana@example.com>', 'Ana', 'ana@example.com'],
  ['"Doe, Ana" <ana@example.com>', 'Doe, Ana', 'ana@example.com'],
  ['"say \\"hi\\"" <ana@example.com>', 'say "hi"', 'ana@example.com'],
  ['Ana (Sales) <ana@example.com>', 'Ana (Sales)', 'ana@example.com'],
  ['"Ana" M. "Doe" <ana@example.com>', 'Ana M. Doe', 'ana@example.com'],
  ['Zoë 😀 <zoe@example.com>', 'Zoë 😀', 'zoe@example.com'],
  ["o'neil+tag=x@example.com", null, "o'neil+tag=x@example.com"],
  ['"john doe"@example.com', null, '"john doe"@example.com'],
  ['"a@b"@example.com', null, '"a@b"@example.com'],
  ['Odd <"a<b>c"@example.com>', 'Odd', '"a<b>c"@example.com'],
  ['用户@例え.jp', null, '用户@例え.jp'],
  ['ana@bücher.example', null, 'ana@bücher.example'],
  ['ana@[192.0.2.1]', null, 'ana@[192.0.2.1]'],
  ['ana@[IPv6:2001:db8::1]', null, 'ana@[IPv6:2001:db8::1]'],
  ['root@localhost', null, 'root@localhost'],
  [`${'a'.repeat(64)}@example.com`, null, `${'a'.repeat(64)}@example.com`],
]

const BAD = [
  '',
  ' ',
  'ana',
  '@example.com',
  'ana@',
  'ana@@example.com',
  'a b@example.com',
  '.ana@example.com',
  'ana.@example.com',
  'a..b@example.com',
  'ana@example..com',
  'ana@.example.com',
  'ana@example.com.',
  'ana@-example.com',
  'ana@example-.com',
  'ana@exa_mple.com',
  'ana@exam ple.com',
  'ana@1.2.3.4',
  'ana@[300.0.0.1]',
  'ana@[192.0.2.1',
  '"ana"x@example.com',
  '"ana@example.com',
  '""@example.com',
  'ana@example.com, bob@example.com',
  'x@example.com, Ana <ana@example.com>',
  'evil@x.test <ana@example.com>',
  'Ana <ana@example.com> <bob@example.com>',
  'Ana <ana@example.com',
  'Ana ana@example.com>',
  'Ana <>',
  '<>',
  'Ana "x <ana@example.com>',
  'ana@example.com\r\nBcc: x@y.z',
  'Ana\r\nBcc: x@y.z <ana@example.com>',
  'Ana\n <ana@example.com>',
  'Ana\0 <ana@example.com>',
  '"a\r\nb"@example.com',
  'ana\u0085@example.com',
  'ana\u202e@example.com',
  'ana\u200b@example.com',
  'ana\u00a0x@example.com',
  'ana\ud800@example.com',
  'Team: ana@example.com;',
  `${'a'.repeat(65)}@example.com`,
  `${'ü'.repeat(33)}@example.com`,
  `ana@${'a'.repeat(64)}.com`,
  `ana@${'a.'.repeat(125)}com`,
  `${'n'.repeat(1000)} <ana@example.com>`,
]

t.test('one mailbox', async (t) => {
  for (const [text, name, address] of GOOD) t.strictSame(parseAddress(text), { name, address }, text)
  for (const text of BAD) t.equal(parseAddress(text), null, JSON.stringify(text).slice(0, 60))
  t.equal(isAddress('Ana <ana@example.com>'), false, 'an address has no name')
})

const ODD = [
  '.ana@example.com',
  'ana.@docomo.example',
  'a..b@example.com',
  'ana@exa_mple.com',
  '.ü.@例え.jp',
  'ana.@example.com',
]

t.test('a recipient with odd dots', async (t) => {
  for (const [text, name, address] of GOOD) t.strictSame(parseRecipient(text), { name, address }, text)
  for (const text of ODD) {
    t.strictSame(parseRecipient(text), { name: null, address: text })
    t.strictSame(parseRecipient(`Ana <${text}>`), { name: 'Ana', address: text })
  }
  const odd = [...ODD, `${'a'.repeat(65)}@example.com`, `${'ü'.repeat(33)}@example.com`]
  for (const text of BAD.filter((one) => !odd.includes(one)))
    t.equal(parseRecipient(text), null, JSON.stringify(text).slice(0, 60))
  for (const text of ['.@b.test', '..@b.test', 'a@b..test', 'a\ufffd@b.test'])
    t.equal(isRecipient(text), false, text)
  t.equal(normalizeAddress('"a..b"@Example.com'), normalizeAddress('a..b@example.com'), 'one mailbox')
})

t.test('a list as headers have it', async (t) => {
  const list = (text: string) => parseAddressList(text)
  t.strictSame(list('a@b.c'), [{ name: null, address: 'a@b.c' }])
  t.strictSame(list('"Doe, Ana" <ana@x.test>, (boss) bob@x.test, =?UTF-8?Q?Zo=C3=AB?= <zoe@x.test>'), [
    { name: 'Doe, Ana', address: 'ana@x.test' },
    { name: 'boss', address: 'bob@x.test' },
    { name: 'Zoë', address: 'zoe@x.test' },
  ])
  t.strictSame(
    list('Team: ana@x.test, Bob <bob@x.test>;, carl@x.test').map((one) => one.address),
    ['ana@x.test', 'bob@x.test', 'carl@x.test'],
  )
  t.strictSame(
    list('=?UTF-8?Q?a=40b.test=2C_Ana?= <ana@x.test>'),
    [{ name: 'a@b.test, Ana', address: 'ana@x.test' }],
    'an encoded comma parts nobody',
  )
  t.strictSame(list('undisclosed-recipients:;'), [])
  t.strictSame(list(''), [])
})

t.test('names as headers show them', async (t) => {
  const show = (name: string | null) => formatMailbox({ name, address: 'a@b.c' })
  t.equal(show(null), 'a@b.c')
  t.equal(show('  '), 'a@b.c')
  t.equal(show('Ana'), 'Ana <a@b.c>')
  t.equal(show('Doe, Ana'), '"Doe, Ana" <a@b.c>')
  t.equal(show('say "hi" \\o/'), '"say \\"hi\\" \\\\o/" <a@b.c>')
  t.equal(show('Zoë'), '=?UTF-8?Q?Zo=C3=AB?= <a@b.c>')
  t.equal(show('=?UTF-8?Q?x?='), '=?UTF-8?B?PT9VVEYtOD9RP3g/PQ==?= <a@b.c>', 'what looks encoded is literal')
  t.equal(show('Ana\r\nBcc: x@y.z'), '"Ana Bcc: x@y.z" <a@b.c>')
  t.equal(formatMailbox({ name: null, address: 'a@bücher.example' }), 'a@xn--bcher-kva.example')
})

t.test('addresses compared', async (t) => {
  t.equal(normalizeAddress('Ana@Example.COM'), 'ana@example.com')
  t.equal(normalizeAddress('"ana"@example.com'), 'ana@example.com')
  t.equal(normalizeAddress('"a na"@example.com'), '"a na"@example.com')
  t.equal(normalizeAddress('ana@BÜCHER.example'), 'ana@xn--bcher-kva.example')
  t.equal(normalizeAddress('zoe\u0308@x.test'), normalizeAddress('ZO\u00cb@x.test'))
  t.equal(normalizeAddress('postmaster'), 'postmaster')
  t.equal(wireAddress('Ana@Bücher.example'), 'Ana@xn--bcher-kva.example')
  t.equal(wireAddress('用户@例え.jp'), '用户@xn--r8jz45g.jp')
})

/** What is in lower case may go a short way; in capitals it goes the long one. */
t.test('the short way says what the long way says', async () => {
  const address = fc.oneof(
    fc.stringMatching(/^[a-z0-9_+-]{1,9}(\.[a-z0-9_+-]{1,9}){0,2}@([a-z0-9-]{1,9}\.){1,3}[a-z0-9]{1,4}$/),
    fc.stringMatching(/^[a-z0-9.]{50,66}@[a-z0-9.-]{3,66}$/),
    fc.stringMatching(/^[a-z0-9_+.@-]{1,70}$/),
    fc.emailAddress().map((text) => text.toLowerCase()),
  )
  const told = (text: string) => [isAddress(text), isRecipient(text), isMailbox(text)]
  fc.assert(
    fc.property(address, (text) => {
      const long = text.toUpperCase()
      strictEqual(normalizeAddress(text), normalizeAddress(long))
      strictEqual(domainOf(text), domainOf(long))
      deepStrictEqual(told(text), told(long))
    }),
    { numRuns: 3000 },
  )
})

t.test('whatever is accepted is harmless, and what we write we can read', async () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 40 }),
    fc.stringMatching(/^[a-z"<>@,.;:\\ \r\n()[\]ü]{0,30}$/),
    fc
      .tuple(fc.string({ unit: 'grapheme' }), fc.emailAddress())
      .map(([name, address]) => `${name} <${address}>`),
  )
  fc.assert(
    fc.property(text, (input) => {
      const box = parseAddress(input)
      if (box === null) return true
      const shown = formatMailbox(box)
      const [back, ...more] = parseAddressList(shown)
      return (
        !/[\r\n\0]/.test(shown) &&
        !/[\r\n\0]/.test(box.address) &&
        Buffer.byteLength(box.address) <= 320 &&
        more.length === 0 &&
        normalizeAddress(back?.address ?? '') === normalizeAddress(box.address) &&
        (back?.name ?? null) === box.name
      )
    }),
    { numRuns: 2000 },
  )
})
