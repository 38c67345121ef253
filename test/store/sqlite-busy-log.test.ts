/** What the log shows of an address with thousands of mails, of notes and of appointments is what a walk over all of it finds. */
import t from 'tap'
import { matcherOf } from '../../src/http/feed.js'
import type { Outcome } from '../../src/lifecycle/facts.js'
import type { LogFilter, LogRow } from '../../src/store/port/log.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { logFilter } from './contract-log.js'
import { mailFor, newAccount, page, report, T0, toOne } from './fixture.js'

const BUSY = 'archive@acme.test'
const MAILS = 4_200
const BATCH = 300

t.test('a busy address', async (t) => {
  const store = openSqliteStore({ dataDir: t.testdir(), daemon: true })
  await store.open()
  t.teardown(() => store.close())
  const at = await newAccount(store)
  const began = (await store.logEnds()).newest
  let late: Outcome[] = []
  for (let n = 0; n < MAILS; n += BATCH) {
    const mails = Array.from({ length: BATCH }, (_, i) =>
      mailFor(at, {
        mode: i % 3 === 0 ? 'test' : 'live',
        scheduledAt: i % 100 === 0 ? T0 + 1000 : null,
        recipients: [toOne(`u${i}@example.com`), toOne(BUSY, { kind: 'bcc' })],
      }),
    )
    await store.accept({ mails, idempotency: null, now: T0 })
    const people = mails.flatMap(({ recipients }) => recipients)
    // what is told of a mail comes after mails that are younger
    await store.settle(late)
    late = people.flatMap(({ id }, i) => [
      report(id, { seen: i % 50 === 1 ? 'dsn-failed' : 'dsn-delivered' }),
      ...(i % 40 === 1 ? [report(id, { seen: 'dsn-delayed' })] : []),
    ])
  }
  await store.settle(late)

  const walk = async (filter: LogFilter, limit: number): Promise<LogRow[]> => {
    const rows: LogRow[] = []
    for (let anchor: string | null = null; ; ) {
      const got = await store.log(filter, page({ limit, anchor }))
      rows.push(...got.rows)
      if (!got.hasOlder) return rows
      anchor = got.older
    }
  }
  const follow = async (filter: LogFilter, limit: number): Promise<LogRow[]> => {
    const rows: LogRow[] = []
    for (let mark = began; ; ) {
      const got = await store.follow(filter, mark, limit)
      if (got === 'gone') throw new Error('gone')
      rows.push(...got.rows)
      if (got.isEnd) return rows.reverse()
      mark = got.mark
    }
  }
  const ids = (rows: readonly LogRow[]): string => rows.map(({ id }) => id).join(' ')
  const all = await walk(logFilter(at), 1_000)
  for (const over of [
    { recipient: BUSY },
    { recipient: BUSY, mode: 'test' },
    { recipient: BUSY, change: false },
    { recipient: BUSY, types: ['email.bounced', 'email.queued'] },
    { recipient: BUSY, types: ['email.scheduled'] },
    { recipient: 'u7@example.com' },
    { recipient: BUSY, emailId: all[5]?.emailId ?? '' },
    { change: false },
    { types: ['email.scheduled'] },
    { types: ['email.scheduled', 'email.queued'], mode: 'test' },
  ] as const) {
    const filter = logFilter(at, over)
    const wanted = all.filter(matcherOf(filter))
    const name = JSON.stringify(over)
    t.not(wanted.length, 0, name)
    t.ok(ids(await walk(filter, 333)) === ids(wanted), `${name}, back`)
    t.ok(ids(await follow(filter, 333)) === ids(wanted), `${name}, on`)
    const counted = await store.log(filter, page({ limit: 1, countUpTo: 100_000 }))
    t.equal(counted.total, wanted.length, `${name}, counted`)
  }
})
