/** What counting costs: each statement is a round trip, in a transaction that what comes later waits for. */
import t from 'tap'
import { OTHER, SPANS, type StatisticsRow } from '../../../src/store/port/watch.js'
import { connect } from '../../../src/store/postgres/connection.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { answer } from '../../../src/store/postgres/run.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import { STATISTICS } from '../../../src/store/postgres/statistics.js'
import type { SqlQuery } from '../../../src/store/sql/query.js'
import { adding } from '../../../src/store/sql/statistics.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { newAccount, T0 } from '../fixture.js'

t.test(
  'many domains in an hour take some statements, not some for each',
  { skip: noPostgres() },
  async (t) => {
    const urls = await (await postgres()).withTables()
    const store = openPostgresStore({ urls })
    t.teardown(() => store.close())
    await store.open()
    const at = await newAccount(store)
    const connection = await connect(serversOf(urls), 'counted')
    t.teardown(() => connection.close())
    const addStatistics = adding(STATISTICS)
    const fold = async (from: number, n: number): Promise<number> => {
      const rows = Array.from({ length: n }, (_, i) => `d${from + i}.test`).flatMap((value) =>
        SPANS.filter((span) => span !== 1).map((span): StatisticsRow => {
          const of = {
            workspaceId: at.workspace.id,
            mode: 'test',
            dimension: 'recipient_domain',
            value,
          } as const
          return { span, at: T0, ...of, counts: [0, 1] }
        }),
      )
      let statements = 0
      const query = (asked: SqlQuery) => {
        statements++
        return connection.query(asked)
      }
      await answer({ query }, addStatistics(rows))
      return statements
    }
    t.equal(await fold(0, 8), 4, 'whose workspace, what is there, all of it, and how many there are')
    for (const from of [1_000, 2_000, 3_000, 4_000]) {
      const statements = await fold(from, 500)
      t.ok(statements <= 8, `500 domains: ${statements}`)
    }
    const counted = async (where: string): Promise<number> => {
      const text = `SELECT CAST(coalesce(sum(CAST(CAST(counts AS JSON) ->> 1 AS BIGINT)), 0) AS BIGINT) AS n FROM statistics WHERE ${where}`
      return Number((await connection.query({ text, values: [] })).rows[0]?.n)
    }
    t.same([await counted('span = 60'), await counted('span = 15')], [2_008, 2_008], 'nothing is lost')
    t.ok((await counted(`span = 60 AND value = '${OTHER}'`)) >= 900, 'there was no room for all')
  },
)
