/** The model keeps the contract. */
import t from 'tap'
import { createMemory, openMemoryStore } from '../model/open.js'
import { contract } from './contract.js'
import { deadContract } from './contract-dead.js'
import { livingContract } from './contract-living.js'

t.test('memory', (t) =>
  contract(
    t,
    async (t) => {
      const store = openMemoryStore(createMemory())
      t.teardown(() => store.close())
      await store.open()
      return store
    },
    {
      backup: 'what is in memory has no copy',
    },
  ),
)

t.test('two on the same Maps', (t) =>
  livingContract(t, async (t) => {
    const state = createMemory()
    const [one, other] = [openMemoryStore(state), openMemoryStore(state)]
    for (const store of [one, other]) {
      t.teardown(() => store.close())
      await store.open()
    }
    return [one, other]
  }),
)

t.test('one that died', (t) =>
  deadContract(t, async (t) => {
    const state = createMemory()
    const again = async () => {
      const store = openMemoryStore(state)
      t.teardown(() => store.close())
      await store.open()
      return store
    }
    return { store: await again(), again }
  }),
)
