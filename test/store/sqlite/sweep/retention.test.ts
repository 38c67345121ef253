/**
 * A step of retention ends when it has taken its time, and the next one goes on
 * right behind it.
 */
import { join } from 'node:path'
import t from 'tap'
import { newId } from '../../../../src/base/id.js'
import { beginningOf } from '../../../../src/store/built-in.js'
import { openWriter, prepareFile } from '../../../../src/store/sqlite/connect.js'
import { migrate } from '../../../../src/store/sqlite/migrate/migrate.js'
import { createRetention } from '../../../../src/store/sqlite/sweep/retention.js'
import { toWire } from '../../../../src/store/sqlite/thread/wire.js'
import { createWriteContext } from '../../../../src/store/sqlite/write/context.js'
import { createVerbs } from '../../../../src/store/sqlite/write/verbs.js'
import { HOUR, mailFor, T0, toOne } from '../../fixture.js'

const noIndex = { age: () => {} }
const MAILS = 7

t.test('a step takes a short time, whatever a mail costs', async (t) => {
  const db = openWriter(prepareFile(join(t.testdir(), 'data')))
  t.teardown(() => db.close())
  migrate(db, T0, 'x')
  const context = createWriteContext(db, { now: () => T0, tick: () => 0 })
  const verbs = createVerbs(context)
  const accountId = newId('acct', T0)
  const beginning = beginningOf(accountId, T0)
  const { workspace } = beginning
  context.order.begin()
  verbs.createAccount({ id: accountId, name: 'test', createdAt: T0 }, beginning)
  const poolId = db.prepare('SELECT id FROM pools WHERE account_id = ?').pluck().get(accountId) as string
  const mails = Array.from({ length: MAILS }, (_, i) =>
    mailFor(
      { accountId, workspace, poolId },
      {
        recipients: [toOne('a@b.test', { suppressed: true })],
        tags: i % 3 === 0 ? [{ name: 'kind', value: 'receipt' }] : [],
      },
    ),
  )
  verbs.accept(toWire({ mails, idempotency: null, now: T0 }))
  context.order.keep()
  t.equal(db.prepare('SELECT count(*) FROM tags').pluck().get(), 3)

  let passed = 0
  // three looks at the clock are a step: at its begin, and after two mails
  const retain = createRetention(context, noIndex, { tick: () => passed++ })
  const removed: number[] = []
  for (let again = true; again; ) {
    const step = retain(T0 + HOUR, T0 + HOUR)
    removed.push(step.removed)
    again = step.again
  }
  t.ok(Math.max(...removed) <= 2, `${removed}`)
  t.equal(
    removed.reduce((a, b) => a + b),
    2 * MAILS,
    'their bodies, then the mails',
  )
  for (const table of ['emails', 'bodies', 'recipients', 'tags', 'events'])
    t.equal(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get(), 0, table)
})
