/** What repeats in mail is stored short, and told whole. */
import { join } from 'node:path'
import t from 'tap'
import type { NewEmail } from '../../../../src/lifecycle/facts.js'
import { Database } from '../../../../src/store/sqlite/connect.js'
import { openSqliteStore } from '../../../../src/store/sqlite/open.js'
import { accepted, HOUR, newAccount, ofLease, page, scopeOf, T0, toOne } from '../../fixture.js'

const LISTS = { to: [], cc: [], bcc: [], replyTo: [], tags: [], attachments: [] }
const listsOf = ({ to, cc, submittedBy }: NewEmail) => ({
  to,
  cc,
  ...(submittedBy != null && { submittedBy }),
})

t.test('what repeats is stored once, and told whole', async (t) => {
  const dataDir = join(t.testdir(), 'data')
  const store = openSqliteStore({ dataDir, daemon: true })
  t.teardown(() => store.close())
  await store.open()
  const at = await newAccount(store)
  const details = [
    { stage: 'dot', port: 25, tls: null, ms: 12 },
    { stage: 'dot', port: 25, tls: null, ms: 7 },
    { stage: 'dot', error: 'a text of its own', port: 25, tls: null, ms: 7 },
  ]
  for (const detail of details) {
    const mail = await accepted(store, at, { recipients: [toOne('Ana@Example.com')] })
    const [one] = await store.claim(at.poolId, 1, T0 + HOUR, T0)
    if (one === undefined) throw new Error('nothing was claimed')
    await store.settle([ofLease(one, { detail })])
    const { rows } = await store.events(mail.id, page())
    t.equal(JSON.stringify(rows[0]?.detail), JSON.stringify(detail))
    t.match(await store.email(scopeOf(at), mail.id), {
      messageId: mail.messageId,
      recipients: [{ address: 'Ana@Example.com' }],
    })
  }
  const several = { recipients: [toOne('a@b.test'), toOne('c@d.test', { kind: 'cc' })], submittedBy: 'key_1' }
  for (const mail of [
    await accepted(store, at, { submittedBy: 'key_1' }),
    await accepted(store, at, { to: ['Ana <ana@example.com>'] }),
    await accepted(store, at, { ...several, to: ['a@b.test'], cc: ['c@d.test'] }),
  ]) {
    const { to, submittedBy } = mail
    const read = await store.email(scopeOf(at), mail.id)
    t.same({ to: read?.to, submittedBy: read?.submittedBy }, { to, submittedBy })
    t.same((await store.carried(mail.id))?.email.lists, JSON.stringify({ ...LISTS, ...listsOf(mail) }))
    t.same((await store.body(mail.id))?.byteLength, mail.raw.byteLength)
  }
  const db = new Database(join(dataDir, 'postern.db'), { readonly: true })
  t.teardown(() => db.close())
  t.same(db.prepare('SELECT lists, body_apart, submitter FROM emails ORDER BY ord LIMIT 1 OFFSET 3').get(), {
    lists: '{"to":1}',
    body_apart: 0,
    submitter: 1,
  })
  t.same(db.prepare('SELECT id FROM submitters').pluck().all(), ['key_1'])
  t.same(db.prepare('SELECT count(*) FROM attempt_details').pluck().get(), 1)
  t.same(db.prepare("SELECT DISTINCT message, written FROM emails, recipients WHERE written <> ''").all(), [
    { message: '', written: 'Ana@Example.com' },
  ])
})
