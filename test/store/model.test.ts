/** The model keeps the contract, but for what it does not answer yet. */
import t from 'tap'
import { createMemory, openMemoryStore } from '../../src/store/memory/open.js'
import { contract } from './contract.js'

const LATER = 'the model does not answer these verbs yet'

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
      ...{ identity: LATER, audit: LATER, search: LATER, statistics: LATER, webhooks: LATER, notices: LATER },
      ...{ watch: LATER, incidents: LATER, 'soft bounces': LATER, reports: LATER, workspaces: LATER },
      ...{ jobs: LATER, carry: LATER, backup: 'what is in memory has no copy' },
    },
  ),
)
