/**
 * Mail that was stored before texts were made of other columns reads as it did,
 * beside mail that is stored short.
 */
import { join } from 'node:path'
import t from 'tap'
import { newId, newRecipientId } from '../../../../src/base/id.js'
import type { NewEmail } from '../../../../src/lifecycle/facts.js'
import { Database, openWriter, prepareFile } from '../../../../src/store/sqlite/connect.js'
import { SHORT_STEP } from '../../../../src/store/sqlite/migrate/earlier.js'
import { runStep, STEPS } from '../../../../src/store/sqlite/migrate/steps.js'
import { openSqliteStore } from '../../../../src/store/sqlite/open.js'
import { accepted, HOUR, newAccount, ofLease, page, scopeOf, T0, toOne } from '../../fixture.js'

const BEFORE = STEPS.indexOf(SHORT_STEP)
const OWN = newId('em', T0)
const MAILS = [
  { id: OWN, messageId: `<${OWN}@mail.acme.test>`, address: 'Ana@Example.com' },
  { id: newId('em', T0), messageId: '<1@client.test>', address: 'ana@example.com' },
  { id: newId('em', T0), messageId: '@', address: 'ÉVA@example.com' },
]

const LISTS = { to: [], cc: [], bcc: [], replyTo: [], tags: [], attachments: [] }
const listsOf = ({ to, cc, submittedBy }: NewEmail) => ({
  to,
  cc,
  ...(submittedBy != null && { submittedBy }),
})

/** Two mails of a scheme of before, each with one recipient who waits. */
const makeBefore = (dataDir: string): void => {
  const db = openWriter(prepareFile(dataDir))
  for (const step of STEPS.slice(0, BEFORE)) runStep(db, step, T0)
  db.exec(`INSERT INTO accounts (id, name, created_at, ord) VALUES ('acct_1', 'default', ${T0}, 1);
    INSERT INTO pools (id, account_id, name, kind, return_path, notify_success, relayed_means, upstreams, created_at, updated_at, ord)
      VALUES ('pool_1', 'acct_1', 'default', 'relay', 'own', 0, 'sent', '[]', ${T0}, ${T0}, 2);
    INSERT INTO workspaces (id, account_id, name, slug, is_default, pool_id, ambiguous, line_endings, sender_dsn, restrict_senders, created_at, ord)
      VALUES ('ws_1', 'acct_1', 'default', 'default', 1, 'pool_1', 'retry', 'mend', 0, 0, ${T0}, 3)`)
  const lists = '{"to":["x@y.test"],"cc":[],"bcc":[],"replyTo":[],"tags":[],"attachments":[]}'
  const email = db.prepare(
    `INSERT INTO emails (ord, id, workspace, test, status, total, queued, created_at, updated_at, pool, body, size, source, utf8,
       message_id, sender, subject, lists) VALUES (?, ?, 1, 0, 'queued', 1, 1, ${T0}, ${T0}, 1, 0, 0, 'smtp', 0, ?, 'a@b.test', 'x', '${lists}')`,
  )
  const recipient = db.prepare(
    `INSERT INTO recipients (id, email_id, email_ord, workspace, pool, kind, status, updated_at, queued_at, due_at, address, address_lc, first)
       VALUES (?, ?, ?, 1, 1, 'to', 'queued', ${T0}, ${T0}, ${T0}, ?, ?, 1)`,
  )
  for (const [i, { id, messageId, address }] of MAILS.entries()) {
    email.run(10 + i, id, messageId)
    recipient.run(newRecipientId(), id, 10 + i, address, address.toLowerCase())
  }
  db.exec(`UPDATE order_state SET last = 20`)
  db.pragma(`user_version = ${BEFORE}`)
  db.close()
}

t.test('a database of the schema before reads as it did', async (t) => {
  const dataDir = join(t.testdir(), 'data')
  makeBefore(dataDir)
  const store = openSqliteStore({ dataDir, daemon: true })
  t.teardown(() => store.close())
  await store.open()
  const scope = { accountId: 'acct_1', workspaceId: null, mode: null }
  for (const { id, messageId, address } of MAILS) {
    t.match(await store.email(scope, id), { messageId, to: ['x@y.test'], cc: [], recipients: [{ address }] })
    t.match((await store.findEmails(address, 9)).map((row) => row.id).includes(id), true)
    if (messageId.startsWith('<')) t.match(await store.findEmails(messageId, 9), [{ id }])
    t.match((await store.events(id, page())).rows, [{ type: 'email.queued', recipient: address }])
  }
  const claimed = await store.claim('pool_1', 9, T0 + 2 * HOUR, T0 + HOUR)
  t.same(claimed.map((one) => one.address).sort(), MAILS.map((one) => one.address).sort())
  t.same(claimed.map((one) => one.messageId).sort(), MAILS.map((one) => one.messageId).sort())
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
