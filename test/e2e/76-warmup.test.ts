/**
 * An upstream that warms up, day after day on a clock that is set: one daemon on SQLite, three on one PostgreSQL, some of them
 * killed. No day gives it more than it allows, and what is over says why it waits, and goes.
 */
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { signedIn } from '../parts/browser.js'
import { fakeClock, noFakeClock } from '../parts/clock.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { noPostgres, Postgres } from '../parts/postgres.js'
import { UpstreamServer } from '../relay/upstream-server.js'

const DAY = 86_400_000
const RELAY = { poll: '100ms', retry: ['1h'], lifetime: '30d' }

const upstream = async (t: Test) => {
  const server = new UpstreamServer()
  const port = await server.listen()
  t.teardown(() => server.close())
  const taken = () => server.received.reduce((sum, { rcpt }) => sum + rcpt.length, 0)
  return { server, url: `smtp://127.0.0.1:${port}?tls=none`, taken }
}

/** Used and limit of today, as its metrics tell. */
const told = async ({ ports }: Postern) => {
  const text = await (await fetch(`http://127.0.0.1:${ports.management}/metrics`)).text()
  const value = (name: string) =>
    Number(new RegExp(`^${name}\\{.*\\} (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
  return [value('postern_upstream_warmup_recipients'), value('postern_upstream_warmup_limit')]
}

let n = 0
const sendMany = async (postern: Postern, key: string, count: number): Promise<readonly string[]> => {
  const mails = Array.from({ length: count }, () => ({
    ...{ from: 'a@gw.test', to: `n${n++}@example.com`, subject: 'Hi', text: 'hi' },
  }))
  const { status, body, text } = await postern.api('POST', '/v1/emails/batch', key, mails)
  if (status !== 202) throw new Error(`${status} ${text}`)
  return body.data.map(({ id }: { id: string }) => id)
}

t.test('on SQLite', { skip: noFakeClock, timeout: 240_000 }, async (t) => {
  const [a, b] = [await upstream(t), await upstream(t)]
  const clock = fakeClock(t)
  const postern = new Postern({ relay: RELAY })
  t.teardown(() => postern.remove())
  await postern.start(clock.env)
  await postern.route(`${a.url}&warmup=3:4`)
  const key = await postern.key()
  const ids = await sendMany(postern, key, 12)
  const is = (used: number, limit: number, taken: number) =>
    eventually(
      `${used} of ${limit}, ${taken} in all`,
      async () => `${await told(postern)}` === `${[used, limit]}` && a.taken() === taken,
      { seen: async () => [await told(postern), a.taken()] },
    )
  await is(3, 3, 3)

  const waits = async () =>
    (await Promise.all(ids.map((id) => postern.api('GET', `/v1/emails/${id}`, key))))
      .flatMap(({ body }) => body.waiting ?? [])
      .filter(({ reason }) => reason === 'warmup')
  await eventually('the others say why they wait', async () => (await waits()).length === 9)
  const [why] = await waits()
  t.match(why, { detail: 'pool main has sent what its warm-up allows today' })
  t.equal(Date.parse(why.until) % DAY, 0)
  t.ok(Date.parse(why.until) > Date.now() && Date.parse(why.until) <= Date.now() + DAY)
  t.match((await postern.json('upstream', 'list'))[0].warmup, {
    ...{ first: 3, days: 4, day: 1, used: 3, limit: 3, past: [{ used: 3, limit: 3 }] },
  })
  t.match((await postern.cli('upstream', 'list')).stdout, /day 1 of 4: 3 of 3/)
  t.match(
    (await postern.cli('status')).stdout.replace(/\s+/g, ' '),
    /Pool main has sent what its warm-up allows today; it goes on at 00:00 UTC\./,
  )

  const browser = await signedIn(postern)
  const { id: pool } = await postern.json('pool', 'show', 'main')
  const { html } = await browser.visit(`/pools/${pool}`)
  t.match(html, /<dt>Day<\/dt><dd>1 of 4<\/dd>.*3 of 3 recipients.*data-chart="warm-up-0"/s)

  await postern.stop('SIGKILL')
  await postern.start(clock.env)
  await is(3, 3, 3)
  clock.set(DAY)
  await is(6, 6, 9)
  clock.set(0)
  await is(3, 3, 9)
  await sendMany(postern, key, 1)
  await postern.stop()
  await postern.start(clock.env)
  await is(3, 3, 9)

  await postern.json('pool', 'update', 'main', '--upstream', a.url, '--upstream', `${b.url}&priority=5`)
  await eventually('what is over goes elsewhere', () => b.taken() === 4)
  t.equal(a.taken(), 9)
  t.match((await postern.json('pool', 'show', 'main')).members, [
    { warmup: { first: 3, days: 4 } },
    { warmup: null },
  ])

  await postern.json('pool', 'update', 'main', '--upstream', `${a.url}&warmup=none`)
  await postern.relayHasRead()
  await sendMany(postern, key, 20)
  await eventually('no limit', () => a.taken() === 29)
  await postern.json('pool', 'update', 'main', '--upstream', `${a.url}&warmup=5:2`)
  await postern.relayHasRead()
  await sendMany(postern, key, 20)
  await is(5, 5, 34)
})

t.test('what is no warm-up', async (t) => {
  const postern = new Postern()
  t.teardown(() => postern.remove())
  await postern.start()
  for (const wrong of [
    '50',
    '50:',
    ':14',
    '0:14',
    '50:0',
    '50:31',
    '1000001:2',
    '-1:3',
    '1.5:3',
    '50:14:1',
    '1e3:4',
    '',
  ]) {
    const url = `smtp://127.0.0.1:9?tls=none&warmup=${wrong}`
    const { code, stderr } = await postern.cli('pool', 'create', 'odd', '--upstream', url)
    t.equal(code, 65, wrong)
    t.match(stderr, /warmup/, wrong)
  }
  t.equal((await postern.cli('pool', 'show', 'odd')).code, 65, 'none of them made anything')
})

/** What each of the three daemons gets on the days that are used up. */
const FILLING = [10, 10, 20, 20, 50]

/** Together at most so much of a day is lost with a daemon that is killed: what it had taken, and what was on the wire. */
const LOST = 40

t.test('on PostgreSQL', { skip: noFakeClock || noPostgres(), timeout: 600_000 }, async (t) => {
  const { url, taken } = await upstream(t)
  const clock = fakeClock(t)
  chmodSync(dirname(clock.env.FAKETIME_TIMESTAMP_FILE as string), 0o755)
  const server = await new Postgres().start({}, clock.env)
  t.teardown(() => server.stop('immediate'))
  const database = server.database()
  const daemons = [1, 2, 3].map(
    (i) =>
      new Postern({
        hostname: `d${i}.gw.test`,
        store: { driver: 'postgres', url_file: 'database.url' },
        relay: RELAY,
      }),
  ) as [Postern, Postern, Postern]
  t.teardown(() => Promise.all(daemons.map((one) => one.remove())))
  const [first] = daemons
  for (const one of daemons) {
    writeFileSync(join(one.dir, 'database.url'), database, { mode: 0o600 })
    if (one !== first) {
      mkdirSync(join(one.dir, 'data'), { mode: 0o700 })
      copyFileSync(join(first.dir, 'data', 'pepper'), join(one.dir, 'data', 'pepper'))
    }
    await one.start()
  }
  await first.route(`${url}&warmup=10:14&max_connections=9`)
  const key = await first.key()
  const limits: number[] = []
  let before = 0
  for (let day = 1; day <= 15; day++) {
    const limit = 10 * 2 ** (day - 1)
    // on the first days more than goes; then too few mails to fill a day
    const count = FILLING[day - 1]
    if (count === undefined) {
      for (const id of await sendMany(first, key, 7)) await first.until(key, id, ['sent'], 60_000)
    } else for (const one of daemons) await sendMany(one, key, count)
    if (count !== undefined && day !== 4) {
      await eventually(`day ${day} is used up`, () => taken() - before === limit, { moves: taken })
      t.same(await told(first), [limit, limit])
    } else if (day === 4) {
      await eventually('half of the day', () => taken() - before > limit / 2, { moves: taken })
      const [, killed] = daemons
      await killed.stop('SIGKILL')
      await killed.start()
      await eventually('all of it is given away', async () => `${await told(first)}` === `${[limit, limit]}`)
    }
    limits.push((await told(first))[1] as number)
    t.ok(taken() - before <= limit || day > 14, `day ${day}: ${taken() - before} of ${limit}`)
    if (day === 4) t.ok(taken() - before >= limit - LOST, `day ${day}: ${taken() - before} of ${limit}`)
    before = taken()
    clock.set(day * DAY)
    const next = day >= 14 ? Number.NaN : limit * 2
    await eventually('the next day', async () => `${(await told(first))[1]}` === `${next}`)
  }
  t.same(limits, [...Array.from({ length: 14 }, (_, i) => 10 * 2 ** i), Number.NaN])
})
