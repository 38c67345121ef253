import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type ParsedMail, simpleParser } from 'mailparser'
import MailComposer from 'nodemailer/lib/mail-composer'
import t from 'tap'
import { composeMessage, type MessageModel } from '../../src/mail/compose.js'
import { decodeWords } from '../../src/mail/encoding.js'

const base: MessageModel = {
  messageId: '<em_01k9f3m2zq8v6t4r2p0nxcwbha@mail.acme.test>',
  date: Date.UTC(2026, 10, 20, 10),
  from: { name: 'Acme', address: 'no-reply@acme.test' },
  to: [{ name: null, address: 'ana@example.com' }],
  cc: [],
  replyTo: [],
  subject: 'Receipt 42',
  html: '<p>Hi</p>',
  text: 'Hi',
  headers: {},
  attachments: [],
}
const compose = async (model: Partial<MessageModel>) =>
  Buffer.from(await composeMessage({ ...base, ...model }))
const text = async (model: Partial<MessageModel>) => (await compose(model)).toString()
const parse = (raw: Uint8Array) =>
  simpleParser(Buffer.from(raw), {
    skipHtmlToText: true,
    skipTextToHtml: true,
    skipTextLinks: true,
    skipImageLinks: true,
  })

const isClean = (raw: Buffer): boolean =>
  !/\r(?!\n)|(?<!\r)\n|\0/.test(raw.toString('latin1')) &&
  raw
    .toString('latin1')
    .split('\r\n')
    .every((line) => line.length <= 998) &&
  raw.toString('latin1').endsWith('\r\n')

/** nodemailer building the whole message by itself: the judge. */
const reference = (model: MessageModel): Promise<Buffer> => {
  const boxes = (list: MessageModel['to']) => list.map(({ name, address }) => ({ name: name ?? '', address }))
  return new MailComposer({
    from: boxes([model.from]),
    to: boxes(model.to),
    cc: boxes(model.cc),
    replyTo: boxes(model.replyTo),
    subject: model.subject,
    messageId: model.messageId,
    date: new Date(model.date),
    headers: { ...model.headers },
    ...(model.text === null ? {} : { text: model.text }),
    ...(model.html === null ? {} : { html: model.html }),
    newline: 'win',
  })
    .compile()
    .build()
}

/** What a reader sees. Line ends and blanks in headers may differ; a line end at the very end of a body too. */
const seen = (mail: ParsedMail) => {
  const line = (value: string | undefined) => (value ?? '').replace(/\s+/g, ' ').trim()
  const body = (value: string | false | undefined) => (value || '').replace(/\r\n?/g, '\n').replace(/\n$/, '')
  const boxes = (field: ParsedMail['from'] | ParsedMail['to']) =>
    [field ?? []]
      .flat()
      .flatMap((one) => one.value)
      .map((one) => [line(one.name), one.address])
  return {
    from: boxes(mail.from),
    to: boxes(mail.to),
    cc: boxes(mail.cc),
    replyTo: boxes(mail.replyTo),
    subject: line(mail.subject),
    messageId: mail.messageId,
    date: mail.date?.getTime(),
    text: body(mail.text),
    html: body(mail.html),
    order: line(decodeWords(line(mail.headers.get('x-order') as string | undefined))),
    mime: mail.headers.get('mime-version'),
    attachments: mail.attachments.length,
  }
}

// `=?` is left out: we keep it literal, nodemailer passes on what is encoded already
const words = (unit: 'grapheme' | 'grapheme-ascii', maxLength: number) =>
  fc.string({ unit, maxLength }).filter((value) => !value.includes('=?') && !/[\x00-\x1f\x7f]/.test(value))
const phrase = fc.oneof(
  words('grapheme', 40),
  words('grapheme-ascii', 120),
  fc.constant('Zoë "Z" O\'Neil, Ltd. \\o/ 😀'),
)
const mailbox = fc.record({
  name: fc.option(
    phrase.map((name) => name.replace(/\s+/g, ' ').trim()),
    { nil: null },
  ),
  address: fc.constantFrom('ana@example.com', 'b.o+b@x.test', '"john doe"@x.test', 'zoe@bücher.example'),
})
const bodyLine = fc.oneof(
  fc.string({ maxLength: 100 }),
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.constantFrom(
    '',
    '.',
    '..',
    '.hidden',
    'From here',
    '>From',
    'tail ',
    'tab\t',
    '=3D',
    '--',
    '<b>é</b>',
    '日本語'.repeat(30),
  ),
  fc.integer({ min: 70, max: 1100 }).map((length) => 'x'.repeat(length)),
  fc.integer({ min: 20, max: 300 }).map((length) => 'ab cd '.repeat(length)),
)
const body = fc
  .tuple(fc.array(bodyLine, { maxLength: 8 }), fc.constantFrom('\n', '\r\n'))
  .map(([lines, end]) => lines.map((line) => line.replace(/[\r\n\0]/g, '')).join(end))
const model = fc.record({
  from: mailbox,
  to: fc.array(mailbox, { minLength: 1, maxLength: 4 }),
  cc: fc.array(mailbox, { maxLength: 2 }),
  replyTo: fc.array(mailbox, { maxLength: 1 }),
  subject: phrase,
  html: fc.option(body, { nil: null }),
  text: fc.option(body, { nil: null }),
  headers: phrase.map((value): Record<string, string> => (value.trim() === '' ? {} : { 'X-Order': value })),
})

t.test('reads the same as what nodemailer builds', async () => {
  await fc.assert(
    fc.asyncProperty(model, async (some) => {
      const ours = await compose(some)
      assert.deepStrictEqual(
        seen(await parse(ours)),
        seen(await parse(await reference({ ...base, ...some }))),
      )
      assert.ok(isClean(ours))
    }),
    { numRuns: 250 },
  )
})

t.test('a plain mail, octet by octet', async (t) => {
  t.equal(
    await text({}),
    [
      'From: Acme <no-reply@acme.test>',
      'To: ana@example.com',
      'Subject: Receipt 42',
      'Message-ID: <em_01k9f3m2zq8v6t4r2p0nxcwbha@mail.acme.test>',
      'Date: Fri, 20 Nov 2026 10:00:00 +0000',
      'MIME-Version: 1.0',
      'Content-Type: multipart/alternative; boundary="=_em01k9f3m2zq8v6t4r2p0nxcwbhamailacmetest"',
      '',
      '--=_em01k9f3m2zq8v6t4r2p0nxcwbhamailacmetest',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: 7bit',
      '',
      'Hi',
      '--=_em01k9f3m2zq8v6t4r2p0nxcwbhamailacmetest',
      'Content-Type: text/html; charset=utf-8',
      'Content-Transfer-Encoding: 7bit',
      '',
      '<p>Hi</p>',
      '--=_em01k9f3m2zq8v6t4r2p0nxcwbhamailacmetest--',
      '',
    ].join('\r\n'),
  )
  t.strictSame(await compose({}), await compose({}), 'the same each time')
})

t.test('the encoding fits the text', async (t) => {
  const encoding = async (body: string) =>
    /Content-Transfer-Encoding: (\S+)/.exec(await text({ text: body, html: null }))?.[1]
  t.equal(await encoding('a\n'.repeat(100)), '7bit')
  t.equal(await encoding('x'.repeat(998)), '7bit')
  t.equal(await encoding('x'.repeat(999)), 'quoted-printable')
  t.equal(await encoding('für dich, und für alle'), 'quoted-printable')
  t.equal(await encoding('日本語のメール'), 'base64')
  t.equal(await encoding('From here'), 'quoted-printable')
  t.equal(await encoding('nul \0'), 'quoted-printable')
})

t.test('header values cannot become fields', async (t) => {
  const raw = await text({ subject: 'a\r\nBcc: x@y.z', headers: { 'X-A': 'b\nBcc: x@y.z' } })
  t.notMatch(raw, /^Bcc/im)
  for (const name of ['Bcc', 'bcc', 'content-type', 'X A', 'X\r\nY']) {
    await t.rejects(compose({ headers: { [name]: 'x' } }), TypeError, name)
  }
  t.equal((await text({ headers: { 'Reply-To': 'a@b.c' } })).match(/^reply-to:/gim)?.length, 1)
  const both = await text({ headers: { 'reply-to': 'a@b.c' }, replyTo: [{ name: null, address: 'x@y.z' }] })
  t.strictSame(both.match(/^reply-to:.*$/gim), ['Reply-To: x@y.z'])
})

t.test('edges', async (t) => {
  t.match(await text({ to: [] }), /^To: undisclosed-recipients:;\r$/m)
  t.notMatch(await text({ subject: '' }), /^Subject/m)
  const empty = await parse(await compose({ html: null, text: null }))
  t.equal((empty.text ?? '').trim(), '')
  const eai = await compose({ to: [{ name: null, address: '用户@例え.jp' }] })
  t.match(eai.toString(), /^To: 用户@xn--r8jz45g\.jp\r$/m)
  const boundary = '--=_em01k9f3m2zq8v6t4r2p0nxcwbhamailacmetest--'
  const inside = await parse(await compose({ text: `a\n${boundary}\nb`, html: '<i>c</i>' }))
  t.equal(inside.text?.trim(), `a\n${boundary}\nb`, 'a boundary in the text ends nothing')
  t.ok(isClean(await compose({ subject: 'x'.repeat(5000), headers: { 'X-Long': 'y'.repeat(3000) } })))
})

const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i))

t.test('attachments', async (t) => {
  const some: Partial<MessageModel> = {
    subject: 'Grüße',
    html: '<img src="cid:logo"> <p>x</p>',
    text: 'From me\n.dot\ntrailing \n',
    attachments: [
      { filename: 'Übersicht "2026".pdf', contentType: 'application/pdf', contentId: null, content: bytes },
      { filename: 'logo.png', contentType: 'image/png', contentId: '<logo>', content: bytes },
      {
        filename: 'table.csv',
        contentType: 'text/csv',
        contentId: null,
        content: Buffer.from('a;b\nc;d\r\n\re'),
      },
      {
        filename: 'mail.eml',
        contentType: 'message/rfc822',
        contentId: null,
        content: Buffer.from('Subject: x\n\nhi\n'),
      },
      { filename: 'é.html', contentType: null, contentId: null, content: Buffer.from('<é>') },
      { filename: 'thing', contentType: 'multipart/mixed', contentId: null, content: Buffer.from('x') },
      {
        filename: 'a\r\nBcc: x@y.z.txt',
        contentType: 'text/plain\r\nBcc: x@y.z',
        contentId: 'a\r\nBcc: x',
        content: bytes,
      },
    ],
  }
  const raw = await compose(some)
  t.ok(isClean(raw))
  t.strictSame(raw, await compose(some), 'the same each time')
  t.notMatch(raw.toString(), /^Bcc/im)
  t.equal(raw.toString().match(/^message-id:/gim)?.length, 1)
  t.equal(raw.toString().match(/^date:/gim)?.length, 1)
  const mail = await parse(raw)
  t.equal(mail.subject, 'Grüße')
  t.equal(mail.text, 'From me\n.dot\ntrailing \n')
  t.equal(mail.html, '<img src="cid:logo"> <p>x</p>')
  const found = (name: string) => mail.attachments.find((one) => one.filename === name)
  t.ok(found('Übersicht "2026".pdf')?.content.equals(bytes))
  t.equal(found('Übersicht "2026".pdf')?.contentType, 'application/pdf')
  t.equal(found('logo.png')?.related, true)
  t.equal(found('logo.png')?.cid, 'logo')
  t.equal(found('table.csv')?.content.toString(), 'a;b\nc;d\r\n\re', 'octets stay as they are')
  t.equal(found('é.html')?.contentType, 'text/html')
  t.equal(found('thing')?.contentType, 'application/octet-stream')
  t.equal(mail.attachments.length, 7)
})

t.test('one attachment and nothing else', async (t) => {
  const raw = await compose({
    html: null,
    text: null,
    attachments: [{ filename: 'a.bin', contentType: null, contentId: null, content: bytes }],
  })
  const mail = await parse(raw)
  t.ok(isClean(raw))
  t.ok(mail.attachments[0]?.content.equals(bytes))
  t.equal(mail.subject, 'Receipt 42')
})

t.test('an attachment without a name gets one that any system can save', async (t) => {
  const types = [null, 'application/octet-stream', 'multipart/mixed', 'application/pdf']
  for (const filename of [null, '', ' ']) {
    const attachments = types.map((contentType) => ({
      filename,
      contentType,
      contentId: null,
      content: bytes,
    }))
    const mail = await parse(await compose({ attachments }))
    t.strictSame(
      mail.attachments.map((one) => one.filename),
      ['attachment-1.bin', 'attachment-2.bin', 'attachment-3.bin', 'attachment-4.pdf'],
    )
  }
})

t.test('no text takes long', async (t) => {
  for (const piece of [' ', '\t\r', '\r\n', '"', '<', '=?', '=?a?Q?', 'x', 'ü', 'From ', '\ud800']) {
    const long = piece.repeat(100_000 / piece.length)
    const raw = await compose({ subject: long, text: long, html: long, headers: { 'X-A': long } })
    t.ok(isClean(raw), JSON.stringify(piece))
  }
})
