/** Leasing what is due: fairly, once, by several at a time, and at the cost of the limit. */
import fc from 'fast-check'
import t from 'tap'
import type { Store } from '../../../src/store/port/store.js'
import { createMemory, openMemoryStore } from '../../model/open.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { accepted, addWorkspace, HOUR, mailFor, newAccount, scopeOf, T0, toOne } from '../fixture.js'
import { opened } from './database.js'

t.test('three at once: nothing twice, nobody starved', { skip: noPostgres() }, async (t) => {
  const urls = await (await postgres()).withTables()
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

t.test('claims whose connections are cut lease all, and nothing twice', { skip: noPostgres() }, async (t) => {
  const cluster = await postgres()
  const urls = await cluster.withTables()
  const store = await opened(t, urls)
  const at = await newAccount(store)
  const mails = Array.from({ length: 60 }, (_, i) => mailFor(at, { createdAt: T0 + i }))
  await store.accept({ mails, idempotency: null, now: T0 })
  const seen: string[] = []
  for (let round = 0; round < 6; round++) {
    const claiming = [4, 4, 2].map((limit) => store.claim(at.poolId, limit, T0 + HOUR, T0 + 1000))
    cluster.sql(
      urls.split('/').at(-1) ?? '',
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'postern/%/writer'",
    )
    for (const claimed of await Promise.all(claiming)) seen.push(...claimed.map(({ emailId }) => emailId))
  }
  t.equal(seen.length, 60)
  t.equal(new Set(seen).size, 60)
})

t.test('an appointment', { skip: noPostgres() }, async (t) => {
  const store = await opened(t, await (await postgres()).withTables())
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

const queues = fc.record({
  mails: fc.array(fc.tuple(fc.nat(4), fc.nat(50)), { minLength: 1, maxLength: 60 }),
  claims: fc.array(fc.tuple(fc.integer({ min: 1, max: 12 }), fc.nat(60)), { minLength: 1, maxLength: 12 }),
})

t.test('who is served when is what the law says', { skip: noPostgres() }, async (t) => {
  const stores = [await opened(t, await (await postgres()).withTables()), openMemoryStore(createMemory())]
  t.teardown(() => stores[1]?.close())
  await stores[1]?.open()
  const served = async (
    store: Store,
    { mails, claims }: typeof queues extends fc.Arbitrary<infer T> ? T : never,
  ) => {
    const first = await newAccount(store)
    const at = [first]
    for (const slug of ['b', 'c', 'd', 'e']) at.push(await addWorkspace(store, first, slug))
    // no two are due at the same time, so that there is one order
    const all = mails.map(([n, due], i) =>
      mailFor(at[n] ?? first, { createdAt: T0 + due * 100 + i, subject: `${i}` }),
    )
    const subjects = new Map(all.map(({ id, subject }) => [id, subject]))
    await Promise.all(
      all.map((mail) => store.accept({ mails: [mail], idempotency: null, now: mail.createdAt })),
    )
    const answers: (string | undefined)[][] = []
    for (const [limit, now] of claims) {
      const claimed = await store.claim(first.poolId, limit, T0 + HOUR, T0 + now * 100)
      answers.push(claimed.map(({ emailId }) => subjects.get(emailId)))
    }
    return answers
  }
  await fc.assert(
    fc.asyncProperty(queues, async (queue) => {
      const [ours, law] = [await served(stores[0] as Store, queue), await served(stores[1] as Store, queue)]
      if (JSON.stringify(ours) !== JSON.stringify(law))
        throw new Error(`${JSON.stringify(ours)}, not ${JSON.stringify(law)}`)
    }),
    { numRuns: 25 },
  )
})
