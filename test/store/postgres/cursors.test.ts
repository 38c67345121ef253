/** Three writers whose clocks differ and whose commits are late: who pages and who follows sees each row once. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { LogFilter } from '../../../src/store/port/log.js'
import type { Store } from '../../../src/store/port/store.js'
import { type Connection, connect } from '../../../src/store/postgres/connection.js'
import { createLeased } from '../../../src/store/postgres/leased.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { queueVerbs } from '../../../src/store/postgres/queue.js'
import { createReaders } from '../../../src/store/postgres/readers.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import { joinAsWriter } from '../../../src/store/postgres/writer.js'
import { eventually } from '../../parts/eventually.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { filterOf, follow, mailFor, newAccount, page, type TestAccount } from '../fixture.js'

const MAILS = 60
const LIMITS = [1, 7, 100]
const SKEWS = [-4, 0, 3]

/** One that stores mail; what it sends after it has given places arrives late. */
const lateWriter = async (t: Test, url: string, skew: number) => {
  const open = async (): Promise<Connection> => {
    const connection = await connect(serversOf(url), 'cursors-test')
    return {
      ...connection,
      get isLost() {
        return connection.isLost
      },
      async query(query) {
        if (query.text.includes('INTO emails') || query.text === 'COMMIT') await sleep(Math.random() * 40)
        return connection.query(query)
      },
    }
  }
  const writer = await joinAsWriter(`writer ${skew}`, open, () => Date.now() + skew)
  const readers = createReaders(open)
  t.teardown(async () => {
    await writer.leave()
    await readers.close()
  })
  const { accept } = queueVerbs(writer, readers, createLeased(), (error) => {
    throw error
  })
  return {
    writer,
    async store(at: TestAccount, n: number): Promise<void> {
      const now = Date.now() + skew
      const mail = mailFor(at, { createdAt: now, subject: `${skew} ${n}` })
      await accept({ mails: [mail], idempotency: null, now })
    },
  }
}

interface Poller {
  readonly name: string
  readonly seen: string[]
  poll(): Promise<void>
}

const pagePoller = (store: Store, at: TestAccount, limit: number): Poller => {
  const seen: string[] = []
  let anchor: string | null = null
  return {
    ...{ name: `pages of ${limit}`, seen },
    async poll() {
      // from the first page on, which is empty
      const direction = anchor === null ? 'older' : 'newer'
      const found = await store.emails(filterOf(at), page({ limit, direction, anchor }))
      seen.push(...found.rows.map(({ id }) => id).reverse())
      anchor = found.newer
    },
  }
}

const follower = (store: Store, filter: LogFilter | null, limit: number): Poller => {
  const seen: string[] = []
  let mark: string | null = null
  return {
    ...{ name: `follower of ${limit}`, seen },
    async poll() {
      const found = await follow(store, filter, mark, limit)
      if (found === 'gone') throw new Error('the mark is gone')
      for (const { emailId } of found.rows) if (emailId !== null) seen.push(emailId)
      mark = found.mark
    },
  }
}

/** By the ids, which rise with the time: the control. */
const byIds = (connection: Connection): Poller => {
  const seen: string[] = []
  return {
    ...{ name: 'by the ids', seen },
    async poll() {
      const text = 'SELECT id FROM emails WHERE id > ? ORDER BY id LIMIT 7'
      const { rows } = await connection.query({ text, values: [seen.at(-1) ?? ''] })
      seen.push(...rows.map(({ id }) => id as string))
    },
  }
}

const run = async (
  t: Test,
): Promise<readonly { readonly poller: Poller; readonly all: readonly string[] }[]> => {
  const url = await (await postgres()).withTables()
  const store = openPostgresStore({ urls: url })
  await store.open()
  const connection = await connect(serversOf(url), 'cursors-test')
  t.teardown(async () => {
    await connection.close()
    await store.close()
  })
  const at = await newAccount(store)
  const writers = await Promise.all(SKEWS.map((skew) => lateWriter(t, url, skew)))
  const pollers = [
    ...LIMITS.flatMap((limit) => [pagePoller(store, at, limit), follower(store, null, limit)]),
    byIds(connection),
  ]
  for (const poller of pollers) await poller.poll()
  let isOver = false
  const polling = pollers.map(async (poller) => {
    while (!isOver) {
      await poller.poll()
      await sleep(Math.random() * 10)
    }
  })
  await Promise.all(
    writers.map(async (writer) => {
      for (let n = 0; n < MAILS; n += 2) await Promise.all([writer.store(at, n), writer.store(at, n + 1)])
    }),
  )
  await Promise.all(writers.map(({ writer }) => writer.leave()))
  const { rows } = await connection.query({ text: 'SELECT id FROM emails', values: [] })
  const all = rows.map(({ id }) => id as string)
  await eventually('the followers come to the end', () =>
    pollers.filter(({ name }) => name !== 'by the ids').every(({ seen }) => seen.length >= all.length),
  )
  isOver = true
  await Promise.all(polling)
  return pollers.map((poller) => ({ poller, all }))
}

t.test('each row once', { skip: noPostgres() }, async (t) => {
  const found = await run(t)
  for (const { poller, all } of found) {
    const { name, seen } = poller
    if (name === 'by the ids') t.ok(seen.length < all.length, `${name}: ${all.length - seen.length} are lost`)
    else t.same([...seen].sort(), [...all].sort(), name)
  }
})
