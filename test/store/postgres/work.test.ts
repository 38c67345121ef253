/** Of several daemons one does each kind of work, and another when it is gone. */
import t from 'tap'
import { noPostgres } from '../../parts/postgres.js'
import { freshDatabase } from './database.js'

t.test('one worker of each kind', { skip: noPostgres() }, async (t) => {
  const { sql, open } = await freshDatabase(t)
  const stores = await Promise.all([open(), open(), open()])
  const asked = (name: string) => Promise.all(stores.map((store) => store.holdsWork(name)))
  const first = await asked('sweep')
  t.equal(first.filter(Boolean).length, 1, 'who comes at the same time')
  t.same(await asked('sweep'), first, 'it stays with whom it is')
  const [a, b, c] = stores
  t.equal(await b.holdsWork('jobs'), true, 'another kind may be with another')
  t.equal(await a.holdsWork('jobs'), false)

  await b.close()
  t.equal(await a.holdsWork('jobs'), true, 'who leaves has it no more')
  t.equal(await c.holdsWork('jobs'), false)

  sql(
    `UPDATE writers SET epoch = epoch + 1, owner = NULL, boot = NULL
    WHERE boot = (SELECT boot FROM work WHERE kind = 'jobs')`,
  )
  t.equal(await c.holdsWork('jobs'), true, 'nor who was taken over')
  t.equal(await a.holdsWork('jobs'), false)
  await t.rejects(
    a.createUser({} as never),
    { code: 'service.unavailable', cause: { name: 'TakenOverError' } },
    'what it writes is fenced',
  )
})
