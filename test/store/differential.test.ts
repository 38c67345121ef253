/**
 * The SQLite store and the model do alike, whatever is asked of them (differential.ts). So do two SQLite stores whose
 * relay takes mail as it is accepted: one that settles it by what it knows, and one that forgets that and has to look.
 */
import { join } from 'node:path'
import t from 'tap'
import type { Claimed } from '../../src/lifecycle/facts.js'
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

const sqlite = (dataDir: string): Engine => ({
  async open() {
    const stores = [true, false].map((daemon): Store => openSqliteStore({ dataDir, daemon }))
    for (const store of stores) await store.open()
    return stores
  },
  cutOff: (order, steps) => cutOff(dataDir, order, steps),
  settled: async () => null,
})

/** With a taker of hot mail. */
const taking = (dataDir: string): Engine => {
  const engine = sqlite(dataDir)
  let [store]: readonly Store[] = []
  let taken: Claimed[] = []
  let stop = () => {}
  const listen = () => {
    stop = store?.onLeased((claimed) => void taken.push(...claimed)) ?? stop
  }
  return {
    ...engine,
    async open() {
      const stores = await engine.open()
      store = stores[0]
      listen()
      return stores
    },
    async leased() {
      await store?.attempting([]) // what was leased has arrived by now
      const leased = taken
      taken = []
      return leased
    },
    // what was handed over is forgotten with its taker
    forget() {
      stop()
      listen()
    },
  }
}

t.test('sqlite', (t) => differential(t, async (t, n) => sqlite(t.testdir({ [`run-${n}`]: {} }))))

t.test('sqlite that knows, and one that looks', (t) => {
  const folder = t.testdir()
  let n = 0
  const begun = async () => taking(join(folder, `${n++}`))
  return differential(t, begun, begun)
})
