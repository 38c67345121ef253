import fc from 'fast-check'
import t from 'tap'
import { normalizeLineEnds } from '../../src/mail/header.js'
import { prepareAgain, prepareForRelay, readSubmitted } from '../../src/mail/submitted.js'

const lines = (...all: string[]) => Buffer.from(all.join('\r\n'))
const fields = {
  messageId: '<new@x.test>',
  date: 'Fri, 20 Nov 2026 10:00:00 +0000',
  receivedLine: 'Received: us\r\n',
}
const relay = (raw: Buffer, more = {}) =>
  Buffer.from(prepareForRelay(raw, readSubmitted(raw), { ...fields, ...more })).toString()

t.test('the header section', async (t) => {
  const raw = lines(
    'Received: from a by b; now',
    'received: from b by c id em_1; now',
    'FROM: "Shop, Inc." <No-Reply@shop.test>',
    'to: Ana <ana@example.com>,',
    '\t=?UTF-8?Q?Zo=C3=AB?= <zoe@example.com>',
    'Cc: Team: carl@x.test;',
    'Reply-To: help@shop.test',
    'Bcc: secret@x.test,',
    ' other@x.test',
    'Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?=',
    ' from us',
    'Message-ID: <1@shop.test>',
    'Date: Fri, 20 Nov 2026 10:00:00 +0000',
    'Idempotency-Key: order-42',
    'X-Postern-Tag: kind=receipt',
    'x-postern-tag: step=2',
    'X-Postern-Scheduled-At: 2026-11-21T10:00:00Z',
    'X-Postern-Unsubscribe: news ',
    '',
    'Bcc: this is body',
    '',
  )
  const { section, ...seen } = readSubmitted(raw, 'id em_')
  t.strictSame(seen, {
    from: { name: 'Shop, Inc.', address: 'No-Reply@shop.test' },
    authors: [{ name: 'Shop, Inc.', address: 'No-Reply@shop.test' }],
    hasFrom: true,
    to: [
      { name: 'Ana', address: 'ana@example.com' },
      { name: 'Zoë', address: 'zoe@example.com' },
    ],
    cc: [{ name: null, address: 'carl@x.test' }],
    replyTo: [{ name: null, address: 'help@shop.test' }],
    subject: 'Grüße from us',
    messageId: '<1@shop.test>',
    date: 'Fri, 20 Nov 2026 10:00:00 +0000',
    tags: [
      { name: 'kind', value: 'receipt' },
      { name: 'step', value: '2' },
    ],
    unheeded: [],
    idempotencyKey: 'order-42',
    scheduledAt: { field: 'x-postern-scheduled-at', text: '2026-11-21T10:00:00Z' },
    ignoreSuppressions: false,
    unsubscribe: 'news',
    received: 2,
    loops: 1,
    repeated: [],
    hasBareCr: false,
    hasBareLf: false,
    hasNul: false,
    needsSmtpUtf8: false,
  })
  t.equal(section.fields.length, 15)
  t.equal(
    relay(raw),
    `Received: us\r\n${raw
      .toString()
      .replace('Bcc: secret@x.test,\r\n other@x.test\r\n', '')
      .replace(/^(?:Idempotency-Key|X-Postern-\S+): .*\r\n/gim, '')}`,
  )
})

t.test('what is missing is added, what is there stays', async (t) => {
  t.equal(
    relay(lines('From: a@b.c', '', 'hi', '')),
    'Received: us\r\nDate: Fri, 20 Nov 2026 10:00:00 +0000\r\nMessage-ID: <new@x.test>\r\nFrom: a@b.c\r\n\r\nhi\r\n',
  )
  t.equal(
    relay(lines('MESSAGE-id:  <x@y>  ', 'dAtE: yesterday', '', 'hi')),
    'Received: us\r\nMESSAGE-id:  <x@y>  \r\ndAtE: yesterday\r\n\r\nhi',
    'existing ones, however odd',
  )
  t.notMatch(relay(lines('Message-ID:', 'Date: x', '', 'hi')), /^Message-ID:\r/m, 'an empty one is none')
  t.match(
    relay(lines('Hello, this is no header', 'at all', '')),
    /\r\n\r\nHello, this is no header\r\nat all\r\n$/,
  )
  t.match(
    relay(lines('From ann Mon Jan  1 00:00:00 2026', 'From: a@b.c', '', 'x')),
    /<new@x\.test>\r\nFrom: a@b\.c\r\n/,
  )
  t.equal(
    relay(
      lines(' left over', '\tof a field', 'From: a@b.c', 'Bcc: hidden@b.c', 'X-Postern-Tag: a=b', '', 'x'),
    ),
    relay(lines('From: a@b.c', '', 'x')),
    'what continues no field is left out: it would continue one of ours',
  )
  const plain = relay(lines('From: a@b.c', 'Subject: s', '', 'x'))
  for (const top of [
    '\u{FEFF}',
    'hello world\r\n',
    'X Mailer: foo\r\n more\r\n',
    'From ann Mon\r\n',
    '\u{FEFF}From x\r\n',
  ]) {
    const raw = lines(`${top}From: a@b.c`, 'Bcc: hidden@b.c', 'Subject: s', '', 'x')
    t.equal(relay(raw), plain, JSON.stringify(top))
    t.match(readSubmitted(raw), { from: { address: 'a@b.c' }, subject: 's' }, 'and so it is read')
  }
  t.match(relay(Buffer.from('\u{FEFF}Dear Ann,\r\n')), /\r\n\r\nDear Ann,\r\n$/)
  t.match(relay(lines(' indented text', '  of a body', '')), /\r\n\r\n indented text\r\n {2}of a body\r\n$/)
  t.match(relay(Buffer.from('From: a@b.c\r\n')), /\r\nFrom: a@b\.c\r\n$/, 'no body')
  t.match(relay(Buffer.alloc(0)), /^Received: us\r\n/)
})

t.test('what leaves as a body is not read as a header', async (t) => {
  const raw = lines('Hello,', 'Subject: no', 'X-Postern-Tag: a=b', 'P.S.: bye', '', 'x')
  t.match(readSubmitted(raw), { subject: '', tags: [], from: null, hasFrom: false, needsSmtpUtf8: false })
  t.match(relay(raw), /<new@x\.test>\r\n\r\nHello,\r\nSubject: no\r\n/)
  const folded = lines(' left over', 'Subject: yes', 'To: a@b.c', 'X-Postern-Tag: a=b', '', 'x')
  t.match(readSubmitted(folded), { subject: 'yes', tags: [{ name: 'a', value: 'b' }] })
})

t.test('raw 8-bit', async (t) => {
  const utf8 = readSubmitted(lines('From: Zoë <a@b.c>', 'Subject: für', '', 'ü'))
  t.equal(utf8.subject, 'für')
  t.equal(utf8.from?.name, 'Zoë')
  t.equal(utf8.needsSmtpUtf8, true)
  const latin1 = readSubmitted(Buffer.from('From: a@b.c\r\nSubject: f\xfcr\r\n\r\n\xfc', 'latin1'))
  t.equal(latin1.subject, 'für')
  t.equal(readSubmitted(lines('From: a@b.c', '', 'only the body: ü')).needsSmtpUtf8, false)
  t.equal(
    readSubmitted(lines('From: a@b.c', 'X-PM-Tag: ü', 'Bcc: ü@x.test', '', '')).needsSmtpUtf8,
    false,
    'goes anyway',
  )
  const raw = Buffer.from('X: \xc3\xa0\xff\x80\r\n\r\n\x80\xff', 'latin1')
  t.ok(Buffer.from(relay(raw), 'utf8').length > 0)
  t.ok(
    Buffer.from(prepareForRelay(raw, readSubmitted(raw), fields))
      .subarray(-raw.length)
      .equals(raw),
    'octets stay as they are',
  )
})

t.test('line ends', async (t) => {
  const flags = (text: string) => {
    const { hasBareCr, hasBareLf, hasNul } = readSubmitted(Buffer.from(text))
    return [hasBareCr, hasBareLf, hasNul]
  }
  t.strictSame(flags('A: b\r\n\r\nc\r\n'), [false, false, false])
  t.strictSame(flags('A: b\n\nc\n'), [false, true, false])
  t.strictSame(flags('A: b\r\n\r\nc\rd'), [true, false, false])
  t.strictSame(flags('A: b\r\n\r\nc\r'), [true, false, false])
  t.strictSame(flags('\nA: b\r\n'), [false, true, false])
  t.strictSame(flags('A: b\r\r\n\r\n\n'), [true, true, false])
  t.strictSame(flags('A: \0\r\n'), [false, false, true])
  const smuggled = Buffer.from('From: a@b.c\r\nSubject: x\rBcc: secret@x.test\rX-PM-Tag: y\r\n\r\na\nb\0\r\n')
  const normal = relay(smuggled, { normalize: true })
  t.notMatch(normal, /secret|PM-Tag/, 'a field that a lone CR uncovers is taken out as well')
  t.match(normal, /Subject: x\r\n\r\na\r\nb\r\n$/)
  t.equal(relay(smuggled).endsWith(smuggled.toString()), true, 'untouched unless asked')
  t.equal(
    normalizeLineEnds(Buffer.from('a\r\n\r\r\n\nb\0\xff', 'latin1')).toString('latin1'),
    'a\r\n\r\n\r\n\r\nb\xff',
  )
})

t.test('line ends at any place of a word, and of a buffer', async () => {
  const octet = fc.constantFrom(0, 10, 13, 13, 9, 14, 65, 127, 128, 255)
  const shape = fc.tuple(fc.array(octet, { maxLength: 40 }), fc.nat(7))
  fc.assert(
    fc.property(shape, ([octets, offset]) => {
      const raw = Buffer.from(new ArrayBuffer(64), offset, octets.length)
      raw.set(octets)
      const { hasBareCr, hasBareLf, hasNul } = readSubmitted(raw)
      const rest = raw.toString('latin1').replaceAll('\r\n', '')
      return (
        hasBareCr === rest.includes('\r') &&
        hasBareLf === rest.includes('\n') &&
        hasNul === rest.includes('\0')
      )
    }),
    { numRuns: 3000 },
  )
})

t.test('fields that came twice', async (t) => {
  t.strictSame(
    readSubmitted(lines('From: a@b.c', 'from: x@y.z', 'X-A: 1', 'X-A: 2', 'To: a@b.c', 'TO: d@e.f', '', ''))
      .repeated,
    ['from', 'to'],
  )
  const list = (...names: string[]) =>
    readSubmitted(lines('From: a@b.c', ...names.map((name) => `X-Postern-Unsubscribe: ${name}`), '', ''))
  t.same(list('news', 'other').unheeded, ['x-postern-unsubscribe says two things'])
  t.same(list('news', 'news').unheeded, [])
})

t.test('all but the removed fields leaves octet for octet', async () => {
  const field = fc
    .tuple(
      fc.constantFrom(
        'From',
        'X-Custom',
        'bcc',
        'BCC',
        'X-SES-Thing',
        'Idempotency-Key',
        'X-Mailer',
        'Resent-Bcc',
      ),
      fc.stringMatching(/^[a-z <>@:ü]{0,20}$/),
      fc.array(fc.stringMatching(/^[ \t][a-z:]{1,10}$/), { maxLength: 2 }),
    )
    .map(([name, value, more]) => ({
      goes: /^(?:bcc|resent-bcc|x-ses-thing|idempotency-key)$/i.test(name),
      text: [`${name}:${value}`, ...more].map((line) => `${line}\r\n`).join(''),
    }))
  fc.assert(
    fc.property(
      fc.array(field, { minLength: 1, maxLength: 8 }),
      fc.uint8Array({ maxLength: 50 }),
      (all, body) => {
        const start = 'Date: x\r\nMessage-ID: <a@b>\r\n'
        const raw = Buffer.concat([Buffer.from(`${start}${all.map((one) => one.text).join('')}\r\n`), body])
        const kept = all.filter((one) => !one.goes).map((one) => one.text)
        const wanted = Buffer.concat([Buffer.from(`Received: us\r\n${start}${kept.join('')}\r\n`), body])
        return wanted.equals(prepareForRelay(raw, readSubmitted(raw), fields))
      },
    ),
    { numRuns: 500 },
  )
})

t.test('sent again, all octets stay but those that are made anew and signatures over them', async () => {
  const signed = (...names: readonly string[]) =>
    `DKIM-Signature: v=1;\r\n h=${names.join(' :\r\n\t')}; b=x\r\n`
  const field = fc.constantFrom(
    { goes: true, text: 'Date: x\r\n' },
    { goes: true, text: 'DATE :\r\n y\r\n' },
    { goes: true, text: 'Message-Id:\r\n\t<a@b>\r\n' },
    { goes: true, text: signed('From', 'DATE') },
    { goes: true, text: signed('message-id') },
    { goes: true, text: 'dkim-signature: h=date\r\n' },
    { goes: false, text: signed('from', 'x-date', 'resent-date', 'list-id') },
    { goes: false, text: 'DKIM-Signature: v=1; bh=date; x=h; b=message-id\r\n' },
    { goes: false, text: 'X-Signature: h=date\r\n' },
    { goes: false, text: 'Resent-Date: x\r\nResent-Message-ID: <r@b>\r\n' },
    { goes: false, text: 'Received: by gw.test with HTTP id em_9;\r\n now\r\n' },
    { goes: false, text: 'Subject: \u00fc\r\n Date: no field\r\n' },
    { goes: false, text: 'no field at all\r\n' },
  )
  const fields = {
    ...{ messageId: '<new@gw>', date: 'now', oldId: 'em_1', receivedLine: 'Received: new\r\n' },
    without: new Set(['x-first']),
  }
  fc.assert(
    fc.property(fc.boolean(), fc.array(field, { maxLength: 8 }), fc.uint8Array(), (traced, all, octets) => {
      const body = Buffer.concat([Buffer.from('\r\n'), octets])
      const old = traced ? 'Received: by gw.test with ESMTP id em_1\r\n for <a@b>; then\r\n' : ''
      const raw = Buffer.concat([
        Buffer.from(`${old}X-First: 1\r\n${all.map(({ text }) => text).join('')}`),
        body,
      ])
      const kept = all.filter(({ goes }) => !goes).map(({ text }) => text)
      const made = `${traced ? fields.receivedLine : ''}Date: now\r\nMessage-ID: <new@gw>\r\n`
      return Buffer.concat([Buffer.from(`${made}${kept.join('')}`), body]).equals(prepareAgain(raw, fields))
    }),
    { numRuns: 500 },
  )
})

t.test('any octets are read without harm', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (raw, normalize) => {
      const out = prepareForRelay(raw, readSubmitted(raw), { ...fields, normalize })
      return !normalize || !/\0|\r(?!\n)|(?<!\r)\n/.test(Buffer.from(out).toString('latin1'))
    }),
    { numRuns: 1000 },
  )
})

t.test('no text takes long', async (t) => {
  for (const piece of [' ', '\t', '\r', '\r\n', '\r\n ', '"', '<', '(', '=?a?Q?', 'a@b.c,', 'x:', '{"a":']) {
    const long = piece.repeat(100_000 / piece.length)
    const raw = Buffer.from(
      `From: ${long}\r\nSubject: ${long}\r\nX-SMTPAPI: ${long}\r\nX-MC-Tags: ${long}\r\n\r\n${long}`,
    )
    t.ok(
      prepareForRelay(raw, readSubmitted(raw), { ...fields, normalize: true }).length > 0,
      JSON.stringify(piece),
    )
  }
})

t.test('empty lines without end cost what text costs', async (t) => {
  const header = 'From: a@acme.test\r\n\r\n'
  const cpuOf = (body: string): number => {
    const raw = Buffer.from(header + body)
    const times = Array.from({ length: 5 }, () => {
      const before = process.cpuUsage()
      readSubmitted(raw)
      return process.cpuUsage(before).user
    })
    return times.sort((a, b) => a - b)[2] ?? 0
  }
  const size = 4_000_000
  const text = cpuOf('x'.repeat(size))
  for (const one of ['\n', '\r', '\r\n']) {
    const cost = cpuOf(one.repeat(size / one.length))
    // text is passed over by words, these are looked at one by one; by squares it would be thousands
    t.ok(cost < 40 * text + 1_000, `${JSON.stringify(one)}: ${cost} against ${text} microseconds`)
  }
})
