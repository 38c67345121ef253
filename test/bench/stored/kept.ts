/**
 * What a mail costs on the disk, and what accepting costs while old mail is removed. One daemon: mails settle in the
 * sandbox, are a minute old, and go, while others come at a steady pace; each accept is counted to the time in which
 * old mail went, or to the rest.
 */
import { join } from 'node:path'
import type { Database as Connection } from 'better-sqlite3'
import { Database } from '../../../src/store/sqlite/connect.js'
import { Postern } from '../../parts/postern.js'
import { accept } from '../events.js'
import { atMost } from '../goals.js'
import { now, percentile, sleep } from '../load.js'

const WAITING = 500
const PACE = 150
const AGE = 60_000
const LOOK_MS = 100
const FULL = Number.POSITIVE_INFINITY

const countOf = (db: Connection, table: string): number =>
  db.prepare(`SELECT count(*) FROM "${table}"`).pluck().get() as number

const rowsIn = (db: Connection): number =>
  (
    db
      .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'`)
      .pluck()
      .all() as string[]
  )
    .filter((name) => !name.startsWith('search'))
    .reduce((all, name) => all + countOf(db, name), 0)

/** Octets of each table with its indexes. */
const tablesIn = (db: Connection): ReadonlyMap<string, number> => {
  const pages = db
    .prepare(`SELECT coalesce(s.tbl_name, p.name) AS name, sum(p.pgsize) AS octets
      FROM dbstat p LEFT JOIN sqlite_schema s ON s.name = p.name GROUP BY 1`)
    .all() as { name: string; octets: number }[]
  return new Map(pages.map(({ name, octets }) => [name, octets]))
}

/** Who gets a report of each mail keeps that, too. */
const PURPOSES = { bodies: /^bodies$/, search: /^search/, reports: /^reports$/ }

const purposeOf = (table: string): string =>
  Object.entries(PURPOSES).find(([, names]) => names.test(table))?.[0] ?? 'history'

const untilSettled = async (db: Connection): Promise<void> => {
  const open = db
    .prepare(`SELECT count(*) FROM emails WHERE test = 1 AND status <> 'sent' AND status <> 'delivered'`)
    .pluck()
  while ((open.get() as number) > 0) await sleep(500)
}

/** Accepts at a steady pace until all older mail is gone. */
const whileRemoving = async (gateway: Postern, key: string, db: Connection): Promise<void> => {
  const until = Date.now()
  const old = db.prepare('SELECT count(*) FROM emails WHERE test = 1 AND created_at < ?').pluck()
  const all = old.get(until) as number
  const looks: { readonly at: number; readonly left: number }[] = []
  const took: { readonly at: number; readonly ms: number }[] = []
  const looking = setInterval(() => looks.push({ at: now(), left: old.get(until) as number }), LOOK_MS)
  while ((looks.at(-1)?.left ?? all) > 0)
    await accept(gateway.url, key, PACE, PACE, (ms) => took.push({ at: now(), ms }))
  clearInterval(looking)
  const from = looks.findLast(({ left }) => left === all)?.at ?? 0
  const to = looks.find(({ left }) => left === 0)?.at ?? FULL
  const during = took.filter(({ at }) => at > from && at <= to).map(({ ms }) => ms)
  const before = took.filter(({ at }) => at <= from).map(({ ms }) => ms)
  const [slow, calm] = [percentile(during, 0.99), percentile(before, 0.99)]
  console.log(
    `    ${all} mails removed in ${((to - from) / 1000).toFixed(1)} s; accept at ${PACE}/s meanwhile p99 ${slow.toFixed(1)} ms of ${during.length}, before p99 ${calm.toFixed(1)} ms of ${before.length}   x${(slow / calm).toFixed(2)}   ${atMost(1.2, slow / calm)}`,
  )
}

export const keptBench = async (count: number): Promise<void> => {
  const seconds = `${AGE / 1_000}s`
  const gateway = new Postern({
    rate_limit: { per_minute: 100_000_000 },
    retention: { bodies: seconds, emails: seconds },
  })
  await gateway.start()
  const db = new Database(join(gateway.dir, 'data', 'postern.db'), { readonly: true })
  console.log('\nwhat is kept of a mail')
  const [live, test] = [await gateway.key(), await gateway.key('--mode', 'test')]
  const rows = rowsIn(db)
  await accept(gateway.url, live, WAITING, FULL)
  console.log(
    `    rows at accept    ${((rowsIn(db) - rows) / WAITING).toFixed(1)}   ${atMost(4, (rowsIn(db) - rows) / WAITING)}`,
  )
  const before = tablesIn(db)
  await accept(gateway.url, test, count, FULL)
  await untilSettled(db)
  const grown = [...tablesIn(db)].map(
    ([table, octets]) => [table, (octets - (before.get(table) ?? 0)) / count] as const,
  )
  const each = (purpose: string): number =>
    grown.filter(([table]) => purposeOf(table) === purpose).reduce((all, [, octets]) => all + octets, 0)
  const largest = grown.filter(([table, octets]) => purposeOf(table) === 'history' && octets >= 1)
  console.log(
    `    octets a mail     ${each('history').toFixed(0)} of history, ${atMost(700, each('history'))}; ${each('search').toFixed(0)} of the search index, ${each('reports').toFixed(0)} of reports, ${each('bodies').toFixed(0)} of bodies in the database`,
  )
  for (const [table, octets] of largest.sort(([, a], [, b]) => b - a))
    console.log(`      ${table.padEnd(16)}${octets.toFixed(0)}`)
  await whileRemoving(gateway, test, db)
  db.close()
  await gateway.remove()
}
