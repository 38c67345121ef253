/** The store is away for a while, as a database beyond a network may be: what was begun meanwhile is posted later. */
import t from 'tap'
import { Fault } from '../../../src/base/fault.js'
import { eventually } from '../../parts/eventually.js'
import { bench, gotAll, passUntil, SECOND } from './fixture.js'

t.test('events whose post was begun while the store was away', async (t) => {
  const b = await bench(t)
  let isAway = true
  let asked = 0
  const endpoint: typeof b.store.endpoint = async (...args) => {
    if (!isAway) return b.store.endpoint(...args)
    asked++
    throw new Fault('service.unavailable')
  }
  const id = await b.add('/a')
  await b.start({ store: { ...b.store, endpoint } })
  const ids = await b.events(3)
  await eventually('they are begun', () => asked > 0)
  isAway = false
  await passUntil(b, 'all are posted', SECOND, () => b.receiver.idsOf('/a').length >= 3)
  await gotAll(b, '/a', ids)
  t.same(b.receiver.idsOf('/a').sort(), [...ids].sort(), 'each once')
  await passUntil(b, 'its place passes them', SECOND, async () => (await b.posts(id)).length === 3)
})
