/**
 * Of two daemons on one PostgreSQL the clock of one's machine is set, forward and back: waiting mail is tried on, none goes
 * twice, ends or leaves before its time, and neither is taken for dead.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { fakeClock, noFakeClock } from '../parts/clock.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { noPostgres, postgres } from '../parts/postgres.js'
import { UpstreamServer } from '../relay/upstream-server.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR
/** Beyond the lifetime of mail, and beyond an appointment. */
const STEPS = [HOUR, 0, -HOUR, 21 * DAY, -2 * DAY, 0]

t.test('nobody notices', { skip: noFakeClock || noPostgres(), timeout: 240_000 }, async (t) => {
  const server = await postgres()
  const url = server.database()
  const tries = new Map<string, number>()
  let isHealthy = false
  const upstream = new UpstreamServer({
    act(stage, line) {
      if (stage !== 'rcpt') return undefined
      const to = /<(.*)>/.exec(line)?.[1] ?? ''
      tries.set(to, (tries.get(to) ?? 0) + 1)
      return isHealthy ? undefined : '451 4.3.0 come again'
    },
  })
  const port = await upstream.listen()
  const clock = fakeClock(t)
  const [set, right] = ['set', 'right'].map(
    (name) =>
      new Postern({
        hostname: `${name}.gw.test`,
        store: { driver: 'postgres', url_file: 'database.url' },
        relay: { retry: ['1s'], lifetime: '1d' },
      }),
  ) as [Postern, Postern]
  t.teardown(async () => {
    await Promise.all([set.remove(), right.remove()])
    await upstream.close()
  })
  for (const { dir } of [set, right]) writeFileSync(join(dir, 'database.url'), url, { mode: 0o600 })
  await set.start(clock.env)
  mkdirSync(join(right.dir, 'data'), { mode: 0o700 })
  copyFileSync(join(set.dir, 'data', 'pepper'), join(right.dir, 'data', 'pepper'))
  await right.start()
  await right.route(`smtp://127.0.0.1:${port}?tls=none`)
  const key = await right.key()

  let n = 0
  const send = async (postern: Postern, more: Record<string, unknown> = {}) => {
    const mail = { from: 'a@gw.test', to: `n${n++}@example.com`, subject: 'Hi', text: 'hi', ...more }
    const { status, body, text } = await postern.api('POST', '/v1/emails', key, mail)
    if (status !== 202) throw new Error(`${status} ${text}`)
    return { id: body.id as string, to: mail.to }
  }
  const appointment = { to: 'later@example.com', scheduled_at: new Date(Date.now() + 20 * DAY).toISOString() }
  const later = await send(set, appointment)
  const sent: { readonly id: string; readonly to: string }[] = []
  const writers = () =>
    server.sql(
      url.split('/').at(-1) ?? '',
      "SELECT n, owner, boot FROM writers WHERE boot IS NOT NULL AND role <> 'command' ORDER BY n",
    )
  const before = writers()
  const told = () => set.output.filter((line) => line.includes('"clock of the database differs"')).length
  for (const offset of STEPS) {
    const lines = told()
    clock.set(offset)
    await eventually('it is noticed', () => told() > lines)
    for (const postern of [set, right, set, right]) sent.push(await send(postern))
    const was = new Map(tries)
    const isTried = ({ to }: { readonly to: string }) => (tries.get(to) ?? 0) > (was.get(to) ?? 0)
    await eventually('all that waits is tried', () => sent.every(isTried), { seen: () => [...tries] })
    t.match(await set.api('GET', `/v1/emails/${later.id}`, key), { body: { status: 'scheduled' } })
    const { body } = await set.api('GET', `/v1/emails/${sent.at(-2)?.id}`, key)
    t.ok(Math.abs(Date.parse(body.created_at) - Date.now()) < HOUR / 2, 'its times are those of all')
  }
  isHealthy = true
  for (const { id } of sent) await right.until(key, id, ['sent'])
  t.equal(upstream.received.length, sent.length, 'each once')
  t.notOk(tries.has(later.to))
  t.equal(writers(), before, 'nobody was taken over')
})
