/** Leasing what is due: fairly, once, by several at a time, and at the cost of the limit. */
import t, { type Test } from 'tap'
import type { Store } from '../../../src/store/port/store.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { accepted, addWorkspace, HOUR, mailFor, newAccount, scopeOf, T0, toOne } from '../fixture.js'

const opened = async (t: Test, urls: string): Promise<Store> => {
  const store = openPostgresStore({ urls })
  t.teardown(() => store.close())
  await store.open()
  return store
}

t.test('three at once: nothing twice, nobody starved', { skip: noPostgres() }, async (t) => {
  const urls = (await postgres()).database()
  const stores = [await opened(t, urls), await opened(t, urls), await opened(t, urls)]
  const store = stores[0] as Store
  const noisy = await newAccount(store)
  const quiet = await addWorkspace(store, noisy, 'quiet')
  const many = Array.from({ length: 300 }, (_, i) => mailFor(noisy, { createdAt: T0 + i }))
  await store.accept({ mails: many, idempotency: null, now: T0 })
  for (let i = 0; i < 20; i++) await accepted(store, quiet, { createdAt: T0 + 1000 })
  const seen: string[] = []
  const quick: string[] = []
  await Promise.all(
    stores.map(async (one) => {
      for (let n = 0; ; n++) {
        const claimed = await one.claim(noisy.poolId, 10, T0 + HOUR, T0 + 2000)
        if (claimed.length === 0) return
        seen.push(...claimed.map(({ recipientId }) => recipientId))
        if (n < 4)
          quick.push(
            ...claimed.filter(({ workspaceId }) => workspaceId === quiet.workspace.id).map((c) => c.emailId),
          )
      }
    }),
  )
  t.equal(seen.length, 320)
  t.equal(new Set(seen).size, 320)
  t.equal(quick.length, 20, 'who has little gets through')
})

t.test('an appointment', { skip: noPostgres() }, async (t) => {
  const store = await opened(t, (await postgres()).database())
  const at = await newAccount(store)
  const mail = await accepted(store, at, {
    scheduledAt: T0 + HOUR,
    recipients: [toOne('a@x.test'), toOne('b@x.test')],
  })
  t.equal((await store.claim(at.poolId, 1, T0 + 9 * HOUR, T0)).length, 0)
  t.equal(await store.nextDue(), T0 + HOUR)
  t.equal((await store.claim(at.poolId, 1, T0 + 9 * HOUR, T0 + HOUR)).length, 1)
  t.equal(await store.cancel(scopeOf(at), mail.id, T0 + HOUR), 'not_scheduled')
})
