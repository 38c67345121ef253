/** What a writer that left had begun, and several who find it at the same moment. */
import t from 'tap'
import { noPostgres } from '../../parts/postgres.js'
import { HOUR, mailFor, newAccount, T0, timeline } from '../fixture.js'
import { freshDatabase } from './database.js'

t.test('it is recovered once, whoever comes first', { skip: noPostgres() }, async (t) => {
  const { open } = await freshDatabase(t)
  const others = await Promise.all([open(), open(), open()])
  const [first] = others
  const at = await newAccount(first)
  for (let round = 0; round < 2; round++) {
    const store = await open()
    const mails = Array.from({ length: 30 }, () => mailFor(at))
    await store.accept({ mails, idempotency: null, now: T0 })
    const claimed = await store.claim(at.poolId, 30, T0 + HOUR, T0)
    await store.attempting(
      claimed.map(({ recipientId, leaseGen }) => ({
        ...{ recipientId, leaseGen, attempt: 1, upstreamId: 'up_1', at: T0 },
      })),
    )
    await store.close()
    const found = await Promise.all(others.map((other) => other.recover('earlier', T0 + 1)))
    t.equal(
      found.reduce((sum, { ambiguous }) => sum + ambiguous, 0),
      claimed.length,
    )
    for (const { id } of mails.slice(0, 2))
      t.equal((await timeline(first, id)).length, 2, 'accepted, and told of once')
  }
})
