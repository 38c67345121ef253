/** Reads of many callers in one statement answer what each would be told alone. */
import t from 'tap'
import { newId } from '../../../src/base/id.js'
import { type Connection, connect } from '../../../src/store/postgres/connection.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { createPoints } from '../../../src/store/postgres/points.js'
import { answer, joined } from '../../../src/store/postgres/run.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import { READS } from '../../../src/store/postgres/verbs.js'
import { type Asking, first, type Row } from '../../../src/store/sql/query.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { newAccount, T0 } from '../fixture.js'

t.test('what one statement can take together', async (t) => {
  const text = "SELECT a FROM b WHERE c = ? AND d <> '?' AND e > ?"
  const of = (...values: readonly unknown[]) => ({ text, values })
  t.same(joined([of('x', 1), of('y', 2)])?.values, [
    ['x', 'y'],
    [1, 2],
  ])
  t.match(joined([of('x', 1), of('y', 2)])?.text, "c = g.p0 AND d <> '?' AND e > g.p1) AS r")
  t.match(joined([of('x', 1), of('y', 1)]), { text: /c = g\.p0 AND .*e > \?/s, values: [['x', 'y'], 1] })
  const limited = 'SELECT a FROM b WHERE c = ? LIMIT ? + 0'
  t.match(
    joined([
      { text: limited, values: ['x', 1] },
      { text: limited, values: ['y', 1] },
    ])?.text,
    'LIMIT ? + 0',
  )
  t.equal(
    joined([
      { text: limited, values: ['x', 1] },
      { text: limited, values: ['y', 2] },
    ]),
    null,
    'a limit is one value',
  )
  for (const other of [of(null, 2), of('y', 0.5), of('y', '2'), of(Buffer.from('y'), 2)])
    t.equal(joined([of('x', 1), other]), null, 'values that are no array of one type')
})

const numberOf = (text: string): Asking<Row | null> =>
  first('SELECT CAST(CAST(? AS TEXT) AS INTEGER) AS n', text)

t.test('many callers', { skip: noPostgres() }, async (t) => {
  const urls = await (await postgres()).withTables()
  const store = openPostgresStore({ urls })
  t.teardown(() => store.close())
  await store.open()
  const { accountId, workspace } = await newAccount(store)
  for (const n of [1, 2, 3]) {
    const email = `a${n}@example.com`
    const row = {
      id: newId('sup'),
      accountId,
      list: n === 3 ? accountId : workspace.id,
      email,
      origin: 'manual' as const,
    }
    await store.addSuppression({ ...row, sourceId: null, reason: null, expiresAt: null, createdAt: T0 })
  }

  let statements = 0
  const open = async (): Promise<Connection> => {
    const connection = await connect(serversOf(urls), 'points-test')
    const query: Connection['query'] = (one) => {
      statements++
      return connection.query(one)
    }
    return { ...connection, query }
  }
  const points = createPoints(open)
  t.teardown(() => points.close())
  const alone = await open()
  t.teardown(() => alone.close())

  const { keyByLookup, pool, suppressed, workspace: workspaceOf, credentialsByRange, accounts } = READS
  const verbs: readonly (() => Asking<unknown>)[] = [
    () => workspaceOf(accountId, workspace.id),
    () => workspaceOf(accountId, workspace.slug),
    () => workspaceOf(newId('acct'), workspace.id),
    () => pool(accountId, 'sandbox'),
    () => pool(accountId, 'none'),
    () => keyByLookup('none'),
    () => credentialsByRange(),
    () => accounts(),
    ...[1, 2, 3, 4].map((n) => () => suppressed(workspace.id, [`a${n}@example.com`, 'a2@example.com'], T0)),
  ]
  const expected: unknown[] = []
  for (const verb of verbs) expected.push(await answer(alone, verb()))
  statements = 0
  const all = Array.from({ length: 10 }, () => verbs).flat()
  const got = await Promise.all(all.map((verb) => points.read(verb)))
  for (const [i, one] of got.entries()) t.same(one, expected[i % verbs.length])
  t.ok(statements < 30, `${all.length} reads were ${statements} statements`)

  const some = await Promise.allSettled(
    ['1', '2', 'none', '3', '4'].map((n) => points.read(() => numberOf(n))),
  )
  t.same(
    some.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
    'one that is at fault harms no other',
  )
})
