/**
 * Connections that are lost between the packets of a statement, and a writer that was stopped while it wrote: what is
 * acknowledged is stored once, and who was taken over stores nothing more.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import { connect } from '../../../src/store/postgres/connection.js'
import { createBeat } from '../../../src/store/postgres/heartbeat.js'
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { serversOf } from '../../../src/store/postgres/servers.js'
import { joinAsWriter } from '../../../src/store/postgres/writer.js'
import { DatabaseProxy, WAYS, type Way } from '../../parts/database-proxy.js'
import { noPostgres, postgres } from '../../parts/postgres.js'
import { HOUR, mailFor, newAccount, ofLease, T0 } from '../fixture.js'

t.test('twelve cut connections', { skip: noPostgres() }, async (t) => {
  const cluster = await postgres()
  const url = cluster.database()
  const database = url.split('/').at(-1) ?? ''
  const cutter = await new DatabaseProxy(cluster.port).start()
  t.teardown(() => cutter.stop())
  const store = openPostgresStore({ urls: url.replace(`:${cluster.port}/`, `:${cutter.port}/`) })
  t.teardown(() => store.close())
  await store.open()
  const at = await newAccount(store)
  let accepted = 0
  let sent = 0
  for (let round = 0; round < 12; round++) {
    const leased = await store.claim(at.poolId, 20, T0 + HOUR, T0)
    cutter.arm(WAYS[round % 3] as Way, Math.floor(round / 4))
    const accepting = Array.from({ length: 20 }, () =>
      store.accept({ mails: [mailFor(at)], idempotency: null, now: T0 }),
    )
    const settling = leased.map((one) => store.settle([ofLease(one)]))
    for (const answer of await Promise.all(accepting)) if (answer === 'accepted') accepted += 1
    for (const [answer] of await Promise.all(settling)) if (answer?.to === 'sent') sent += 1
  }
  t.ok(cutter.cuts >= 10, `${cutter.cuts} were cut`)
  t.equal(accepted, 240)
  t.equal(sent, 220)
  const sql = (text: string): string => cluster.sql(database, text)
  t.equal(sql('SELECT count(*), count(DISTINCT id) FROM emails'), '240|240')
  t.equal(sql("SELECT count(*), sum(attempts) FROM recipients WHERE status = 'sent'"), '220|220')
  t.equal(sql("SELECT count(*), sum(sent) FROM emails WHERE status = 'sent'"), '220|220')
  t.equal(sql('SELECT count(*), count(DISTINCT recipient) FROM events'), '220|220')
  t.equal(sql('SELECT count(*) FROM queue'), '20')
})

const CHILD = join(import.meta.dirname, 'writing-child.js')

t.test('who was stopped and taken over', { skip: noPostgres() }, async (t) => {
  const cluster = await postgres()
  const url = cluster.database()
  const database = url.split('/').at(-1) ?? ''
  const sql = (text: string): string => cluster.sql(database, text)
  const child = spawn(process.execPath, [CHILD, url], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
  const said: string[] = []
  const lines = createInterface({ input: child.stdout })
  const begun = new Promise<void>((resolve) =>
    lines.on('line', (line) => {
      said.push(line)
      if (said.length === 50) resolve()
    }),
  )
  await begun
  child.kill('SIGSTOP')
  const observer = await joinAsWriter('observer', () => connect(serversOf(url), 'observer'))
  t.teardown(() => observer.leave())
  let now = 0
  const dead: object[] = []
  const heard = { told: () => {}, takenOver: (_: object, recovered: object) => dead.push(recovered) }
  const beat = createBeat(observer, () => now, heard)
  for (; now <= 35_000; now += 5000) await beat()
  t.same(dead, [{ released: 5, ambiguous: 0 }], 'what it had leased is due again')
  const before = sql('SELECT count(*), max(ord) FROM emails')
  t.equal(sql('SELECT count(*) FROM queue WHERE boot IS NOT NULL'), '0')
  child.kill('SIGCONT')
  t.equal(await ended, 75)
  t.equal(sql('SELECT count(*), max(ord) FROM emails'), before, 'nothing more was written')
  const stored = new Set(sql('SELECT id FROM emails').split('\n'))
  const acknowledged = said.filter((line) => line.startsWith('em_'))
  t.ok(acknowledged.length >= 50)
  t.same(
    acknowledged.filter((id) => !stored.has(id)),
    [],
    'all that it acknowledged is there',
  )
})
