/** Daemons that have nothing to do: how many statements each sends the database, counted from heartbeat to heartbeat. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { eventually } from '../../parts/eventually.js'
import { Postern } from '../../parts/postern.js'
import { noPostgres, Postgres } from '../../parts/postgres.js'

/** A second, with what is done once a minute: of one that is alone, and of each of three, of which one follows the log for all. */
const ALONE = 12
const OF_THREE = 8
const BEATS = 5

const SETTINGS = { shared_preload_libraries: 'pg_stat_statements' }

t.test('idle daemons', { skip: noPostgres() }, async (t) => {
  const cluster = await new Postgres().start(SETTINGS)
  const database = cluster.database()
  const sql = (text: string): string => cluster.sql(new URL(database).pathname.slice(1), text)
  sql('CREATE EXTENSION pg_stat_statements')
  const started: Postern[] = []
  t.teardown(async () => {
    await Promise.all(started.map((one) => one.remove()))
    await cluster.stop('fast')
  })
  const start = async (): Promise<void> => {
    const [first] = started
    const store = { driver: 'postgres', url_file: 'database.url' }
    const one = new Postern({
      store,
      ...(first === undefined ? {} : { pepper_file: join(first.dir, 'data', 'pepper') }),
    })
    writeFileSync(join(one.dir, 'database.url'), `${database}\n`, { mode: 0o600 })
    started.push(await one.start())
  }

  /** Who has the least has beaten so often. */
  const beats = (): number => Number(sql('SELECT min(heartbeat) FROM writers WHERE boot IS NOT NULL'))
  const afterBeats = async (count: number): Promise<void> => {
    const from = beats()
    await eventually(`${count} heartbeats`, () => beats() >= from + count, { every: 100 })
  }
  const expectAtMost = async (most: number, of: string): Promise<void> => {
    await afterBeats(3)
    sql('SELECT pg_stat_statements_reset()')
    const began = performance.now()
    await afterBeats(BEATS)
    // a machine with much to do beats later, and counts for longer
    const seconds = (performance.now() - began) / 1000
    const those = "FROM pg_stat_statements WHERE query !~ 'heartbeat\\) FROM|pg_stat_statements'"
    const calls = Number(sql(`SELECT sum(calls) ${those}`))
    const each = calls / started.length / seconds
    const which = `SELECT calls || ' x ' || left(regexp_replace(query, '\\s+', ' ', 'g'), 150) ${those} ORDER BY calls DESC`
    if (each > most) t.comment(sql(which))
    t.ok(each <= most, `${each.toFixed(1)} statements a second of each of ${of}`)
  }

  await start()
  await expectAtMost(ALONE, 'one')
  await start()
  await start()
  await expectAtMost(OF_THREE, 'three')
})
