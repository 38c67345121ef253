/** Hot mail is settled by what its accept knew, or by a look at its row: the same is stored, whatever came between. */
import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import t from 'tap'
import type { Outcome } from '../../../../src/lifecycle/facts.js'
import { OBSERVATIONS } from '../../../../src/mail/status.js'
import { toWire } from '../../../../src/store/sqlite/thread/wire.js'
import { HOUR, mailFor, outcome, T0, toOne } from '../../fixture.js'
import { openWriterVerbs } from '../writer.js'

const OF_LEASE = ['accepted', 'accepted', 'postponed', 'rejected', 'expired'] as const

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom('mark', 'report', 'report', 'ours', 'ours', 'ours', 'release', 'claim'),
    seen: fc.constantFrom(...OF_LEASE),
    reported: fc.constantFrom(...OBSERVATIONS.filter((seen) => seen.startsWith('dsn-'))),
    leaseGen: fc.constantFrom(1, 1, 1, 2, 3),
    waits: fc.boolean(),
    trusted: fc.constantFrom(true, true, false),
    key: fc.constantFrom(null, null, null, 'k'),
  }),
  { maxLength: 6 },
)

/** Without what names a mail, and without the wall clock. */
const normal = ([row, ...rest]: readonly unknown[]) => {
  const { id, email_ord, updated_at, held_at, address_lc, address, written, ...state } = row as Record<
    string,
    unknown
  >
  return [state, ...rest]
}

t.test('with a look and without', async (t) => {
  const { db, context, verbs, at } = openWriterVerbs(t)
  context.hot.open = true
  const rowsOf = (id: string) => [
    db.prepare('SELECT * FROM recipients WHERE id = ?').get(id),
    db
      .prepare(`SELECT e.status, queued, sent, deferred, delivered, bounced FROM emails e
        JOIN recipients r ON r.email_ord = e.ord WHERE r.id = ?`)
      .get(id),
    db
      .prepare(
        'SELECT kind, flags, occurred_at, attempt, reason, more FROM events WHERE recipient = ? ORDER BY ord',
      )
      .all(id),
  ]
  let n = 0
  fc.assert(
    fc.property(steps, fc.boolean(), (script, asks) => {
      const people = ['knows', 'looks'].map((name) =>
        toOne(`${name}${n++}@x.test`, { dsn: asks ? { notify: 'SUCCESS,FAILURE', orcpt: null } : null }),
      )
      for (const one of people) {
        const mail = mailFor(at, { recipients: [one], mailFrom: 'shop@x.test', source: 'smtp' })
        verbs.accept(toWire({ mails: [mail], idempotency: null, now: T0 }))
      }
      const [knows = '', looks = ''] = people.map(({ id }) => id)
      deepStrictEqual([context.hot.known(knows)?.[5], context.hot.known(looks)?.[5]], [1, 1])
      for (const { kind, seen, reported, leaseGen, waits, trusted, key } of script) {
        const did = [knows, looks].map((recipientId) => {
          const lease = { recipientId, leaseGen }
          const dedupe = key && `${key} ${recipientId}`
          const retryAt = seen === 'postponed' && waits ? T0 + HOUR : null
          const of: Partial<Outcome> =
            kind === 'ours'
              ? { seen, leaseGen, attempt: 1, retryAt, dedupe, reason: trusted ? 'x' : null }
              : { seen: reported, source: 'dsn', trusted, dedupe, deadline: T0 + 5 * HOUR }
          if (recipientId === looks) context.hot.drop(looks)
          if (kind === 'mark') return verbs.attempting([{ ...lease, attempt: 1, upstreamId: 'up_1', at: T0 }])
          if (kind === 'release') return verbs.release([lease], T0)
          if (kind === 'claim') return null
          return verbs.settle([outcome(recipientId, of)]).map(({ applied, from, to }) => [applied, from, to])
        })
        if (kind === 'claim') verbs.claim(at.poolId, 9, T0 + 9 * HOUR, T0 + 2 * HOUR)
        deepStrictEqual(did[0], did[1])
        const [one, other] = [rowsOf(knows), rowsOf(looks)]
        deepStrictEqual(normal(one), normal(other))
      }
      verbs.settle([knows, looks].map((id) => outcome(id, { seen: 'discarded', source: 'operator' })))
    }),
    { numRuns: 150 },
  )
})
