/** The small readers that read-report is made of. */
import fc from 'fast-check'
import t from 'tap'
import { codesIn } from '../../../src/mail/reply.js'
import {
  decodeCharset,
  decodeWords,
  findAddresses,
  htmlToText,
  readHeaders,
  readMail,
  toBinary,
} from '../../../src/mail/report/mime.js'
import {
  actionOf,
  addressOf,
  commentOf,
  decodeXtext,
  diagnosticOf,
  hostOf,
  readGroups,
  statusOf,
} from '../../../src/mail/report/report.js'

const addresses = (line: string) => findAddresses(line).map((found) => found.address)

t.test('addresses in a line', async (t) => {
  t.same(addresses('<ann@peer.test>: gone'), ['ann@peer.test'])
  t.same(addresses("addressed to 'ann@peer.test', failed"), ['ann@peer.test'])
  t.same(addresses('"a b..c"@peer.test and d+e@f.test.'), ['"a b..c"@peer.test', 'd+e@f.test'])
  t.same(addresses('c=US;a= ;p=X;dda:SMTP=ann@PEER.test; on'), ['ann@PEER.test'])
  t.same(addresses('[SMTP:ann@peer.test]'), ['ann@peer.test'])
  t.same(addresses('ann@[192.0.2.1] j\u00f6rg@peer.test'), ['ann@[192.0.2.1]', 'j\u00f6rg@peer.test'])
  t.same(addresses('地址（ann@peer.test）不存在'), ['ann@peer.test'])
  t.same(addresses('@ @@ a@ @b'), [])
})

t.test('an address found is a part of the line', async () => {
  fc.assert(
    fc.property(fc.string(), (line) =>
      findAddresses(line).every(({ address, start, end }) => line.slice(start, end) === address),
    ),
  )
})

t.test('codes in a text', async (t) => {
  t.same(codesIn('550 5.1.1 gone'), { code: 550, enhanced: '5.1.1' })
  t.same(codesIn('550-5.1.1 gone\n550 5.1.1 really'), { code: 550, enhanced: '5.1.1' })
  t.same(codesIn('550 #5.1.0 Address rejected'), { code: 550, enhanced: '5.1.0' })
  t.same(codesIn('no mailbox (#5.1.1)').enhanced, '5.1.1')
  t.same(codesIn('said: 421 busy'), { code: 421, enhanced: null })
  t.same(codesIn('<<< 250 2.1.0 ok\n<<< 550 5.2.2 full').enhanced, '5.2.2')
  t.same(codesIn('sendmail 5.65.1 at 4.2.2.1 [5.1.1.9]').enhanced, null)
  t.same(codesIn('host 192.0.2.550 port 25'), { code: null, enhanced: null })
})

t.test('fields of a status part', async (t) => {
  t.equal(addressOf('rfc822; <ann@peer.test>'), 'ann@peer.test')
  t.equal(addressOf('RFC822;ann+2Bx@peer.test'), 'ann+x@peer.test')
  t.equal(addressOf('rfc822;ann+40peer.test'), 'ann@peer.test')
  t.equal(addressOf('utf-8; j\\x{F6}rg@peer.test'), 'jörg@peer.test')
  t.equal(addressOf('local; ann'), 'ann')
  t.equal(addressOf('rfc822;'), null)
  t.equal(decodeXtext('shop+tag@peer.test'), 'shop+tag@peer.test', 'not xtext, although + is in it')
  t.equal(hostOf('dns; mx.peer.test (192.0.2.1)'), 'mx.peer.test')
  t.equal(diagnosticOf('smtp; 550 gone'), '550 gone')
  t.equal(diagnosticOf('550 gone; forever'), '550 gone; forever')
  t.equal(statusOf('5.1.1 (bad mailbox)'), '5.1.1')
  t.equal(statusOf('soon'), null)
  t.equal(commentOf('5.0.0 (disk quota)'), 'disk quota')
  t.equal(actionOf('Failed (permanently)'), 'failed')
  t.equal(actionOf('(why) delayed'), 'delayed')
  t.equal(actionOf('danced'), null)
})

t.test('groups, with and without blank lines', async (t) => {
  const group = (name: string) =>
    `Final-Recipient: rfc822; ${name}@peer.test\nAction: failed\nStatus: 5.1.1\n`
  const count = (text: string) => readGroups(text).recipients.length
  t.equal(count(`Reporting-MTA: dns; x\n\n${group('a')}\n${group('b')}`), 2)
  t.equal(count(`Reporting-MTA: dns; x\n${group('a')}${group('b')}`), 2)
  t.equal(count(group('a').replace(/\n/g, '\n\n')), 1)
  t.equal(count('Action: failed\nStatus: 5.1.1\nFinal-Recipient: rfc822; a@peer.test\n'), 1)
  t.equal(count('Action: failed\nStatus: 5.1.1\n'), 0)
  t.equal(readGroups(`Reporting-MTA: dns; x\n${group('a')}`).message.get('reporting-mta'), 'dns; x')
})

t.test('mail at its top level', async (t) => {
  const mail = readMail(
    'Content-Type: multipart/mixed; boundary="b c"\n\n--b c\n\none\n--b c\n\ntwo\n--b c--\nafter\n',
  )
  t.same(
    mail.parts.map((part) => part.body),
    ['one', 'two'],
  )
  t.same(readHeaders('A: 1\n 2\nB: 3\n\nbody').headers.get('a'), ['1 2'])
  t.equal(readMail('just words').parts.length, 1)
  t.equal(toBinary(Buffer.from('\ufeffa\r\nb')), 'a\nb', 'marks and CRLF go')
})

t.test('text', async (t) => {
  t.equal(decodeWords('=?utf-8?Q?a=C3=A4?= =?utf-8?B?w7Y=?='), 'aäö')
  t.equal(decodeWords('=?no-such-charset?Q?a?='), 'a')
  t.equal(decodeCharset('\xc3\xa4', ''), 'ä')
  t.equal(decodeCharset('\xe4', 'utf-8'), 'ä', 'wrong charset falls back')
  t.match(
    htmlToText('<p>To: &lt;a@b.test&gt;</p><style>p{}</style><ann@peer.test>'),
    /To: <a@b.test>\s+<ann@peer.test>/,
  )
})
