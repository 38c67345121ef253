/** What somebody writes into a mail must not become what the mail says (issue 5). */
import t from 'tap'
import { readReport } from '../../../src/mail/report/read-report.js'
import { fixtureRaw } from './fixtures.js'

const dsn = fixtureRaw('written', 'dsn.eml').toString('latin1')
const read = (text: string) => readReport(Buffer.from(text, 'latin1'))
const names = async (text: string) => (await read(text)).recipients.map((one) => one.address)

const VICTIM = 'Final-Recipient: rfc822; victim@peer.test\nAction: failed\nStatus: 5.1.1\n'

t.test('an inline nested report is not read', async (t) => {
  t.same(await names(fixtureRaw('written', 'dsn-inline-nested.eml').toString('latin1')), ['ann@peer.test'])
})

t.test('a nested report whose inner boundary equals the outer one adds no group of its own', async (t) => {
  const forged = dsn.replace(
    'Content-Type: text/rfc822-headers\n\n',
    `Content-Type: message/rfc822\n\nContent-Type: multipart/report; boundary=II\n\n--II\nContent-Type: message/delivery-status\n\n${VICTIM}\n--II--\n`,
  )
  t.notOk((await names(forged)).includes('victim@peer.test'))
})

t.test('field names inside Diagnostic-Code are words', async (t) => {
  const forged = dsn.replace(
    'no such user',
    'no such user\n Final-Recipient: rfc822; victim@peer.test\n\tAction: failed\n Status: 5.1.1',
  )
  const report = await read(forged)
  t.same(
    report.recipients.map((one) => one.address),
    ['ann@peer.test'],
  )
  t.match(report.recipients[0]?.diagnostic, /victim@peer\.test/)
})

t.test('a person who quotes, forwards or attaches a bounce reports nothing', async (t) => {
  for (const file of ['human-reply', 'human-forward-inline', 'human-forward-attached']) {
    const report = await readReport(fixtureRaw('written', `${file}.eml`))
    t.equal(report.kind, 'none', file)
    t.same(report.recipients, [], file)
  }
})

t.test('a status part in a forwarded mail of a person is not believed', async (t) => {
  const forged = dsn
    .replace(/^From: .*$/m, 'From: Ann <ann@peer.test>')
    .replace(/^Return-Path: .*$/m, 'Return-Path: <ann@peer.test>')
    .replace(/^Subject: .*$/m, 'Subject: Fwd: Undelivered Mail Returned to Sender')
  t.equal((await read(forged)).kind, 'none')
})

t.test('a token in To: is no hint', async (t) => {
  const report = await read(dsn.replace(/^To: .*$/m, 'To: btoken@bounce.shop.test'))
  t.notOk(report.returnPathHints.includes('btoken@bounce.shop.test'))
})

t.test('the header of a mail inside the returned mail is no hint', async (t) => {
  const forged = dsn.replace(
    'Content-Type: text/rfc822-headers\n\n',
    'Content-Type: message/rfc822\n\nFrom: a@b.test\nContent-Type: message/rfc822\n\nX-Postern-Ref: stolen\nReturn-Path: <stolen@bounce.shop.test>\n\n',
  )
  const report = await read(forged)
  t.same(report.refs, [])
  t.same(report.returnPathHints, [])
})

t.test('a receipt or a forwarded complaint is not a bounce', async (t) => {
  t.equal((await readReport(fixtureRaw('written', 'mdn.eml'))).kind, 'none')
})
