/** What single updates make of a row under lease is what the law says of it. */
import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import { attempting, freed, hasRunOut, isLeasedTo, recovered } from '../../../../src/lifecycle/lease.js'
import { isWaiting, type RecipientState } from '../../../../src/lifecycle/recipient.js'
import { STATUSES } from '../../../../src/mail/status.js'
import { toWire } from '../../../../src/store/sqlite/thread/wire.js'
import { createAddEvent } from '../../../../src/store/sqlite/write/events.js'
import { createLeases } from '../../../../src/store/sqlite/write/queue.js'
import { STATE_COLUMNS, stateOf } from '../../../../src/store/sqlite/write/settle.js'
import { mailFor, T0, toOne } from '../../fixture.js'
import { openWriterVerbs } from '../writer.js'

interface Row {
  readonly state: RecipientState
  readonly leaseUntil: number | null
  /** Of what is asked: the generation of the row, or an older one. */
  readonly isOld: boolean
}

const [OURS, THEIRS] = [0, 4711]
const times = fc.integer({ min: T0 - 9, max: T0 + 9 })

/** Everything that can be, but appointments under lease: they leave that status first. */
const rows = fc
  .record({
    status: fc.constantFrom(...STATUSES),
    place: fc.constantFrom('due', 'leased', 'leased', 'leased', 'held', 'elsewhere'),
    boot: fc.constantFrom(OURS, OURS, THEIRS),
    attempts: fc.nat(3),
    leaseGen: fc.integer({ min: 1, max: 3 }),
    attempting: fc.option(fc.integer({ min: 1, max: 5 })),
    ...{ dueAt: times, leaseUntil: times, isOld: fc.boolean(), isDelayed: fc.boolean() },
  })
  .filter(({ status, place }) => {
    if (place === 'elsewhere') return status === 'deferred'
    return place === 'leased' ? status !== 'scheduled' : isWaiting(status)
  })
  .map(({ status, place, boot, attempts, leaseGen, dueAt, leaseUntil, isOld, ...more }): Row => {
    const isLeased = place === 'leased'
    const isAway = place === 'elsewhere' || (status === 'deferred' && more.isDelayed)
    return {
      state: {
        ...{ status, attempts, leaseGen, lastResponse: null, reason: null },
        dueAt: place === 'due' ? dueAt : null,
        boot: isLeased ? boot : null,
        attempting: isLeased ? (isWaiting(status) ? more.attempting : (more.attempting ?? 1)) : null,
        held: place === 'held' ? 'hold_x' : null,
        deadline: isAway ? T0 : null,
      },
      leaseUntil: isLeased ? leaseUntil : null,
      isOld,
    }
  })

t.test('marks, releases, leases that ran out, and those of the dead', async (t) => {
  const { db, context, verbs, at } = openWriterVerbs(t)
  const recipients = ['a', 'b', 'c', 'd'].map((name) => toOne(`${name}@x.test`))
  const ids = recipients.map(({ id }) => id)
  const mail = mailFor(at, { recipients })
  verbs.accept(toWire({ mails: [mail], idempotency: null, now: T0 }))
  const leases = createLeases(context, createAddEvent(context), false)
  const ours = (boot: number | null): number | null => (boot === OURS ? context.boot : boot)

  const write = db.prepare(
    `UPDATE recipients SET status = ?, attempts = ?, due_at = ?, boot = ?, lease_gen = ?, attempting = ?, held = ?, deadline = ?,
       last_response = ?, reason = ?, lease_until = ? WHERE id = ?`,
  )
  const read = db
    .prepare<[string], unknown[]>(`SELECT ${STATE_COLUMNS}, lease_until FROM recipients r WHERE id = ?`)
    .raw()
  const ambiguous = db.prepare('UPDATE workspaces SET ambiguous = ? WHERE id = ?')

  /** Stores them, does it, and compares what is there with what the law makes of each. */
  const holds = (
    all: readonly Row[],
    does: () => unknown,
    law: (row: Row, id: string) => RecipientState,
  ): void => {
    for (const [i, { state: s, leaseUntil }] of all.entries()) {
      const { status, attempts, dueAt, boot, leaseGen, attempting, held, deadline, lastResponse, reason } = s
      const first = [status, attempts, dueAt, ours(boot), leaseGen, attempting, held, deadline]
      write.run(...first, lastResponse, reason, leaseUntil, ids[i])
    }
    does()
    for (const [i, row] of all.entries()) {
      const id = ids[i] as string
      const found = read.get(id) ?? []
      const wanted = law({ ...row, state: { ...row.state, boot: ours(row.state.boot) } }, id)
      deepStrictEqual(stateOf(found, 0), wanted)
      deepStrictEqual(found[10], wanted.boot === null ? null : row.leaseUntil)
    }
  }
  const some = fc.array(rows, { minLength: ids.length, maxLength: ids.length })
  const genOf = ({ state, isOld }: Row): number => state.leaseGen - (isOld ? 1 : 0)
  const isOurs = (row: Row): boolean => isLeasedTo(row.state, { leaseGen: genOf(row) }, context.boot)

  fc.assert(
    fc.property(some, fc.integer({ min: 1, max: 9 }), (all, attempt) => {
      const marks = all.map((row, i) => ({
        ...{ recipientId: ids[i] as string, leaseGen: genOf(row), attempt, upstreamId: 'up_1', at: T0 },
      }))
      let begun: readonly boolean[] = []
      const expected: boolean[] = []
      holds(
        all,
        () => (begun = leases.attempting(marks)),
        (row) => {
          expected.push(isOurs(row))
          return isOurs(row) ? attempting(row.state, attempt) : row.state
        },
      )
      deepStrictEqual(begun, expected)
    }),
  )
  fc.assert(
    fc.property(some, times, (all, dueAt) => {
      const refs = all.map((row, i) => ({ recipientId: ids[i] as string, leaseGen: genOf(row) }))
      holds(
        all,
        () => leases.release(refs, dueAt),
        (row) => (isOurs(row) ? freed(row.state, dueAt) : row.state),
      )
    }),
  )
  fc.assert(
    fc.property(some, times, (all, now) => {
      leases.moved()
      holds(
        all,
        () => leases.reap(now),
        ({ state, leaseUntil }) =>
          state.boot === context.boot && hasRunOut(state, leaseUntil ?? 0, now) ? freed(state, now) : state,
      )
    }),
  )
  fc.assert(
    fc.property(some, times, fc.constantFrom('retry', 'hold'), (all, now, on) => {
      ambiguous.run(on, at.workspace.id)
      const counted = { released: 0, ambiguous: 0 }
      let answer = counted
      holds(
        all,
        () => (answer = leases.recover([THEIRS], now)),
        ({ state }) => {
          if (state.boot !== THEIRS) return state
          const after = recovered(state, on, now)
          counted[after.ambiguous === null ? 'released' : 'ambiguous']++
          return after.recipient
        },
      )
      deepStrictEqual(answer, counted)
    }),
  )
  t.pass('each as the law says')
})
