/** Pages of GET /v1/emails with a few mails and with many, over HTTP, asked in turns on one machine. */
import { Agent, get } from 'node:http'
import { join } from 'node:path'
import type { Database as Connection } from 'better-sqlite3'
import { newId, newRecipientId } from '../../../src/base/id.js'
import { after, dayStart } from '../../../src/store/sql/pages.js'
import { Database } from '../../../src/store/sqlite/connect.js'
import { openSqliteStore } from '../../../src/store/sqlite/open.js'
import { Postern } from '../../parts/postern.js'
import { mailFor, toOne } from '../../store/fixture.js'
import { atMost } from '../goals.js'
import { now, percentile } from '../load.js'

const FEW = 1_000
const AT_ONCE = 200
const REQUESTS = 500
const DAY = 86_400_000
const LATER = 365 * DAY
/** Less than mail is kept by default. */
const SPAN = 80 * DAY

/** Adds mails to a daemon that is stopped: scheduled ones, which lie still, or with null such as wait for an upstream. */
export const fill = async (postern: Postern, count: number, later: number | null = LATER): Promise<void> => {
  const store = openSqliteStore({ dataDir: join(postern.dir, 'data'), daemon: true })
  await store.open()
  const [account] = await store.accounts()
  const workspace = account && (await store.workspace(account.id, 'default'))
  const pool = account && (await store.pool(account.id, 'default'))
  if (!account || !workspace || !pool) throw new Error('a fresh database lacks its first rows')
  const place = { accountId: account.id, workspace, poolId: pool.id }
  for (let made = 0; made < count; made += AT_ONCE) {
    const at = Date.now()
    const mails = Array.from({ length: Math.min(AT_ONCE, count - made) }, (_, i) =>
      mailFor(place, {
        createdAt: at,
        scheduledAt: later === null ? null : at + later,
        recipients: [toOne(`u${made + i}@dest.test`)],
      }),
    )
    await store.accept({ mails, idempotency: null, now: at })
  }
  await store.close()
}

type Row = Record<string, unknown>

const inserter = (db: Connection, table: string, row: Row): ((changed: Row) => unknown) => {
  // columns that SQLite makes are hidden ones
  const columns = db.pragma(`table_xinfo(${table})`) as { name: string; hidden: number }[]
  const names = columns.filter(({ hidden }) => hidden === 0).map(({ name }) => name)
  const sql = db.prepare(
    `INSERT INTO ${table} (${names.join()}) VALUES (${names.map((name) => `@${name}`).join()})`,
  )
  return (changed) => sql.run({ ...row, ...changed })
}

/** Many more like the newest, over the days before: rows of the lists and of the queue, without bodies and events. */
export const swell = (postern: Postern, count: number): void => {
  const db = new Database(join(postern.dir, 'data', 'postern.db'))
  db.pragma('synchronous = OFF')
  db.pragma('cache_size = -400000')
  const email = db.prepare('SELECT * FROM emails ORDER BY ord DESC LIMIT 1').get() as Row
  const recipient = db.prepare('SELECT * FROM recipients WHERE email_ord = ?').get(email.ord) as Row
  const addEmail = inserter(db, 'emails', {
    ...email,
    status: 'delivered',
    scheduled: 0,
    queued: 0,
    delivered: 1,
  })
  const addRecipient = inserter(db, 'recipients', { ...recipient, status: 'delivered', due_at: null })
  const began = Date.now() - SPAN
  let ord = 1
  for (let made = 0; made < count; ) {
    db.transaction(() => {
      for (const end = Math.min(count, made + 100_000); made < end; made++) {
        const at = began + Math.floor((made / count) * (SPAN - DAY))
        ord = after(ord, at)
        const id = newId('em', at)
        const address = `u${made % 100_000}@dest.test`
        addEmail({ ord, id, created_at: at, updated_at: at, message: `<${id}@x.test>` })
        addRecipient({
          id: newRecipientId(at),
          email_ord: ord,
          address,
          address_lc: address,
          queued_at: at,
        })
      }
    })()
  }
  db.exec(`INSERT OR IGNORE INTO email_days SELECT DISTINCT ord / ${dayStart(1)}, 1024, 1024 FROM emails`)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
}

const ask = (agent: Agent, url: string, key: string): Promise<void> =>
  new Promise((resolve, reject) => {
    get(url, { agent, headers: { authorization: `Bearer ${key}` } }, (answer) => {
      answer.resume()
      answer.once('end', () =>
        answer.statusCode === 200 ? resolve() : reject(new Error(`${url} answered ${answer.statusCode}`)),
      )
    }).once('error', reject)
  })

interface Side {
  readonly postern: Postern
  readonly key: string
  readonly agent: Agent
  readonly deep: string
  /** When a day began that has mail. */
  readonly day: number
}

const open = async (postern: Postern, day: number): Promise<Side> => {
  await postern.start()
  const key = await postern.key()
  let cursor = ''
  // as deep as both sides go
  for (let i = 0; i < 8; i++) {
    const path = `/v1/emails?limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`
    cursor = (await postern.api('GET', path, key)).body.pagination.next_cursor
  }
  return {
    postern,
    key,
    agent: new Agent({ keepAlive: true, maxSockets: 1 }),
    deep: `?limit=100&cursor=${cursor}`,
    day,
  }
}

/** Milliseconds of each request, the sides in turns, so that the machine's moods meet both. */
const measure = async (
  sides: readonly Side[],
  query: (side: Side) => string,
): Promise<readonly number[][]> => {
  const times: number[][] = sides.map(() => [])
  for (let i = 0; i < REQUESTS + 100; i++) {
    // whoever is asked second finds the machine warmer, or busier: they change places
    const order = [...sides.entries()]
    if (i % 2 === 1) order.reverse()
    for (const [at, side] of order) {
      const began = now()
      await ask(side.agent, `${side.postern.url}/v1/emails${query(side)}`, side.key)
      if (i >= 100) times[at]?.push(now() - began)
    }
  }
  return times
}

const timeText = (at: number): string => new Date(at).toISOString()

const PAGES: readonly (readonly [name: string, query: (side: Side) => string])[] = [
  ['first page', () => ''],
  ['page behind a cursor', ({ deep }) => deep],
  ['status=scheduled', () => '?status=scheduled'],
  ['to=', () => '?to=u77@dest.test'],
  ['the last day', () => `?created_after=${timeText(Date.now() - DAY / 2)}`],
  ['a day with mail', ({ day }) => `?created_after=${timeText(day)}&created_before=${timeText(day + DAY)}`],
]

export const pagesBench = async (rows: number): Promise<void> => {
  const both = [new Postern(), new Postern()] as const
  for (const postern of both) {
    await postern.start()
    await postern.stop()
    await fill(postern, FEW)
  }
  const began = now()
  swell(both[1], rows - FEW)
  console.log(
    `\nGET /v1/emails, medians of ${REQUESTS} (${rows} rows made in ${Math.round((now() - began) / 1e3)} s)`,
  )
  const sides = [await open(both[0], Date.now() - DAY / 2), await open(both[1], Date.now() - SPAN / 2)]
  for (const [name, query] of PAGES) {
    const [few = [], many = []] = await measure(sides, query)
    const ratio = percentile(many, 0.5) / percentile(few, 0.5)
    const shown = (times: readonly number[]) =>
      `${percentile(times, 0.5).toFixed(2)} ms (p99 ${percentile(times, 0.99).toFixed(1)})`
    console.log(
      `    ${name.padEnd(22)} ${rows} rows beside ${FEW}   x${ratio.toFixed(2)}   ${atMost(1.5, ratio)}   ${shown(many)} beside ${shown(few)}`,
    )
  }
  for (const { agent } of sides) agent.destroy()
  for (const postern of both) await postern.remove()
}
