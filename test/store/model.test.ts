/** The model keeps the contract. */
import t from 'tap'
import { createMemory, openMemoryStore } from '../../src/store/memory/open.js'
import { contract } from './contract.js'

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
