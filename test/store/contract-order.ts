/**
 * NAME      contract-order - one order for all readers, whoever sends what how fast
 * DESCRIPTION
 *   Ids are made before a mail is composed and its body is on disk, so a small
 *   mail with a later id is stored before a large one. Pollers and walkers meet
 *   every row once, in the order of the commits; a poller that goes by ids is the
 *   control, and must lose some.
 */
import { setImmediate as turn } from 'node:timers/promises'
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { NewEmail } from '../../src/lifecycle/facts.js'
import type { EmailFilter } from '../../src/store/port/mail.js'
import type { Store } from '../../src/store/port/store.js'
import {
  accepted,
  addWorkspace,
  filterOf,
  HOUR,
  mailFor,
  newAccount,
  type OpenStore,
  page,
  T0,
  type TestAccount,
  timeline,
} from './fixture.js'

const DAY = 24 * HOUR
const KB = 1024

/** Reads answer at once: without a turn of the event loop after each, nobody would ever be stored. */
const all = async (store: Store, filter: EmailFilter): Promise<string[]> => {
  const ids: string[] = []
  for (let anchor: string | null = null; ; ) {
    await turn()
    const got = await store.emails(filter, page({ limit: 100, anchor }))
    ids.push(...got.rows.map((row) => row.id))
    if (!got.hasOlder) return ids
    anchor = got.older
  }
}

/** Follows `newer` from the top of an empty list; `step` is one hop. */
const createPoller = async (store: Store, filter: EmailFilter, limit: number) => {
  const seen: string[] = []
  let anchor = (await store.emails(filter, page({ limit }))).newer
  const step = async (): Promise<boolean> => {
    await turn()
    const got = await store.emails(filter, page({ limit, direction: 'newer', anchor }))
    seen.unshift(...got.rows.map((row) => row.id))
    anchor = got.newer
    return got.hasNewer
  }
  return { seen, step }
}

/** Sees what has a greater id than all that it has seen: what a cursor of ids does. */
const createControl = (store: Store, filter: EmailFilter) => {
  const seen = new Set<string>()
  let highest = ''
  const step = async (): Promise<void> => {
    const later = (await all(store, filter)).filter((id) => id > highest)
    for (const id of later) seen.add(id)
    highest = [highest, ...later].sort().at(-1) as string
  }
  return { seen, step }
}

interface Walked {
  readonly limit: number
  readonly ids: readonly string[]
}

/** From the top to the bottom, or back up, while others write. */
const walk = async (
  store: Store,
  filter: EmailFilter,
  limit: number,
  direction: 'older' | 'newer',
): Promise<Walked> => {
  const ids: string[] = []
  for (let anchor: string | null = null; ; ) {
    await turn()
    const got = await store.emails(filter, page({ limit, direction, anchor }))
    const rows = got.rows.map((row) => row.id)
    if (direction === 'older') ids.push(...rows)
    else ids.unshift(...rows)
    if (direction === 'older' ? !got.hasOlder : !got.hasNewer) return { limit, ids }
    anchor = direction === 'older' ? got.older : got.newer
  }
}

/** Sends mails of these sizes one after the other; each has its id before `composing` is over. */
const send = async (
  store: Store,
  places: readonly TestAccount[],
  sizes: readonly number[],
  composing: (size: number) => Promise<unknown>,
): Promise<void> => {
  for (const [i, size] of sizes.entries()) {
    const mail: NewEmail = mailFor(places[i % places.length] as TestAccount, {
      mode: i % 5 === 4 ? 'test' : 'live',
      raw: Buffer.alloc(size, 'x'),
      createdAt: Date.now(),
    })
    await composing(size)
    await store.accept({ mails: [mail], idempotency: null, now: mail.createdAt })
  }
}

const LARGE = [300 * KB, 10_000 * KB, 700 * KB, 2_000 * KB, 300 * KB]
const SMALL = Array.from({ length: 40 }, (_, i) => (i % 4 === 3 ? 60 * KB : KB))

const together = async (t: Test, store: Store): Promise<void> => {
  const at = await newAccount(store)
  const shop = await addWorkspace(store, at, 'shop')
  const filter = { ...filterOf(at), workspaceId: null } // four index ranges: two workspaces, two modes
  const pollers = await Promise.all([1, 7, 100].map((limit) => createPoller(store, filter, limit)))
  const control = createControl(store, filter)
  let isSending = true
  let looked = 0
  const walks: Walked[] = []
  const polling = pollers.map(async ({ step }) => {
    while (isSending) await step()
    while (await step()) {}
  })
  const watching = (async () => {
    while (isSending) {
      await control.step()
      looked++
    }
    await control.step()
  })()
  const walking = [1, 7, 100].flatMap((limit) =>
    (['older', 'newer'] as const).map(async (direction) => {
      while (isSending) walks.push(await walk(store, filter, limit, direction))
    }),
  )
  /** A large mail is composed until the control has looked twice, and somebody has sent a small one. */
  const slow = async (): Promise<void> => {
    const before = looked
    await accepted(store, at, { createdAt: Date.now() })
    while (looked < before + 2) await turn()
  }
  const places = [at, shop]
  await Promise.all([
    send(store, places, LARGE, slow),
    ...[0, 1, 2].map(() => send(store, places, SMALL, async () => {})),
  ])
  isSending = false
  await Promise.all([...polling, watching, ...walking])

  const order = await all(store, filter)
  t.equal(new Set(order).size, 2 * LARGE.length + 3 * SMALL.length)
  for (const { seen } of pollers) t.same(seen, order, 'a poller sees every row once, in the one order')
  t.ok(walks.length > 6)
  for (const { ids, limit } of walks) {
    const start = order.indexOf(ids[0] ?? '')
    const part = ids.length === 0 ? [] : order.slice(start, start + ids.length)
    if (part.join() !== ids.join()) t.fail(`a walk at limit ${limit} met other rows, or another order`)
    if (ids.length > 0 && ids.at(-1) !== order.at(-1)) t.fail(`a walk at limit ${limit} missed the oldest`)
  }
  t.ok(control.seen.size < order.length, `the control saw ${control.seen.size} of ${order.length}`)
}

const lists = async (t: Test, store: Store): Promise<void> => {
  const at = await newAccount(store)
  const ids = ['c', 'a', 'b'].map((letter) => letter.repeat(26))
  for (const id of ids) {
    const row = { accountId: at.accountId, list: at.workspace.id, origin: 'manual' as const }
    const rest = { sourceId: null, reason: null, expiresAt: null, createdAt: T0 }
    await store.addSuppression({ id: `sup_${id}`, email: `${id}@x.test`, ...row, ...rest })
  }
  const got = await store.suppressions(at.workspace.id, null, page())
  t.same(
    got.rows.map((row) => row.id),
    ids.map((id) => `sup_${id}`).reverse(),
    'as stored, whatever the ids',
  )
  for (const [i, id] of ids.entries())
    await addWorkspace(store, at, `s${i}`, { id: `ws_${at.accountId.slice(-6)}${id}` })
  const slugs = (await store.workspaces(at.accountId, page({ limit: 3 }))).rows.map((row) => row.slug)
  t.same(slugs, ['s2', 's1', 's0'])
}

/** Mails whose clocks were wrong, among others of now. */
const strayTests = async (t: Test, open: OpenStore): Promise<void> => {
  const store = await open(t)
  const at = await newAccount(store)
  const now = Date.now()
  const make = (offset: number) => accepted(store, at, { createdAt: now + offset, scheduledAt: null })
  const first = await make(0)
  const future = await make(400 * DAY)
  const past = await make(-400 * DAY)
  const last = await make(1)
  const ids = async (after: number | null, before: number | null) =>
    (await store.emails(filterOf(at, { createdAfter: after, createdBefore: before }), page())).rows.map(
      (row) => row.id,
    )
  t.same(await ids(null, null), [last.id, past.id, future.id, first.id], 'as stored')
  t.same(await ids(now - 1, null), [last.id, future.id, first.id])
  t.same(await ids(now + 399 * DAY, null), [future.id])
  t.same(await ids(null, now - 399 * DAY), [past.id])
  t.same(await ids(now - 401 * DAY, now - 399 * DAY), [past.id])
  t.same(await ids(now - 300 * DAY, now - 200 * DAY), [])
  const counted = await store.emails(filterOf(at, { createdAfter: now - 1 }), page({ countUpTo: 10 }))
  t.equal(counted.total, 3)

  for (const { recipientId, leaseGen } of await store.claim(at.poolId, 9, now + HOUR, now + 500 * DAY)) {
    await store.settle([
      {
        ...{ recipientId, leaseGen, seen: 'accepted', at: now, source: 'smtp', attempt: 1, retryAt: null },
        ...{
          deadline: null,
          reply: null,
          mta: null,
          dedupe: null,
          reason: null,
          detail: null,
          trusted: true,
        },
      },
    ])
  }
  const keep = { bodiesMs: 7 * DAY, emailsMs: 90 * DAY }
  await store.sweep(now, keep)
  t.same(await ids(null, null), [last.id, future.id, first.id], 'the one from the past is gone')
  await store.sweep(now + 100 * DAY, keep)
  t.same(await ids(null, null), [future.id], 'the one from the future holds up nothing, and stays')
  t.equal(await store.body(last.id), null)
  t.ok(await store.body(future.id))
  const next = await make(2)
  t.same(await ids(now, null), [next.id, future.id], 'a day that was swept still takes mail')
}

export const orderContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await t.test('senders of 1 kB to 10 MB, pollers and walkers side by side', (t) => together(t, store))
  await t.test('every list goes by what was stored last', (t) => lists(t, store))
  await t.test('mails from the future and from the past', (t) => strayTests(t, open))

  await t.test('the ids decide nothing, in a timeline neither', async (t) => {
    const at = await newAccount(store)
    const late = newId('em', T0)
    const early = await accepted(store, at)
    await accepted(store, at, { id: late, scheduledAt: T0 + HOUR })
    const { rows } = await store.emails(filterOf(at), page())
    t.same(
      rows.map((row) => row.id),
      [late, early.id],
    )
    await store.cancel({ accountId: at.accountId, workspaceId: null, mode: null }, late, T0 - DAY)
    t.same(await timeline(store, late), ['scheduled', 'canceled'])
  })
}
