/**
 * PostgreSQL beside SQLite, at the store: accepting, settling, a whole life, claiming among few and among very many, moving.
 * CPU is that of this process and of the server; both on one machine, fsync on.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newId, newRecipientId } from '../../../src/base/id.js'
import type { Claimed, NewEmail } from '../../../src/lifecycle/facts.js'
import { moveStore } from '../../../src/store/open.js'
import type { Store } from '../../../src/store/port/store.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { openSqliteStore } from '../../../src/store/sqlite/open.js'
import { DatabaseProxy } from '../../parts/database-proxy.js'
import { noPostgres, type Postgres, postgres } from '../../parts/postgres.js'
import { mailFor, newAccount, ofLease, type TestAccount, toOne } from '../../store/fixture.js'
import { atLeast, atMost } from '../goals.js'
import { cpuSeconds, median, now } from '../load.js'

const CALLERS = 50
const SIZE = 5 * 1024
const ROUND = 100

/** Text that compresses as text does. */
const RAW = Buffer.from(
  Array.from(
    { length: SIZE / 16 },
    (_, i) => `line ${((i * 7919) % 9973).toString(36).padStart(9, 'x')}\n`,
  ).join(''),
)

const mailOf = (at: TestAccount): NewEmail =>
  mailFor(at, {
    ...{ id: newId('em'), raw: RAW, createdAt: Date.now() },
    recipients: [toOne('ana@example.com', { id: newRecipientId() })],
  })

interface Figure {
  /** Mails a second. */
  readonly rate: number
  /** Microseconds a mail, of this process and of the server. */
  readonly client: number
  readonly server: number
}

const measured = async (server: Postgres, work: () => Promise<number>): Promise<Figure> => {
  const [cpu, of, from] = [process.cpuUsage(), cpuSeconds(server.pid), now()]
  const mails = await work()
  const seconds = (now() - from) / 1000
  const { user, system } = process.cpuUsage(cpu)
  return {
    rate: mails / seconds,
    client: (user + system) / mails,
    server: ((cpuSeconds(server.pid) - of) * 1e6) / mails,
  }
}

const inEach = async (count: number, work: () => Promise<unknown>): Promise<number> => {
  let left = count
  const caller = async () => {
    while (left-- > 0) await work()
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return count
}

const accepting = (store: Store, at: TestAccount, count: number): Promise<number> =>
  inEach(count, () => store.accept({ mails: [mailOf(at)], idempotency: null, now: Date.now() }))

/** Claimed, marked and settled, until so many are done. */
const sending = async (store: Store, at: TestAccount, count: number): Promise<number> => {
  let done = 0
  while (done < count) {
    const claimed = await store.claim(at.poolId, ROUND, Date.now() + 3600_000, Date.now())
    if (claimed.length === 0) break
    const at0 = Date.now()
    await store.attempting(
      claimed.map((one) => ({ ...one, attempt: one.attempts + 1, upstreamId: 'up_1', at: at0 })),
    )
    await store.settle(claimed.map((one) => ofLease(one, { at: at0 })))
    done += claimed.length
  }
  return done
}

const claimAll = async (store: Store, at: TestAccount): Promise<Claimed[]> => {
  const claimed: Claimed[] = []
  for (;;) {
    const some = await store.claim(at.poolId, ROUND, Date.now() + 3600_000, Date.now())
    if (some.length === 0) return claimed
    claimed.push(...some)
  }
}

/** Outcomes of what is leased, one by one, as a relay has them. */
const settling = (store: Store, claimed: Claimed[]): Promise<number> =>
  inEach(claimed.length, async () => {
    const one = claimed.pop()
    if (one !== undefined) await store.settle([ofLease(one, { at: Date.now() })], true)
  })

const say = (name: string, { rate, client, server }: Figure): void =>
  console.log(
    `    ${name.padEnd(34)} ${rate.toFixed(0).padStart(6)}/s   ${client.toFixed(0).padStart(5)} + ${server.toFixed(0)} us CPU a mail`,
  )

type Opened = { readonly store: Store; readonly at: TestAccount; close(): Promise<void> }

const opened = async (store: Store, gone: () => void): Promise<Opened> => {
  await store.open()
  const close = async () => {
    await store.close()
    gone()
  }
  return { store, at: await newAccount(store), close }
}

const folder = (): string => mkdtempSync(join(tmpdir(), 'postern-bench-'))

const sqlite = (): Promise<Opened> => {
  const dataDir = folder()
  return opened(openSqliteStore({ dataDir, daemon: true }), () =>
    rmSync(dataDir, { recursive: true, force: true }),
  )
}

type Work = (store: Store, at: TestAccount, count: number) => Promise<number>

/** `prepare` is not measured. */
const figures = async (
  server: Postgres,
  runs: number,
  count: number,
  prepare: (store: Store, at: TestAccount, count: number) => Promise<() => Promise<number>>,
) => {
  const found: Record<'sqlite' | 'postgres', Figure[]> = { sqlite: [], postgres: [] }
  for (let run = 0; run < runs; run++)
    for (const name of ['sqlite', 'postgres'] as const) {
      const one = await (name === 'sqlite'
        ? sqlite()
        : opened(openPostgresStore({ urls: server.database() }), () => {}))
      await accepting(one.store, one.at, Math.ceil(count / 6)) // warm
      const work = await prepare(one.store, one.at, count)
      found[name].push(await measured(server, work))
      await one.close()
    }
  const middle = (of: readonly Figure[]): Figure => ({
    rate: median(of.map(({ rate }) => rate)),
    client: median(of.map(({ client }) => client)),
    server: median(of.map(({ server }) => server)),
  })
  return { sqlite: middle(found.sqlite), postgres: middle(found.postgres) }
}

const compare = (
  name: string,
  { sqlite, postgres }: Awaited<ReturnType<typeof figures>>,
  hasGoal: boolean,
): void => {
  say(`${name}, SQLite`, sqlite)
  say(`${name}, PostgreSQL`, postgres)
  const rate = postgres.rate / sqlite.rate
  const cpu = (postgres.client + postgres.server) / (sqlite.client + sqlite.server)
  console.log(
    `    rate x${rate.toFixed(2)}   ${hasGoal ? atLeast(0.5, rate) : ''}   CPU x${cpu.toFixed(2)}   ${hasGoal ? atMost(2, cpu) : ''}`,
  )
}

/** Mail that waits, as one that was accepted, in as many copies. */
const COPIES = `
CREATE TEMP TABLE one AS SELECT * FROM emails LIMIT 1; ALTER TABLE one DROP COLUMN message_id;
INSERT INTO emails (SELECT_COLUMNS) SELECT_EMAILS FROM one, generate_series(1, N) AS i;
INSERT INTO recipient_rows SELECT 'rcp_' || lpad(i::text, 26, '0'), r.email_ord + i, r.workspace, r.pool, r.kind, r.status, r.attempts,
  r.last_gen, r.updated_at, r.queued_at, r.deadline, r.written, r.address_lc, r.notify, r.orcpt, r.last_response, r.reason, r.first
  FROM (SELECT * FROM recipient_rows LIMIT 1) r, generate_series(1, N) AS i;
INSERT INTO queue (recipient_id, email_ord, workspace, pool, gen, due_at)
  SELECT 'rcp_' || lpad(i::text, 26, '0'), r.email_ord + i, r.workspace, r.pool, 0, r.queued_at + i
  FROM (SELECT * FROM recipient_rows LIMIT 1) r, generate_series(1, N) AS i;
ANALYZE`

/** One mail more than `queued` waits. */
const fillQueue = (server: Postgres, database: string, queued: number): void => {
  const columns = server
    .sql(
      database,
      "SELECT string_agg(column_name, ',') FROM information_schema.columns WHERE table_name = 'emails' AND is_generated = 'NEVER'",
    )
    .split(',')
  const made: Readonly<Record<string, string>> = { id: "'em_' || lpad(i::text, 26, '0')", ord: 'ord + i' }
  server.sql(
    database,
    COPIES.replace('SELECT_COLUMNS', columns.join(', '))
      .replace('SELECT_EMAILS', `SELECT ${columns.map((name) => made[name] ?? name).join(', ')}`)
      .replaceAll('N)', `${queued})`),
  )
}

const claiming = async (server: Postgres, queued: number, count: number): Promise<Figure> => {
  const urls = server.database()
  const { store, at, close } = await opened(openPostgresStore({ urls }), () => {})
  await accepting(store, at, 1)
  fillQueue(server, new URL(urls).pathname.slice(1), queued)
  await sending(store, at, ROUND * 2)
  const figure = await measured(server, () => sending(store, at, count))
  await close()
  return figure
}

const moving = async (server: Postgres, rows: number): Promise<void> => {
  const dataDir = folder()
  const { store, at, close } = await opened(openSqliteStore({ dataDir, daemon: true }), () => {})
  for (let made = 0; made < rows; made += ROUND)
    await store.accept({
      mails: Array.from({ length: ROUND }, () => mailOf(at)),
      idempotency: null,
      now: Date.now(),
    })
  await close()
  const urlFile = join(dataDir, 'url')
  writeFileSync(urlFile, server.database(), { mode: 0o600 })
  const figure = await measured(server, async () => {
    await moveStore({ dataDir, urlFile, version: '', say: () => {} })
    return rows
  })
  say(`moving ${rows} mails`, figure)
  const minutes = 1e6 / figure.rate / 60
  console.log(`    1,000,000 would take ${minutes.toFixed(1)} min   ${atMost(10, minutes, ' min')}`)
  rmSync(dataDir, { recursive: true, force: true })
}

const ROUND_TRIPS = [0, 1, 5, 20]

/** What 50 callers get, each a count, a key and a mail: how long one takes, and what counting and claiming add to it. */
const far = async (server: Postgres, count: number): Promise<void> => {
  for (const roundTrip of ROUND_TRIPS) {
    const proxy = await new DatabaseProxy(server.port, roundTrip).start()
    const urls = server.database().replace(`:${server.port}/`, `:${proxy.port}/`)
    const { store, at, close } = await opened(openPostgresStore({ urls }), () => {})
    const keyed = (work: (n: number) => Promise<unknown>): Promise<number> => {
      let n = 0
      return inEach(count, () => work(n++))
    }
    const workspaceId = at.workspace.id
    const claimOf = (run: string, n: number, now: number) => ({
      ...{ workspaceId, mode: 'live' as const, key: `${run}${n}`, token: `${run}${n}`, fingerprint: 'f' },
      ...{ now, lockedUntil: now + 60_000 },
    })
    const works: Readonly<Record<string, (run: string) => (n: number) => Promise<unknown>>> = {
      accept: () => () => store.accept({ mails: [mailOf(at)], idempotency: null, now: Date.now() }),
      'counted, with a key': (run) => async (n) => {
        const now = Date.now()
        await store.consume('key_1', 1, 1, 1e9)
        const claim = claimOf(run, n, now)
        await store.claimKey(claim)
        const idempotency = { ...claim, status: 202, body: '{}' }
        await store.accept({ mails: [mailOf(at)], idempotency, now })
      },
    }
    const took: number[] = []
    for (const [name, work] of Object.entries(works)) {
      await keyed(work(`w${name}`))
      const figure = await measured(server, () => keyed(work(name)))
      took.push((CALLERS * 1000) / figure.rate)
      say(`${roundTrip} ms to the database: ${name}`, figure)
    }
    const [alone = 0, whole = 0] = took
    console.log(`    one mail ${alone.toFixed(0)} ms, counted and with a key ${whole.toFixed(0)} ms`)
    await close()
    proxy.stop()
  }
}

export const postgresBench = async (
  runs: number,
  count: number,
  rows: number,
  queued: number,
): Promise<void> => {
  const why = noPostgres()
  if (why !== false) return console.log(`no PostgreSQL: ${why}`)
  const server = await postgres()
  console.log(
    `PostgreSQL beside SQLite: ${CALLERS} callers, mails of ${SIZE / 1024} KB, ${runs} runs of ${count}`,
  )
  const atOnce = (work: Work) => (store: Store, at: TestAccount, n: number) =>
    Promise.resolve(() => work(store, at, n))
  const leased = async (store: Store, at: TestAccount, n: number) => {
    await accepting(store, at, n)
    const claimed = await claimAll(store, at)
    return () => settling(store, claimed)
  }
  compare('accept', await figures(server, runs, count, atOnce(accepting)), true)
  compare('settle', await figures(server, runs, count, leased), false)
  await far(server, count)
  await moving(server, rows)
  const life: Work = async (store, at, n) => {
    await accepting(store, at, n)
    return sending(store, at, n)
  }
  compare('a whole life', await figures(server, runs, count, atOnce(life)), false)
  const few = await claiming(server, 20_000, count)
  say('claimed and sent, 20000 wait', few)
  if (queued <= 20_000) return
  const many = await claiming(server, queued, count)
  say(`claimed and sent, ${queued} wait`, many)
  const ratio = (many.client + many.server) / (few.client + few.server)
  console.log(`    CPU x${ratio.toFixed(2)}   ${atMost(1.5, ratio)}`)
}
