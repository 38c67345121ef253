/** MAIL and RCPT lines: never a crash, and what was read is what was written. */
import fc from 'fast-check'
import t from 'tap'
import { isMailbox, Refusal, readPath, readRecipient, readSender, SAY } from '../../src/smtp/commands.js'

const sender = (line: string) => readSender(readPath(line, SAY.badSender))
const recipient = (line: string) => readRecipient(readPath(line, SAY.badRecipient))

t.test('parameters', async (t) => {
  t.same(sender('MAIL FROM:<a@b.test>'), {
    address: 'a@b.test',
    size: null,
    ret: null,
    envid: null,
    requireTls: false,
  })
  t.match(sender('mail FROM : <a@b.test>  size=12  Ret=full ENVID=a+2Bb smtputf8'), {
    size: 12,
    ret: 'FULL',
    envid: 'a+2Bb',
  })
  t.match(sender('MAIL FROM:<a@b.test> RET=HDRS'), { ret: 'HDRS' })
  t.equal(readPath('MAIL FROM:<>', '').address, '')
  t.same(recipient('RCPT TO:<c@d.test> notify=success,failure ORCPT=RFC822;c+2B@d.test'), {
    address: 'c@d.test',
    notify: 'SUCCESS,FAILURE',
    orcpt: 'RFC822;c+2B@d.test',
  })
})

t.test('ORCPT is a type and xtext, or an international address', async (t) => {
  const orcpt = (value: string) => () => recipient(`RCPT TO:<c@d.test> ORCPT=${value}`).orcpt
  for (const good of ['rfc822;a+2Bb@c.test', 'x400;+2FC+3DDE', 'utf-8;j\\x{F6}@x.test', 'utf-8;jö@x.test']) {
    t.equal(orcpt(good)(), good)
  }
  for (const bad of [
    'rfc822;a+2',
    'rfc822;a=b@c.test',
    'rfc822;a+2b',
    'rfc822;jö@x.test',
    'utf-8;a=b',
    'rfc822;',
  ]) {
    t.throws(orcpt(bad), new Refusal('501 5.5.4 Bad value of ORCPT'), bad)
  }
})

t.test('mailboxes', async (t) => {
  for (const good of [
    'a@b',
    'a.b+c=d@x-y.test',
    '"a b"@c.test',
    '"a\\"b@c"@d.test',
    'ł@ż.test',
    'a@[10.0.0.1]',
    'a@[IPv6:::1]',
    "!#$%&'*+-/=?^_`{|}~@b.test",
    'a@xn--bcher-kva.test',
    'a@a_b.test',
  ]) {
    t.ok(isMailbox(good), good)
  }
  for (const bad of [
    '',
    'a',
    '@b.test',
    'a@',
    'a@b@c',
    '.a@b',
    'a.@b',
    'a..b@c',
    'a b@c',
    'a@b c',
    'a@.b',
    'a@b.',
    'a@b..c',
    'a@-b',
    'a@b-',
    'a@[1.2.3]',
    'a@[b]',
    '"a@b',
    'a\u0000@b',
    'a\u200b@b.test',
    `${'a'.repeat(250)}@b.test`,
    `a@${'b'.repeat(64)}.test`,
  ]) {
    t.notOk(isMailbox(bad), bad)
  }
})

t.test('any line is read or refused, with one reply of one line', async () => {
  const piece = fc.constantFrom(
    '<',
    '>',
    '"',
    '\\',
    '@',
    ' ',
    '=',
    ':',
    'a',
    'b.test',
    'SIZE',
    '9',
    'MAIL FROM:',
    '[',
    ']',
    ',',
    '+',
    'ł',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      for (const read of [sender, recipient]) {
        try {
          read(`MAIL FROM:${pieces.join('')}`)
        } catch (error) {
          if (!(error instanceof Refusal) || !/^5\d\d 5\.\d\.\d [ -~]+$/.test(error.reply)) throw error
        }
      }
    }),
    { numRuns: 3000 },
  )
})

t.test('long hostile lines are no trouble', async (t) => {
  for (const line of [
    `MAIL FROM:<${'a.'.repeat(6000)}@b>`,
    `MAIL FROM:<"${'\\"'.repeat(5000)}`,
    `MAIL FROM:<${'@a,'.repeat(4000)}>`,
    `MAIL FROM:<a@${'b.'.repeat(6000)}>`,
    `MAIL FROM:<a@b> ${'A=1 '.repeat(3000)}`,
  ]) {
    try {
      t.notOk(isMailbox(readPath(line, SAY.badSender).address))
    } catch (error) {
      t.type(error, Refusal)
    }
  }
})
