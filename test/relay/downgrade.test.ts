import fc from 'fast-check'
import { simpleParser } from 'mailparser'
import t from 'tap'
import { readSubmitted } from '../../src/mail/submitted.js'
import { downgradeHeader } from '../../src/relay/dialogue/envelope.js'

const lines = (...all: string[]) => Buffer.from(all.join('\r\n'))

t.test('old programs', async (t) => {
  const raw = lines(
    'From: Zoë <zoe@x.test>',
    'To: "Dr. Änne, MD" <a@x.test>, bob@bücher.example',
    'X-Plain:  untouched\t ',
    'Subject: Grüße aus',
    ' Köln',
    'Content-Type: text/plain; charset=utf-8; name="für dich.txt"',
    '',
    'Köln',
  )
  const ascii = downgradeHeader(raw)
  t.ok(ascii)
  const text = Buffer.from(ascii ?? []).toString()
  t.match(text, /^[\t\r\n\x20-\x7e]*\r\n\r\nKöln$/, 'the header is ASCII, the body as it was')
  t.match(text, /\r\nX-Plain: {2}untouched\t \r\n/)
  t.match(text, /name\*=UTF-8''f%C3%BCr%20dich\.txt/)
  const seen = readSubmitted(ascii ?? new Uint8Array())
  t.equal(seen.subject, 'Grüße aus Köln')
  t.strictSame(seen.from, { name: 'Zoë', address: 'zoe@x.test' })
  t.strictSame(seen.to, [
    { name: 'Dr. Änne, MD', address: 'a@x.test' },
    { name: null, address: 'bob@xn--bcher-kva.example' },
  ])
  t.equal(seen.needsSmtpUtf8, false)
  t.equal((await simpleParser(Buffer.from(ascii ?? []))).subject, 'Grüße aus Köln')
  const latin1 = downgradeHeader(Buffer.from('Subject: f\xfcr\r\n\r\n\xfc', 'latin1'))
  t.equal(Buffer.from(latin1 ?? []).toString('latin1'), 'Subject: =?UTF-8?Q?f=C3=BCr?=\r\n\r\n\xfc')
})

t.test('what cannot be', async (t) => {
  t.equal(downgradeHeader(lines('From: 用户@例え.jp', '', '')), null)
  const signed = lines('DKIM-Signature: v=1; h=from; b=x', 'From: 用户@例え.jp', '', '')
  t.equal(downgradeHeader(signed), null, 'signed or not')
  const identifier = lines('From: a@b.c', 'Message-ID: <ü@x>', '', '')
  t.equal(downgradeHeader(identifier), identifier, 'an identifier is no address, and stays')
  const plain = lines('From: a@b.c', '', 'ü')
  t.equal(downgradeHeader(plain), plain, 'nothing to do')
})

t.test('what is signed', async (t) => {
  const raw = lines(
    'ARC-Message-Signature: i=1; h=to : from; b=x',
    'DKIM-Signature: v=1; b=x; h=from:to:subject;',
    'Subject: Grüße',
    'Comments: für alle',
    '',
    '',
  )
  const text = Buffer.from(downgradeHeader(raw) ?? []).toString()
  t.match(text, /\r\nSubject: Grüße\r\nComments: =\?UTF-8\?/)
})

t.test('any octets: ASCII, or null', async () => {
  const line = fc
    .tuple(
      fc.constantFrom('From', 'Subject', 'Content-Type', 'X-A', 'Received'),
      fc.uint8Array({ maxLength: 40 }),
    )
    .map(([name, value]) =>
      Buffer.concat([
        Buffer.from(`${name}: `),
        Buffer.from(value.filter((octet) => octet > 31)),
        Buffer.from('\r\n'),
      ]),
    )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 5 }), (all) => {
      const out = downgradeHeader(Buffer.concat(all))
      return out === null || !/[^\t\r\n\x20-\x7f]/.test(Buffer.from(out).toString('latin1'))
    }),
    { numRuns: 1000 },
  )
})
