/**
 * A step of retention ends when it has taken its time, and the next one goes on
 * right behind it.
 */
import t from 'tap'
import { createRetention } from '../../../../src/store/sqlite/sweep.js'
import { toWire } from '../../../../src/store/sqlite/thread/wire.js'
import { HOUR, mailFor, T0, toOne } from '../../fixture.js'
import { openWriterVerbs } from '../writer.js'

const noIndex = { age: () => {} }
const MAILS = 7

t.test('a step takes a short time, whatever a mail costs', async (t) => {
  const { db, context, verbs, at } = openWriterVerbs(t)
  const mails = Array.from({ length: MAILS }, (_, i) =>
    mailFor(at, {
      recipients: [toOne('a@b.test', { suppressed: true })],
      tags: i % 3 === 0 ? [{ name: 'kind', value: 'receipt' }] : [],
    }),
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
