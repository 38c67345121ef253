/**
 * What a mail costs the server does not grow with the keys of a day or with the writers that can be: no statement of a mail
 * reads either from end to end, though plans were made while there was nothing in them and nobody counts the rows anew.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import {
  connectPostgresStore,
  openPostgresStore,
  sharePostgresStore,
} from '../../../src/store/postgres/open.js'
import { eventually } from '../../parts/eventually.js'
import { noPostgres, Postgres } from '../../parts/postgres.js'
import { mailFor, newAccount, T0 } from '../fixture.js'
import { EXPLAINED, plansIn, rowsRead } from './plans.js'

const KEYS = 20_000
const CALLERS = 30

t.test('a mail reads what is its own', { skip: noPostgres() }, async (t) => {
  const cluster = await new Postgres().start({ autovacuum: 'off', ...EXPLAINED })
  t.teardown(() => cluster.stop('fast'))
  const urls = await cluster.withTables()
  const doors = openPostgresStore({ urls, lock: () => ({ owner: 'own', unlock() {} }) })
  t.teardown(() => doors.close())
  await doors.open()
  const relay = await connectPostgresStore(sharePostgresStore(doors, 'relay'))
  t.teardown(() => relay.close())
  let hot = 0
  relay.onLeased((claimed) => {
    hot += claimed.length
  })
  const at = await newAccount(doors)
  let sent = 0
  const send = async (): Promise<void> => {
    const place = { workspaceId: at.workspace.id, mode: 'live', key: `k${sent++}`, token: 't' } as const
    await doors.claimKey({ ...place, fingerprint: 'f', now: T0, lockedUntil: T0 + 60_000 })
    const idempotency = { ...place, status: 202, body: '{}' }
    await doors.accept({ mails: [mailFor(at)], idempotency, now: T0 })
  }
  const crowd = () => Promise.all(Array.from({ length: CALLERS }, send))
  await eventually('mail is handed over', async () => {
    await send()
    return hot > 0
  })
  // as often as it takes until a plan is kept
  for (let i = 0; i < 8; i++) await send()
  await crowd()
  cluster.sql(
    urls.split('/').at(-1) ?? '',
    `INSERT INTO idempotency (workspace, test, key, fingerprint, token, locked_until)
     SELECT workspace, 0, 'other' || i, 'f', 't', 0 FROM generate_series(1, ${KEYS}) AS i,
       (SELECT workspace FROM idempotency LIMIT 1) AS w`,
  )
  const log = (): string => readFileSync(join(cluster.dir, 'log'), 'utf8')
  const before = log().length
  const handedOver = hot
  for (let i = 0; i < 3; i++) await crowd()
  const plans = plansIn(log().slice(before))
  const asked = (words: string) => plans.filter(({ 'Query Text': text }) => text.includes(words))
  const accepts = asked('INSERT INTO bodies')
  t.ok(hot > handedOver, 'what is hot looks for its relay')
  for (const { Plan } of accepts) t.ok(rowsRead(Plan, 'writers') <= 2 * 256, 'writers: once a batch')
  const keyed = [...accepts, ...asked('INSERT INTO idempotency')]
  t.ok(accepts.length > 0 && keyed.length > accepts.length)
  for (const { Plan, 'Query Text': text } of keyed) {
    const rows = rowsRead(Plan, 'idempotency')
    t.ok(rows <= 4 * CALLERS, `${rows} keys are read by ${text.trim().slice(0, 60)}`)
  }
})
