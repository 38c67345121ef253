import t from 'tap'
import { composeMessage, type MessageModel } from '../../src/mail/compose.js'
import { parseContent, submissionFingerprint } from '../../src/mail/parse.js'

const raw = (...lines: string[]) => Buffer.from(lines.join('\r\n'))
const model: MessageModel = {
  messageId: '<em_1@mail.acme.test>',
  date: 0,
  from: { name: 'Acmé', address: 'no-reply@acme.test' },
  to: [{ name: null, address: 'ana@example.com' }],
  cc: [],
  replyTo: [],
  subject: 'Receipt 42 für dich',
  html: '<img src="cid:logo"> http://x.test\n',
  text: 'See http://x.test\n',
  headers: { 'X-Order': 'für 42', 'List-Unsubscribe': '<https://x.test/u>' },
  attachments: [
    { filename: 'r.pdf', contentType: 'application/pdf', contentId: null, content: Buffer.from('%PDF-') },
    { filename: 'l.png', contentType: 'image/png', contentId: 'logo', content: Buffer.from('png') },
  ],
}

t.test('what was written is what is read', async (t) => {
  const content = await parseContent(await composeMessage(model))
  t.strictSame(content, {
    html: '<img src="cid:logo"> http://x.test\n',
    text: 'See http://x.test\n',
    headers: { 'X-Order': 'für 42', 'List-Unsubscribe': '<https://x.test/u>' },
    attachments: [
      { filename: 'l.png', content_type: 'image/png', size: 3, content_id: 'logo' },
      { filename: 'r.pdf', content_type: 'application/pdf', size: 5, content_id: null },
    ].sort(
      (a, b) =>
        content.attachments.findIndex((one) => one.filename === a.filename) -
        content.attachments.findIndex((one) => one.filename === b.filename),
    ),
  })
})

t.test('nothing is invented', async (t) => {
  const html = await parseContent(raw('Content-Type: text/html', '', '<b>x</b>'))
  t.strictSame([html.html, html.text], ['<b>x</b>', null])
  const text = await parseContent(raw('Subject: x', '', 'plain'))
  t.strictSame([text.html, text.text], [null, 'plain'])
  const twice = await parseContent(
    raw('X-A: 1', 'x-a: 2', 'X-PM-Tag: t', 'Received: y', 'From: a@b.c', '', ''),
  )
  t.strictSame(twice.headers, { 'X-A': '1, 2' })
})

t.test('broken mails are read without harm', async (t) => {
  for (const bytes of [
    '',
    '\r\n',
    'x',
    'Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n',
    '\0\0',
    ': x\r\n\r\n',
    `Content-Type: multipart/mixed; boundary=x\r\n\r\n${'--x\r\n\r\n\r\n'.repeat(5_000)}`,
  ]) {
    await t.resolves(parseContent(Buffer.from(bytes)))
    await t.resolves(submissionFingerprint(Buffer.from(bytes), []))
  }
})

t.test('the fingerprint', async (t) => {
  const print = async (some: Partial<MessageModel>, to = ['ana@example.com', 'bob@example.com']) =>
    submissionFingerprint(await composeMessage({ ...model, ...some }), to)
  const first = await print({})
  t.match(first, /^[0-9a-f]{64}$/)
  t.equal(await print({ messageId: '<other@x.test>', date: 5e11 }), first, 'Message-ID, Date, boundaries')
  t.equal(await print({}, ['BOB@example.com', 'ana@example.com', 'ana@EXAMPLE.com']), first, 'order and case')
  t.equal(await print({ text: 'See http://x.test\r\n\r\n' }), first, 'line ends')
  for (const [what, some] of Object.entries({
    subject: { subject: 'Receipt 43' },
    text: { text: 'other' },
    html: { html: '<p>other</p>' },
    from: { from: { name: null, address: 'x@acme.test' } },
    attachment: {
      attachments: model.attachments.map((one) => ({ ...one, content: Buffer.from('changed') })),
    },
    fewer: { attachments: [] },
  })) {
    t.not(await print(some), first, what)
  }
  t.not(await print({}, ['ana@example.com']), first, 'recipients')
})

t.test('a large message is read in small steps, and others have their turn between them', async (t) => {
  const file = Buffer.alloc(12_000_000, 'postern ').toString('base64').replace(/.{76}/g, '$&\r\n')
  const head = 'From: a@b.test\r\nMIME-Version: 1.0\r\nContent-Type: application/pdf\r\n'
  const message = Buffer.from(`${head}Content-Transfer-Encoding: base64\r\n\r\n${file}\r\n`)
  await parseContent(raw('From: a@b.test', '', 'the parser is loaded'))
  const cpu = (since?: NodeJS.CpuUsage) => {
    const { user, system } = process.cpuUsage(since)
    return user + system
  }
  const shares: number[] = []
  for (let n = 0; n < 3; n++) {
    const began = process.cpuUsage()
    let last = began
    let longest = 0
    let reading = true
    const others = (): void => {
      longest = Math.max(longest, cpu(last))
      last = process.cpuUsage()
      if (reading) setImmediate(others)
    }
    setImmediate(others)
    t.equal((await parseContent(message)).attachments[0]?.size, 12_000_000)
    reading = false
    shares.push(longest / cpu(began))
  }
  const [, median = 1] = shares.sort((a, b) => a - b)
  t.ok(median < 0.2, `the longest step takes ${median.toFixed(3)} of the whole`)
})
