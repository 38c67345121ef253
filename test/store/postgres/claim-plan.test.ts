/**
 * What a claim costs follows its limit: no statement of it reads or sorts the queue, with a hundred thousand waiting, nor
 * when as many have left and somebody holds an old snapshot.
 */
import t from 'tap'
import { pickQuery, waitingIn } from '../../../src/store/postgres/claim.js'
import { connect, statementOf } from '../../../src/store/postgres/connection.js'
import { leastDue } from '../../../src/store/postgres/due.js'
import { claimedOf } from '../../../src/store/postgres/leased.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import type { SqlQuery } from '../../../src/store/sql/query.js'
import { noPostgres, postgres } from '../../parts/postgres.js'

const DEPTH = 100_000

/** Twenty workspaces of one pool, of which the first has nearly all. */
const FILL = `
INSERT INTO workspaces SELECT f.* FROM (SELECT w AS row FROM workspaces w LIMIT 1) w, generate_series(1, 20) AS i,
  jsonb_populate_record(w.row, jsonb_build_object('n', 100 + i, 'id', 'ws_' || i, 'slug', 's' || i)) AS f;
INSERT INTO emails (ord, id, workspace, test, status, total, queued, created_at, updated_at, pool, body, size, source, utf8,
    require_tls, message, sender, subject, lists)
  SELECT i, 'em_' || i, 101 + CASE WHEN i % 10 = 0 THEN i / 10 % 20 ELSE 0 END, 0, 'queued', 1, 1, i, i, 1, i, 10, 'api', 0, 0, '', 's', 's', '{}'
  FROM generate_series(1, ${DEPTH}) AS i;
INSERT INTO bodies (n, email_id, created_at, raw) SELECT ord, id, ord, 'x' FROM emails;
INSERT INTO recipient_rows (id, email_ord, workspace, pool, kind, status, updated_at, queued_at, written, address_lc, first)
  SELECT 'r_' || ord, ord, workspace, 1, 'to', 'queued', ord, ord, '', 'a@x.test', 1 FROM emails;
INSERT INTO queue (recipient_id, email_ord, workspace, pool, gen, due_at) SELECT id, email_ord, workspace, pool, 0, queued_at FROM recipient_rows;
`

const HOLD = `SET idle_in_transaction_session_timeout = 0;
  BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM queue LIMIT 1`

const literal = (value: unknown): string => (Array.isArray(value) ? `'{${value.join()}}'` : String(value))

t.test('plans', { skip: noPostgres() }, async (t) => {
  const cluster = await postgres()
  const urls = await cluster.withTables()
  const store = openPostgresStore({ urls })
  t.teardown(() => store.close())
  await store.open()
  cluster.sql(urls.split('/').at(-1) ?? '', FILL)
  const connection = await connect(serversOf(urls), 'plans', 60_000)
  t.teardown(() => connection.close())
  const run = (text: string) => connection.query({ text, values: [] })

  const round = { pool: 1, boot: 1, leaseUntil: 9, now: DEPTH, floor: DEPTH - 1000 }
  const pick = pickQuery({ workspaces: [101, 102], shares: [50, 50] }, round)
  const first = (asking: Generator<unknown>) => asking.next().value as SqlQuery
  const statements: Record<string, SqlQuery> = {
    waiting: first(waitingIn(1, 0, 100, DEPTH, 0)),
    'waiting from a floor': first(waitingIn(1, 0, 100, DEPTH, DEPTH - 1000)),
    pick: { ...pick, text: `WITH fence AS (SELECT 1 AS n),${pick.text}` },
    claimed: first(claimedOf(['r_1'], { id: 'p', n: 1 }, 1, 9)),
    due: first(leastDue()),
    'due from a floor': first(leastDue({ pools: new Map([[1, DEPTH - 1000]]), rest: DEPTH - 1000 })),
  }
  const held = await connect(serversOf(urls), 'held', 60_000)
  t.teardown(() => held.close())
  for (const state of ['without statistics', 'analyzed', 'under a held snapshot']) {
    if (state === 'under a held snapshot') {
      await held.query({ text: HOLD, values: [] })
      await run(`DELETE FROM queue WHERE due_at < ${DEPTH - 1000}`)
      await run('VACUUM queue')
    }
    if (state !== 'without statistics')
      for (const table of ['queue', 'recipient_rows', 'emails', 'bodies']) await run(`ANALYZE ${table}`)
    for (const mode of ['force_custom_plan', 'force_generic_plan'])
      for (const [name, { text, values }] of Object.entries(statements)) {
        await run(`SET plan_cache_mode = ${mode}`)
        await run(`DEALLOCATE ALL; PREPARE it AS ${statementOf(text).text}`)
        const { rows } = await run(
          `EXPLAIN EXECUTE it${values.length > 0 ? `(${values.map(literal).join()})` : ''}`,
        )
        const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
        const what = `${name}, ${mode}, ${state}`
        t.notMatch(plan, /Seq Scan on (?:queue|recipient_rows|emails|bodies)/, what)
        // workspaces are put in order, and not what waits
        t.notMatch(plan, /Sort Key: (?!workspaces)/, what)
        if (process.env.SHOW) t.comment(`${what}\n${plan}`)
      }
  }
})
