/**
 * The PostgreSQL store and the model do alike, whatever is asked of them (../differential.ts): two sessions, each with
 * a writer of its own.
 */
import t from 'tap'
import type { QueueOrder } from '../../../src/store/port/operations.js'
import { createHints } from '../../../src/store/postgres/notify.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { begin } from '../../../src/store/postgres/session.js'
import type { WalkCursor } from '../../../src/store/sql/orders.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { differential, type Engine } from '../differential.js'

const cutOff = async (urls: string, order: QueueOrder, steps: number): Promise<void> => {
  const session = await begin(
    { urls, version: '', owner: null, role: 'command' },
    createHints(),
    false,
    () => {},
  )
  const { call } = session.calls
  const { n } = await call('beginOrder', order)
  let cursor: WalkCursor | null = null
  for (let i = 0; i < steps; i++) {
    const { next }: { readonly next: WalkCursor | null } = await call('orderStep', n, cursor)
    if (next === null) break
    cursor = next
  }
  await session.close()
}

const engine = async (): Promise<Engine> => {
  const urls = await (await postgres()).withTables()
  return {
    async open() {
      const stores = [1, 2].map(() => openPostgresStore({ urls }))
      for (const store of stores) await store.open()
      return stores
    },
    cutOff: (order, steps) => cutOff(urls, order, steps),
    // a writer that writes brings its frontier to the present
    settled: (stores) => Promise.all(stores.map((store) => store.recover([], 0))),
  }
}

t.test('postgres', { skip: noPostgres() }, (t) => differential(t, engine))
