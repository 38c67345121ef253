/** The verbs of SQLite's writer on a new database, without its thread; one account is there. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { newId } from '../../../src/base/id.js'
import { beginningOf } from '../../../src/store/pools.js'
import { openWriter, prepareFile } from '../../../src/store/sqlite/connect.js'
import { migrate } from '../../../src/store/sqlite/migrate/migrate.js'
import { createWriteContext } from '../../../src/store/sqlite/write/context.js'
import { createVerbs } from '../../../src/store/sqlite/write/verbs.js'
import { T0 } from '../fixture.js'

export const openWriterVerbs = (t: Test, now: () => number = () => T0) => {
  const file = prepareFile(join(t.testdir(), 'data'))
  const db = openWriter(file)
  t.teardown(() => db.close())
  migrate(db, T0, 'x')
  const context = createWriteContext(db, { now, tick: () => 0 })
  const verbs = createVerbs(context)
  const accountId = newId('acct', T0)
  const beginning = beginningOf(accountId, T0)
  context.order.begin()
  verbs.createAccount({ id: accountId, name: 'test', createdAt: T0 }, beginning)
  const at = { accountId, workspace: beginning.workspace, poolId: beginning.pools[0]?.id ?? '' }
  return { file, db, context, verbs, at }
}
