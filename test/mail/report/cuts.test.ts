/** Nothing throws, wherever a mail is cut, however large or deep it is. */
import fc from 'fast-check'
import t from 'tap'
import { readReport } from '../../../src/mail/report/read-report.js'
import { allFixtures } from './fixtures.js'

const fixtures = allFixtures()
const KINDS = ['bounce', 'delay', 'delivered', 'arf', 'autoreply', 'none']

t.test('cut at any byte', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(fixtures.length - 1),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      async (index, from, to) => {
        const raw = fixtures[index]?.raw ?? new Uint8Array()
        const cut = raw.subarray(
          Math.floor(raw.length * Math.min(from, to)),
          Math.ceil(raw.length * Math.max(from, to)),
        )
        const report = await readReport(cut)
        return KINDS.includes(report.kind)
      },
    ),
    { numRuns: 800 },
  )
  t.pass('800 cuts')
})

t.test('a delay or a success that is cut short never becomes a failure', async (t) => {
  const living = fixtures.filter(({ expected: { kind } }) => kind === 'delay' || kind === 'delivered')
  t.ok(living.length > 20)
  for (const { name, raw } of living) {
    for (let part = 1; part < 60; part++) {
      const report = await readReport(raw.subarray(0, Math.floor((raw.length * part) / 60)))
      if (report.recipients.some(({ action }) => action === 'failed')) t.fail(`${name} cut at ${part}/60`)
    }
  }
})

t.test('bytes changed at random', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(fixtures.length - 1),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 30 }),
      async (index, changes) => {
        const raw = Uint8Array.from(fixtures[index]?.raw ?? [])
        for (const [at, byte] of changes) raw[at % raw.length] = byte
        return KINDS.includes((await readReport(raw)).kind)
      },
    ),
    { numRuns: 400 },
  )
  t.pass('400 mails')
})

t.test('any bytes', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 3000 }), async (raw) =>
      KINDS.includes((await readReport(raw)).kind),
    ),
    { numRuns: 200 },
  )
  t.pass('200 inputs')
})

const HEAD = 'From: MAILER-DAEMON@mx.test\nSubject: Undelivered Mail\n'

t.test('five thousand groups are all read', async (t) => {
  const group = (at: number) => `Final-Recipient: rfc822; u${at}@peer.test\nAction: failed\nStatus: 5.1.1\n`
  const groups = Array.from({ length: 5000 }, (_, at) => group(at)).join('\n')
  const mail = `${HEAD}Content-Type: multipart/report; boundary=B\n\n--B\nContent-Type: message/delivery-status\n\n${groups}\n--B--\n`
  const report = await readReport(Buffer.from(mail))
  t.equal(report.kind, 'bounce')
  t.equal(report.recipients.length, 5_000)
})

t.test('ten megabytes of anything', async (t) => {
  for (const filler of [
    'x',
    ' ',
    '\n',
    '@',
    '<',
    'a@b.test\n',
    '>\n',
    '--B\n',
    '550 ',
    'Final-Recipient: a@b.test\n',
    '=\n',
    '<style',
    '(',
  ]) {
    const body = filler.repeat(Math.ceil(10_000_000 / filler.length))
    for (const type of ['text/plain', 'text/html', 'multipart/report; boundary=B']) {
      const report = await readReport(Buffer.from(`${HEAD}Content-Type: ${type}\n\n${body}`))
      t.ok(KINDS.includes(report.kind), `${JSON.stringify(filler)} as ${type}`)
    }
  }
})

t.test('multiparts a thousand deep', async (t) => {
  const open = Array.from(
    { length: 1000 },
    (_, at) => `Content-Type: multipart/mixed; boundary=b${at}\n\n--b${at}\n`,
  )
  const report = await readReport(Buffer.from(`${HEAD}${open.join('')}\nhello\n`))
  t.ok(KINDS.includes(report.kind))
})

t.test('a header of a hundred thousand lines', async (t) => {
  const report = await readReport(Buffer.from(`${HEAD}${'X-A: b\n folded\n'.repeat(50_000)}\nbody\n`))
  t.ok(KINDS.includes(report.kind))
})
