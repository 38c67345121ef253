/** What is erased of a deleted workspace. */
import { join } from 'node:path'
import t from 'tap'
import type { ErasePlace } from '../../../../src/store/sql/erase.js'
import { openWriter } from '../../../../src/store/sqlite/connect.js'
import { openSqliteStore } from '../../../../src/store/sqlite/open.js'
import { createWriteContext } from '../../../../src/store/sqlite/write/context.js'
import { createVerbs } from '../../../../src/store/sqlite/write/verbs.js'
import { accepted, addWorkspace, newAccount, T0 } from '../../fixture.js'

t.test('a step that was rolled back is taken again', async (t) => {
  const dataDir = t.testdir()
  const store = openSqliteStore({ dataDir, daemon: false })
  await store.open()
  const at = await addWorkspace(store, await newAccount(store), 'shop')
  for (let i = 0; i < 3; i++) await accepted(store, at, { subject: 'secret', submittedBy: 'key_1' })
  await store.deleteWorkspace(at.accountId, at.workspace.id, 'gone', T0)
  await store.close()

  const db = openWriter(join(dataDir, 'postern.db'))
  t.teardown(() => db.close())
  const context = createWriteContext(db)
  const verbs = createVerbs(context)
  const left = () => db.prepare("SELECT count(*) FROM emails WHERE subject = 'secret'").pluck().get()
  t.equal(left(), 3)
  let place: ErasePlace | null = null
  let isUndone = false
  for (let again = true; again; ) {
    db.exec('BEGIN')
    const step = verbs.eraseStep(at.workspace.id, T0, place)
    if (left() === 0 && !isUndone) {
      db.exec('ROLLBACK')
      context.rolledBack()
      isUndone = true
      continue
    }
    db.exec('COMMIT')
    place = step.place
    again = step.again
  }
  t.ok(isUndone)
  t.equal(left(), 0)
  t.equal(db.prepare('SELECT count(submitter) FROM emails').pluck().get(), 0, 'nor who submitted it')
})
