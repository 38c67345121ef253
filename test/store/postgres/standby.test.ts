/** A primary and its standby: what a failover loses is told, with a synchronous standby it loses nothing. */
import t, { type Test } from 'tap'
import { createLog } from '../../../src/base/log.js'
import type { Store } from '../../../src/store/port/store.js'
import { examineServer } from '../../../src/store/postgres/begin.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { eventually } from '../../parts/eventually.js'
import { noPostgres, Postgres } from '../../parts/postgres.js'
import { HOUR, mailFor, newAccount, ofLease, T0, timeline } from '../fixture.js'

const skip = noPostgres()

const pair = async (t: Test) => {
  const primary = await new Postgres().start()
  const [first = '', name = ''] = [primary.database()].flatMap((url) => [url, url.split('/').at(-1)])
  const standby = await new Postgres(primary).start()
  t.teardown(() => Promise.all([primary.stop('immediate'), standby.stop('immediate')]))
  const has = (sql: string, what: string) =>
    eventually(`the standby has ${what}`, () => {
      try {
        return standby.sql(name, sql) === what
      } catch {
        return false
      }
    })
  return { primary, standby, name, urls: `${first}\n${standby.url(name)}\n`, has }
}

/** A store, and the lines of its log that tell of a database that was put back. */
const opened = async (t: Test, urls: string) => {
  const told: object[] = []
  const log = createLog('fatal', { write: (line: string) => void told.push(JSON.parse(line)) })
  const store = openPostgresStore({ urls, log })
  t.teardown(() => store.close())
  await store.open()
  return { store, told }
}

type At = Awaited<ReturnType<typeof newAccount>>

const accept = (store: Store, at: At, submittedBy: string | null = null) => {
  const mail = { ...mailFor(at), submittedBy }
  return store
    .accept({ mails: [mail], idempotency: null, now: T0 })
    .then((answer) => ({ answer, id: mail.id }))
}
const acceptMany = async (store: Store, at: At, n: number, by: string | null = null) => {
  for (let i = 0; i < n; i++)
    if ((await accept(store, at, by)).answer !== 'accepted') throw new Error('not accepted')
}
const again = (store: Store, at: At, by: string | null = null) =>
  eventually('mail is taken again', () => accept(store, at, by).catch(() => null))

t.test('a failover that lost what came last', { skip }, async (t) => {
  const { primary, standby, name, urls, has } = await pair(t)
  const early = await opened(t, urls)
  const at = await newAccount(early.store)
  await acceptMany(early.store, at, 20, 'key_early')
  const leased = await early.store.claim(at.poolId, 3, T0 + HOUR, T0)
  const [begun] = leased as [(typeof leased)[0]]
  await early.store.attempting([{ ...begun, attempt: 1, upstreamId: 'up_1', at: T0 }])
  await has('SELECT count(*), count(attempting) FROM queue WHERE boot IS NOT NULL', '3|1')
  await standby.stop('fast')

  await early.store.settle(leased.map((one) => ofLease(one)))

  await acceptMany(early.store, at, 10, 'key_tail')
  const late = await opened(t, urls)
  await acceptMany(late.store, at, 5, 'key_tail')
  const last = Number(primary.sql(name, 'SELECT max(ord) FROM emails'))
  const boots = primary.sql(name, 'SELECT boot FROM writers WHERE boot IS NOT NULL ORDER BY n')
  await primary.stop('immediate')
  await standby.start()
  standby.promote()

  for (const { store, told } of [early, late]) {
    await again(store, at, 'key_tail')
    t.match(told, [{ level: 'fatal', msg: 'the database was put back', lost_ms: Number }])
    t.equal(told.length, 1, 'once')
    t.equal(store.cluster().putBacks, 1)
  }
  t.equal(standby.sql(name, 'SELECT count(*) FROM emails'), '22', 'what was acknowledged last is gone')
  t.equal(standby.sql(name, `SELECT count(*) FROM emails WHERE ord > ${last}`), '2', 'no place twice')
  t.equal(
    standby.sql(
      name,
      'SELECT s.id, count(*) FROM emails e JOIN submitters s ON s.n = e.submitter GROUP BY 1 ORDER BY 1',
    ),
    'key_early|20\nkey_tail|2',
    'numbers that are gone are not gone by',
  )
  t.equal(standby.sql(name, 'SELECT boot FROM writers WHERE boot IS NOT NULL ORDER BY n'), boots)
  t.match((await examineServer(urls)).putBack, { at: Number, lostMs: Number })

  // what it had settled is leased again in there, and it knows of no attempt
  await early.store.recover('earlier', T0 + HOUR)
  t.equal(standby.sql(name, 'SELECT count(*) FROM queue WHERE boot IS NOT NULL'), '0')
  t.match(await timeline(early.store, begun.emailId), ['queued', 'sent!'], 'who knows whether it was sent')
})

const inSyncWait = `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`

const makeSynchronous = async ({ primary }: { primary: Postgres }) => {
  primary.sql('postgres', "ALTER SYSTEM SET synchronous_standby_names = '*'")
  primary.sql('postgres', 'SELECT pg_reload_conf()')
  await eventually(
    'the standby is synchronous',
    () => primary.sql('postgres', 'SELECT sync_state FROM pg_stat_replication') === 'sync',
  )
}

t.test('a synchronous standby loses nothing', { skip }, async (t) => {
  const both = await pair(t)
  const { primary, standby, name, urls } = both
  await makeSynchronous(both)
  const { store, told } = await opened(t, urls)
  const at = await newAccount(store)
  const acknowledged: string[] = []
  let isOver = false
  const caller = async (): Promise<void> => {
    while (!isOver && acknowledged.length < 5000) {
      const done = await accept(store, at).catch(() => null)
      if (done?.answer === 'accepted') acknowledged.push(done.id)
    }
  }
  const callers = Promise.all(Array.from({ length: 8 }, caller))
  await eventually('a crowd is under way', () => acknowledged.length > 100)
  await primary.stop('immediate')
  standby.promote()
  const before = acknowledged.length
  await eventually('mail is taken again', () => acknowledged.length > before + 20)
  isOver = true
  await callers
  const stored = new Set(standby.sql(name, 'SELECT id FROM emails').split('\n'))
  t.same(
    acknowledged.filter((id) => !stored.has(id)),
    [],
    `all of ${acknowledged.length} are there`,
  )
  t.same(told, [])
  t.equal(store.cluster().putBacks, 0)
})

t.test('a wait for the standby that was broken off is no success', { skip }, async (t) => {
  const both = await pair(t)
  const { primary, standby, name, urls } = both
  await makeSynchronous(both)
  const { store, told } = await opened(t, urls)
  const at = await newAccount(store)
  await standby.stop('fast')
  const answers: unknown[] = []
  const done = accept(store, at).then(
    ({ answer }) => answers.push(answer),
    () => answers.push('refused'),
  )
  await eventually('its commit waits', () => primary.sql(name, inSyncWait) !== '0')
  primary.sql(name, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
  await eventually('it is in here', () => primary.sql(name, 'SELECT count(*) FROM emails') === '1')
  await eventually(
    'the next commit waits, or nobody waits for long',
    () => primary.sql(name, inSyncWait) !== '0' || answers.length > 0,
  )
  t.notMatch(answers, ['accepted'], 'which nobody was told')
  await standby.start()
  await done
  t.comment(`then ${String(answers[0])}`)
  const { id } = await again(store, at)
  t.equal(standby.sql(name, `SELECT count(*) FROM emails WHERE id = '${id}'`), '1')
  t.same(told, [])
})

t.test('a standby that is not promoted yet', { skip }, async (t) => {
  const { primary, standby, urls } = await pair(t)
  const { store, told } = await opened(t, urls)
  const at = await newAccount(store)
  await eventually('the standby has it', () => {
    const [sent, there] = [primary, standby].map((one, i) =>
      one.sql('postgres', i === 0 ? 'SELECT pg_current_wal_lsn()' : 'SELECT pg_last_wal_replay_lsn()'),
    )
    return sent === there
  })
  await primary.stop('immediate')
  const outage = { code: 'service.unavailable' }
  await Promise.all([
    t.rejects(accept(store, at), outage, 'an outage, and no fault of the settings'),
    t.rejects(async () => store.accounts(), outage),
  ])
  await t.rejects(openPostgresStore({ urls }).open(), { name: 'DatabaseAwayError' })
  const alone = openPostgresStore({ urls: urls.split('\n')[1] ?? '' })
  await t.rejects(alone.open(), { name: 'DatabaseRefusedError', message: /standby/ })
  standby.promote()
  t.equal((await again(store, at)).answer, 'accepted')
  t.ok(told.length <= 1)
})
