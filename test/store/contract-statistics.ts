/**
 * NAME      contract-statistics - counting, once; reading, in pages; keeping the busiest
 */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { Store } from '../../src/store/port/store.js'
import {
  KEPT,
  OTHER,
  SPANS,
  type StatisticsQuery,
  type StatisticsRow,
  TAG_SEPARATOR,
} from '../../src/store/port/watch.js'
import { addWorkspace, HOUR, newAccount, type OpenStore, T0, type TestAccount } from './fixture.js'

const row = (at: TestAccount, over: Partial<StatisticsRow> = {}): StatisticsRow => ({
  span: 60,
  at: T0,
  workspaceId: at.workspace.id,
  mode: 'live',
  dimension: 'none',
  value: '',
  counts: [0, 1],
  ...over,
})

const query = (at: TestAccount, over: Partial<StatisticsQuery> = {}): StatisticsQuery => ({
  accountId: at.accountId,
  workspaceId: null,
  mode: 'live',
  dimension: 'none',
  tagName: null,
  span: 60,
  from: T0,
  to: T0 + HOUR,
  ...over,
})

const all = async (store: Store, asked: StatisticsQuery): Promise<StatisticsRow[]> => {
  const rows: StatisticsRow[] = []
  let after: string | null = null
  do {
    const page = await store.statistics(asked, after)
    rows.push(...page.rows)
    after = page.next
  } while (after !== null)
  return rows
}

const sumOf = (rows: readonly StatisticsRow[]): number =>
  rows.reduce((sum, { counts }) => sum + (counts[1] ?? 0), 0)

const placeOf = async (store: Store): Promise<string | null> => (await store.readPlaces()).statistics

const add = async (
  store: Store,
  from: string | null,
  to: string,
  rows: readonly StatisticsRow[],
): Promise<boolean> => (await store.keepRead({ to, statistics: { from, rows } })) !== null

/** Adds where the place stands. */
const put = async (store: Store, to: string, rows: readonly StatisticsRow[]): Promise<boolean> =>
  add(store, await placeOf(store), to, rows)

const onceContract = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('rows and place together, and only from the place where it stands', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    t.equal(await placeOf(store), null)
    t.equal(await add(store, '1', '2', [row(at)]), false, 'another place')
    t.equal(await add(store, null, '5', [row(at, { counts: [0, 2, 7, 1] })]), true)
    t.equal(await add(store, null, '5', [row(at)]), false, 'the same once more')
    t.equal(await placeOf(store), '5')
    t.equal(await add(store, '5', '9', [row(at, { counts: [3, 4, 7, 1] })]), true)
    t.same(await all(store, query(at)), [row(at, { counts: [0, 2, 3, 4, 7, 2] })])
  })

  await t.test('a verb that fails leaves neither rows nor place', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const wrong = row({ ...at, workspace: { ...at.workspace, id: newId('ws') } })
    await t.rejects(add(store, null, '1', [row(at), wrong]))
    t.equal(await placeOf(store), null)
    t.same(await all(store, query(at)), [])
  })
}

const scopeContract = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('account, workspace, mode, dimension and tag name are kept apart', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const other = await newAccount(store)
    const shop = await addWorkspace(store, at, 'shop')
    const tag = (value: string): Partial<StatisticsRow> => ({ dimension: 'tag', value })
    await put(store, '1', [
      row(at, { counts: [0, 1] }),
      row(shop, { counts: [0, 2] }),
      row(other, { counts: [0, 4] }),
      row(at, { mode: 'test', counts: [0, 8] }),
      row(at, { dimension: 'pool', value: 'pool_x', counts: [0, 16] }),
      row(at, { ...tag(`kind${TAG_SEPARATOR}receipt`), counts: [0, 32] }),
      row(at, { ...tag('kind'), counts: [0, 64] }),
      row(at, { ...tag(`kinder${TAG_SEPARATOR}a`), counts: [0, 128] }),
    ])
    const sum = async (over: Partial<StatisticsQuery>) => sumOf(await all(store, query(at, over)))
    t.equal(await sum({}), 3)
    t.equal(await sum({ accountId: null }), 7)
    t.equal(await sum({ workspaceId: shop.workspace.id }), 2)
    t.equal(await sum({ workspaceId: other.workspace.id }), 0, 'of another account')
    t.equal(await sum({ mode: 'test' }), 8)
    t.equal(await sum({ dimension: 'pool' }), 16)
    t.equal(await sum({ dimension: 'tag', tagName: 'kind' }), 96)
    t.equal(await sum({ dimension: 'tag' }), 224)
    t.equal(await sum({ span: 15 }), 0)
    t.equal(await sum({ from: T0 + HOUR, to: T0 + 2 * HOUR }), 0)
  })

  await t.test('a long answer comes in pages, each row once, in order of time', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const shop = await addWorkspace(store, at, 'shop')
    const rows = [at, shop].flatMap((of) =>
      Array.from({ length: 700 }, (_, i) => row(of, { dimension: 'recipient_domain', value: `d${i}.test` })),
    )
    await put(store, '1', [
      ...rows,
      ...rows.map((one) => ({ ...one, at: T0 + 700 * HOUR })),
      row(at, { dimension: 'recipient_domain', value: 'last.test', at: T0 + 5_000 * HOUR }),
    ])
    const asked = query(at, { dimension: 'recipient_domain', to: T0 + 6_000 * HOUR })
    const found = await all(store, asked)
    t.equal(found.length, 2 * rows.length + 1)
    t.equal(new Set(found.map((one) => `${one.at} ${one.workspaceId} ${one.value}`)).size, found.length)
    t.same(
      found.map((one) => one.at),
      found.map((one) => one.at).sort((a, b) => a - b),
    )
    const page = await store.statistics(asked, null)
    t.ok(page.rows.length <= 1_000 && page.next !== null, 'not in one piece')
  })
}

const roomContract = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test(
    'the busiest domains of an hour stay, the rest is added up, in rows of all spans',
    async (t) => {
      const store = await open(t)
      const at = await newAccount(store)
      const put40 = async (n: number): Promise<void> => {
        const rows = SPANS.filter((span) => span !== 1).flatMap((span) =>
          Array.from({ length: 40 }, (_, i) => {
            const k = n * 40 + i
            const counts = [0, k % 100 === 0 ? 50 : 1]
            const when = span === 15 ? T0 + (k % 4) * 900_000 : T0
            return row(at, { span, at: when, dimension: 'recipient_domain', value: `d${k}.test`, counts })
          }),
        )
        await put(store, `${n + 1}`, rows)
      }
      for (let n = 0; n < 50; n++) await put40(n)
      const hours = await all(store, query(at, { dimension: 'recipient_domain' }))
      const quarters = await all(store, query(at, { dimension: 'recipient_domain', span: 15 }))
      t.ok(hours.length <= 1_101 && hours.length > 900, `${hours.length} values`)
      const sum = 50 * 20 + (2_000 - 20)
      t.equal(sumOf(hours), sum, 'nothing is lost')
      t.equal(sumOf(quarters), sum)
      const busy = hours.filter(({ counts }) => counts[1] === 50).map(({ value }) => value)
      t.equal(busy.length, 20, 'the busy ones are all there')
      const kept = new Set(hours.map(({ value }) => value))
      t.ok(
        quarters.every(({ value }) => kept.has(value)),
        'what went from the hour went from its quarters',
      )
      t.ok(hours.some(({ value }) => value === OTHER))
    },
  )

  await t.test('one name of a tag does not crowd out the others', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const tag = (name: string, i: number, n: number): StatisticsRow =>
      row(at, { dimension: 'tag', value: `${name}${TAG_SEPARATOR}${i}`, counts: [0, n] })
    await put(store, '1', [
      ...Array.from({ length: 300 }, (_, i) => tag('order', i, 9)),
      ...Array.from({ length: 5 }, (_, i) => tag('kind', i, 1)),
    ])
    const values = (await all(store, query(at, { dimension: 'tag' }))).map(({ value }) => value)
    t.equal(values.filter((value) => value.startsWith(`order${TAG_SEPARATOR}`)).length, 200)
    t.equal(values.filter((value) => value.startsWith('kind')).length, 5)
    t.ok(values.includes('order'), 'the rest, under its name')
    t.equal(sumOf(await all(store, query(at, { dimension: 'tag' }))), 300 * 9 + 5)
  })
}

export const statisticsContract = async (t: Test, open: OpenStore): Promise<void> => {
  await onceContract(t, open)
  await scopeContract(t, open)
  await roomContract(t, open)

  await t.test('of a workspace that is deleted, domains and tags go, and numbers stay', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const shop = await addWorkspace(store, at, 'shop')
    const rows = (of: TestAccount): StatisticsRow[] =>
      Array.from({ length: 400 }, (_, i) => T0 + i * HOUR).flatMap((time) => [
        row(of, { at: time }),
        row(of, { at: time, dimension: 'recipient_domain', value: 'smith.test' }),
        row(of, { at: time, mode: 'test', dimension: 'tag', value: `user${TAG_SEPARATOR}42` }),
      ])
    await put(store, '1', [...rows(at), ...rows(shop)])
    await store.deleteWorkspace(at.accountId, shop.workspace.id, 'left us', T0)
    await store.sweep(T0, { bodiesMs: HOUR, emailsMs: HOUR })
    const count = async (of: TestAccount, over: Partial<StatisticsQuery>) =>
      (await all(store, query(at, { to: T0 + 400 * HOUR, workspaceId: of.workspace.id, ...over }))).length
    t.equal(await count(shop, {}), 400)
    t.equal(await count(shop, { dimension: 'recipient_domain' }), 0)
    t.equal(await count(shop, { dimension: 'tag', mode: 'test' }), 0)
    t.equal(await count(at, { dimension: 'recipient_domain' }), 400, 'of others nothing goes')
  })

  await t.test('rows go when their span has been kept for its time', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const keep = { bodiesMs: HOUR, emailsMs: HOUR }
    await put(
      store,
      '1',
      SPANS.flatMap((span) => [row(at, { span }), row(at, { span, at: T0 + 60 * HOUR })]),
    )
    for (const span of SPANS) {
      const count = async () => (await all(store, query(at, { span, to: T0 + 61 * HOUR }))).length
      await store.sweep(T0 + KEPT[span], keep)
      t.equal(await count(), 2, `${span}: in time`)
      await store.sweep(T0 + KEPT[span] + 1, keep)
      t.equal(await count(), 1, `${span}: beyond it`)
    }
  })
}
