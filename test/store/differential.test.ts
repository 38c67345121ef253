/**
 * The SQLite store and the model do alike, whatever is asked of them (differential.ts).
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { QueueOrder } from '../../src/store/port/operations.js'
import type { Store } from '../../src/store/port/store.js'
import { openWriter } from '../../src/store/sqlite/connect.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { createWriteContext } from '../../src/store/sqlite/write/context.js'
import { createVerbs } from '../../src/store/sqlite/write/verbs.js'
import { differential, type Engine } from './differential.js'

/** With the verbs of a writer's thread, so that it can stop between two commits. */
const cutOff = async (dataDir: string, order: QueueOrder, steps: number): Promise<void> => {
  const db = openWriter(join(dataDir, 'postern.db'))
  const context = createWriteContext(db)
  const verbs = createVerbs(context)
  const commit = db.transaction(<Answer>(verb: () => Answer): Answer => {
    context.holds.look()
    context.order.begin()
    const answer = verb()
    context.order.keep()
    return answer
  })
  const { n } = commit(() => verbs.beginOrder(order)) as { readonly n: number }
  let cursor: ReturnType<typeof verbs.orderStep>['next'] = null
  for (let i = 0; i < steps; i++) {
    const step = commit(() => verbs.orderStep(n, cursor)) as ReturnType<typeof verbs.orderStep>
    if (step.next === null) break
    cursor = step.next
  }
  db.close()
}

const sqlite = async (t: Test, n: number): Promise<Engine> => {
  const dataDir = t.testdir({ [`run-${n}`]: {} })
  return {
    async open() {
      const stores = [true, false].map((daemon): Store => openSqliteStore({ dataDir, daemon }))
      for (const store of stores) await store.open()
      return stores
    },
    cutOff: (order, steps) => cutOff(dataDir, order, steps),
    settled: async () => null,
  }
}

t.test('sqlite', (t) => differential(t, sqlite))
