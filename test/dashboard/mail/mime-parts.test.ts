import t from 'tap'
import {
  asAttachment,
  contentOf,
  leavesOf,
  octetsOf,
  saveName,
  textOf,
} from '../../../src/dashboard/mail/content.js'

const lines = (...some: readonly string[]): Buffer => Buffer.from(some.join('\r\n'))

const MAIL = lines(
  'Subject: x',
  'Content-Type: multipart/mixed; boundary="a b"',
  '',
  'preamble',
  '--a b',
  'Content-Type: multipart/alternative; boundary=in',
  '',
  '--in',
  'Content-Type: text/plain; charset=iso-8859-1',
  'Content-Transfer-Encoding: quoted-printable',
  '',
  'caf=E9=',
  ' ol=',
  'e',
  '--in',
  'Content-Type: text/html; charset=utf-8',
  '',
  '<p>é</p>',
  '--in--',
  '--a b',
  'Content-Type: image/png; name="=?utf-8?q?L=C3=B6go?="',
  'Content-ID: <logo@x>',
  'Content-Transfer-Encoding: base64',
  '',
  'AAEC',
  'AwQ=',
  '--a b',
  "Content-Disposition: attachment; filename*0*=utf-8''R%C3%A4; filename*1=tsel.txt",
  'Content-Type: text/plain',
  '',
  'attached',
  '--a b--',
  'epilogue',
)

t.test('the leaves of a message, their names and octets', async (t) => {
  const leaves = leavesOf(MAIL)
  const { html, text, attachments } = contentOf(leaves)
  t.equal(leaves.length, 4)
  t.same(text && textOf(MAIL, text, 1_000), { text: 'café ole', isCut: false })
  t.same(html && textOf(MAIL, html, 1_000), { text: '<p>é</p>', isCut: false })
  t.match(attachments, [
    { type: 'image/png', filename: 'Lögo', contentId: 'logo@x' },
    { type: 'text/plain', filename: 'Rätsel.txt', isAttachment: true },
  ])
  t.same([...octetsOf(MAIL, attachments[0] as (typeof leaves)[number])], [0, 1, 2, 3, 4])
})

t.test('a plain message, an empty one, and broken ones', async (t) => {
  t.match(leavesOf(lines('Subject: x', '', 'hi')), [{ type: 'text/plain' }])
  t.equal(leavesOf(Buffer.alloc(0)).length, 1)
  t.equal(leavesOf(lines('Content-Type: multipart/mixed; boundary=x', '', 'none')).length, 1)
  const endless = lines('Content-Type: multipart/mixed; boundary=x', '', ...Array(5_000).fill('--x\r\n\r\na'))
  t.ok(leavesOf(endless).length <= 200)
})

t.test('a large part is read from its beginning, and no character is cut in two', async (t) => {
  const mail = lines('Content-Type: text/plain; charset=utf-8', '', 'é'.repeat(5_000_000))
  const [leaf] = leavesOf(mail)
  const { text, isCut } = textOf(mail, leaf as NonNullable<typeof leaf>, 1_001)
  t.equal(text, 'é'.repeat(500))
  t.equal(isCut, true)
})

t.test('file names are safe wherever they land', async (t) => {
  t.equal(saveName('../../etc/passwd', 'x'), 'passwd')
  t.equal(saveName('C:\\a\\b.exe', 'x'), 'b.exe')
  t.equal(saveName('\u202egnp.exe', 'x'), 'gnp.exe')
  t.equal(saveName('a\r\nSet-Cookie: b', 'x'), 'aSet-Cookie_ b')
  t.equal(saveName('...', 'part-1'), 'part-1')
  t.equal(saveName(null, 'part-1'), 'part-1')
  t.equal(saveName(`${'a'.repeat(300)}.pdf`, 'x').length, 120)
  t.equal(asAttachment('a.txt'), 'attachment; filename="a.txt"')
  t.equal(asAttachment('Rätsel.pdf'), `attachment; filename="R_tsel.pdf"; filename*=UTF-8''R%C3%A4tsel.pdf`)
})

t.test('a message made to be searched for long is read as far as it goes', (t) => {
  const head = 'Content-Type: multipart/mixed; boundary=a\r\n\r\n'
  const inner = '--a\r\nContent-Type: multipart/mixed; boundary=zz\r\n\r\n'
  const missing = `${head}${inner.repeat(200)}--a--\r\n${'- -\r\n'.repeat(3_000_000)}`
  t.equal(leavesOf(Buffer.from(missing)).length, 200)
  t.equal(leavesOf(Buffer.from(`${head}--a\r\n\r\nx\r\n${'--ab\r\n'.repeat(2_000_000)}--a--\r\n`)).length, 1)
  t.end()
})
