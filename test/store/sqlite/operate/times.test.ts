/** What a few statements make of all rows when the clock was set is what the law says of each. */
import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { adjustTimes, type Times } from '../../../../src/lifecycle/schedule.js'
import { STATUSES } from '../../../../src/mail/status.js'
import { toWire } from '../../../../src/store/sqlite/thread/wire.js'
import { createTimes } from '../../../../src/store/sqlite/write/queue.js'
import { HOUR, mailFor, T0, toOne } from '../../fixture.js'
import { openWriterVerbs } from '../writer.js'

const LONGEST = 4 * HOUR
const time = fc.oneof(
  fc.integer({ min: T0 - 3_000, max: T0 + 3_000 }),
  fc.integer({ min: -9, max: 9 }).map((hours) => T0 + hours * HOUR),
)
const perhaps = fc.option(time)
const row: fc.Arbitrary<Times> = fc
  .record({
    status: fc.constantFrom(...STATUSES),
    isLeased: fc.boolean(),
    held: fc.option(fc.constant('hold_x')),
    ...{ dueAt: perhaps, heldDue: perhaps, heldAt: perhaps, leaseUntil: perhaps, deadline: perhaps },
    ...{ queuedAt: time, updatedAt: time },
  })
  .map((one) => ({ ...one, leaseUntil: one.isLeased ? (one.leaseUntil ?? T0) : null }))

t.test('the clock was set, or we have just started', async (t) => {
  const { db, context, verbs, at } = openWriterVerbs(t)
  const recipients = ['a', 'b', 'c'].map((name) => toOne(`${name}@x.test`))
  verbs.accept(toWire({ mails: [mailFor(at, { recipients })], idempotency: null, now: T0 }))
  const adjust = createTimes(context, { moved() {} })

  const write = db.prepare(
    `UPDATE recipients SET status = @status, boot = @boot, due_at = @dueAt, held = @held, held_due = @heldDue, held_at = @heldAt,
       queued_at = @queuedAt, lease_until = @leaseUntil, deadline = @deadline, updated_at = @updatedAt WHERE id = @id`,
  )
  const read = db.prepare<[string], Omit<Times, 'isLeased'> & { readonly boot: number | null }>(
    `SELECT status, boot, due_at AS dueAt, held, held_due AS heldDue, held_at AS heldAt, queued_at AS queuedAt,
       lease_until AS leaseUntil, deadline, updated_at AS updatedAt FROM recipients WHERE id = ?`,
  )
  fc.assert(
    fc.property(
      fc.tuple(row, row, row),
      fc.oneof(
        fc.constant(0),
        fc.integer({ min: -9, max: 9 }).map((hours) => hours * HOUR),
      ),
      (rows, by) => {
        for (const [i, { isLeased, ...one }] of rows.entries())
          write.run({ ...one, boot: isLeased ? 1 : null, id: recipients[i]?.id })
        const step = { now: T0, by, longestWait: LONGEST }
        const wanted = rows.map((one) => adjustTimes(one, step))
        const moved = wanted.filter((one, i) => JSON.stringify(one) !== JSON.stringify(rows[i])).length
        deepStrictEqual(adjust(T0, by, LONGEST), moved)
        for (const [i, { isLeased, ...one }] of wanted.entries())
          deepStrictEqual({ ...read.get(recipients[i]?.id ?? '') }, { ...one, boot: isLeased ? 1 : null })
      },
    ),
    { numRuns: 400 },
  )
  t.pass('each as the law says')
})
