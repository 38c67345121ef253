/** Databases from before notices to senders had a name of their own. */
import { join } from 'node:path'
import t from 'tap'
import { kindOf } from '../../src/store/sql/log/events.js'
import { openWriter } from '../../src/store/sqlite/connect.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { REPORTS_STEP } from '../../src/store/sqlite/write/events.js'
import { accepted, newAccount, page, report } from './fixture.js'

t.test('a notice that was noted as a bounce becomes what it is, and bounces stay', async (t) => {
  const dataDir = t.testdir()
  const store = openSqliteStore({ dataDir, daemon: false })
  t.teardown(() => store.close())
  await store.open()
  const mail = await accepted(store, await newAccount(store))
  const id = mail.recipients[0]?.id ?? ''
  const one = { seen: 'dsn-failed', dedupe: `sender-dsn:${id}:failed`, reason: 'sender_notified' } as const
  await store.settle([
    report(id, { ...one, trusted: false }),
    report(id, { ...one, dedupe: 'report:1', reason: 'unknown_user' }),
  ])
  const db = openWriter(join(dataDir, 'postern.db'))
  db.exec('DROP TABLE reports')
  db.exec(REPORTS_STEP)
  t.equal(db.prepare('SELECT count(*) FROM events WHERE kind = ?').pluck().get(kindOf('email.bounced')), 1)
  db.close()
  t.match((await store.events(mail.id, page())).rows, [
    { type: 'email.bounced', reason: 'unknown_user', applied: true },
    { type: 'email.sender_notified', reason: null, applied: true, change: false },
    { type: 'email.queued' },
  ])
})
