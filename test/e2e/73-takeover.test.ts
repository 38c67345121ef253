/**
 * Three daemons on one PostgreSQL. One is killed, then another stands still until it is taken over: whoever is left has
 * their part of the upstreams and the work that one does for all, and the one that wakes up has nothing to say.
 */

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { noPostgres, postgres } from '../parts/postgres.js'
import { receiver } from '../parts/receiver.js'
import { UpstreamServer } from '../relay/upstream-server.js'

const CONNECTIONS = 6
/** Messages a second. Who keeps to a half of it brings at most 6 in 20 s, and may be late by 2 s without loss. */
const RATE = 0.5
const WINDOW = { ms: 20_000, more: 8 }
const TAKEN_OVER = 75
/** A takeover, and what it waits for on a busy machine. */
const LONG = { ms: 120_000, every: 250 }

/** It knows by EHLO whose connection it is, and answers no final dot while it keeps them. */
const names = new Map<number, string>()
const inContent = new Set<number>()
const kept: (() => void)[] = []
let isKeeping = false
const fast = new UpstreamServer({
  act(stage, line, connection) {
    if (stage === 'ehlo') names.set(connection, line.slice(5))
    if (stage === 'data') inContent.add(connection)
    if (stage === 'dot') inContent.delete(connection)
    return undefined
  },
  hold: (stage, go) => stage === 'dot' && isKeeping && kept.push(go) > 0,
})
const arrivals: number[] = []
const slow = new UpstreamServer({
  act(stage) {
    if (stage === 'dot') arrivals.push(performance.now())
    return undefined
  },
})

class Daemon {
  constructor(
    readonly name: string,
    readonly postern: Postern,
  ) {}

  get id(): string {
    return readFileSync(join(this.postern.dir, 'data', 'daemon.id'), 'utf8').trim()
  }

  /** Its messages that wait for the answer to their dot. */
  get waiting(): number {
    return [...inContent].filter((connection) => names.get(connection) === this.name).length
  }
}

const why = noPostgres()
if (why) t.plan(0, `skipped: ${why}`)
else {
  t.setTimeout(280_000)
  const server = await postgres()
  const url = server.database()
  const sql = (text: string): string[] => server.sql(url.split('/').at(-1) ?? '', text).split('\n')
  const ports = [await fast.listen(), await slow.listen()]
  const hook = await receiver(t)
  const daemons: Daemon[] = []
  t.teardown(async () => {
    await Promise.all(daemons.map(({ postern }) => postern.remove()))
    await Promise.all([fast.close(), slow.close()])
  })
  for (const letter of 'abc') {
    const name = `${letter}.gw.test`
    const postern = new Postern({
      hostname: name,
      store: { driver: 'postgres', url_file: 'database.url' },
      webhook: { allow_networks: ['127.0.0.0/8'] },
      rate_limit: { per_minute: 1_000_000 },
    })
    writeFileSync(join(postern.dir, 'database.url'), url, { mode: 0o600 })
    const [like] = daemons
    if (like !== undefined) {
      mkdirSync(join(postern.dir, 'data'), { mode: 0o700 })
      copyFileSync(join(like.postern.dir, 'data', 'pepper'), join(postern.dir, 'data', 'pepper'))
    }
    daemons.push(new Daemon(name, await postern.start()))
  }
  const { postern: first } = daemons[0] as Daemon
  await first.route(`smtp://127.0.0.1:${ports[0]}?tls=none&max_connections=${CONNECTIONS}`)
  await first.json(
    'pool',
    'create',
    'slow',
    '--upstream',
    `smtp://127.0.0.1:${ports[1]}?tls=none&rate=${RATE}`,
  )
  await first.json('workspace', 'create', 'slow', '--pool', 'slow')
  const key = await first.key()
  const slowKey = (await first.json('key', 'create', '--workspace', 'slow')).secret as string
  const wish = { endpoint: `http://127.0.0.1:${hook.port}/`, events: ['email.queued'] }
  t.equal((await first.api('POST', '/v1/webhooks', key, wish)).status, 201)

  const accepted: string[] = []
  const send = async ({ postern }: Daemon, n = 1): Promise<void> => {
    for (let i = 0; i < n; i++) {
      const mail = { from: 'a@gw.test', to: 'b@example.com', subject: 'Hi', text: 'hello' }
      const { status, body, text } = await postern.api('POST', '/v1/emails', key, mail)
      if (status !== 202) throw new Error(`${status} ${text}`)
      accepted.push(body.id as string)
    }
  }
  const living = () => daemons.filter(({ id }) => daemonsNow().includes(id))
  const daemonsNow = () => sql('SELECT DISTINCT owner FROM writers WHERE owner IS NOT NULL')
  const worker = (): Daemon | undefined => {
    const [id] = sql(
      "SELECT w.owner FROM work k JOIN writers w ON w.boot = k.boot WHERE k.kind = 'followers'",
    )
    return daemons.find((one) => one.id === id)
  }
  const posted = () => new Set(hook.received.map(({ body }) => JSON.parse(body).data.email_id as string))
  const allPosted = () =>
    eventually('all is posted', () => accepted.every((id) => posted().has(id)), {
      seen: () => ({ accepted: accepted.length, posted: posted().size, by: worker()?.name }),
    })
  const counted = async ({ postern }: Daemon): Promise<number> =>
    (await postern.json('stats', '--workspace', 'default')).totals.accepted

  t.test('each has its part', async (t) => {
    // a newcomer that carries mail has waited until the others have made their parts smaller
    const heard = (one: Daemon) => [...names.values()].includes(one.name)
    for (const one of daemons)
      await eventually(
        `${one.name} carries mail`,
        async () => {
          await send(one)
          return heard(one)
        },
        { every: 250 },
      )
    isKeeping = true
    for (const one of daemons) await send(one, CONNECTIONS)
    await eventually('all connections are used', () => kept.length === CONNECTIONS)
    t.same(
      daemons.map(({ waiting }) => waiting),
      [2, 2, 2],
    )
    await allPosted()
  })

  t.test('one is killed', async (t) => {
    const victim = worker() as Daemon
    await victim.postern.stop('SIGKILL')
    const at = performance.now()
    const left = daemons.filter((one) => one !== victim)
    for (const one of left) await send(one, CONNECTIONS)
    await eventually('they use its connections', () => left.every(({ waiting }) => waiting === 3), LONG)
    t.comment(`its connections were used after ${Math.round(performance.now() - at)} ms`)
    t.ok(fast.open <= CONNECTIONS, `${fast.open} connections`)
    t.not(worker(), victim, 'another follows the log')
    await allPosted()
    isKeeping = false
    for (const go of kept.splice(0)) go()
    await eventually('all is counted', async () => (await counted(left[0] as Daemon)) === accepted.length)
  })

  t.test('one stands still, in the middle of a post', async (t) => {
    const sleeper = worker() as Daemon
    const heir = living().find((one) => one !== sleeper) as Daemon
    const posts: ServerResponse[] = []
    hook.behave = (response) => void posts.push(response)
    await send(heir)
    await eventually('it posts', () => posts.length > 0)
    const numbers = sql(`SELECT n FROM writers WHERE owner = '${sleeper.id}'`).join()
    process.kill(sleeper.postern.pid, 'SIGSTOP')
    hook.behave = (response) => void response.writeHead(200).end()
    await send(heir, 3)
    await eventually('the other does its work', () => worker() === heir, LONG)
    await allPosted()
    const places = (table: string) =>
      `(SELECT count(*) FROM ${table} WHERE (ord % 4096) / 16 = n) AS ${table}`
    const written = () =>
      sql(
        `SELECT n, owner, epoch, frontier, heartbeat, ${places('emails')}, ${places('events')}
        FROM writers WHERE n IN (${numbers}) AND coalesce(owner, '${sleeper.id}') = '${sleeper.id}' ORDER BY n`,
      )
    const rows = written()
    process.kill(sleeper.postern.pid, 'SIGCONT')
    for (const post of posts) post.writeHead(200).end()
    t.equal(await sleeper.postern.ended, TAKEN_OVER)
    t.same(written(), rows, 'it has written nothing')
    await send(heir)
    await allPosted()
    await eventually('all is counted', async () => (await counted(heir)) >= accepted.length)
    t.equal(await counted(heir), accepted.length, 'once')
    t.equal(worker(), heir)
  })

  t.test('the last has the whole rate', async (t) => {
    const [last, ...none] = living() as [Daemon, ...Daemon[]]
    t.same(none, [])
    const mail = { from: 'a@gw.test', to: 'b@example.com', subject: 'Hi', text: 'hello' }
    await Promise.all(Array.from({ length: 30 }, () => last.postern.api('POST', '/v1/emails', slowKey, mail)))
    const isWithin = (from: number) => (at: number) => at >= from && at < from + WINDOW.ms
    const most = () => Math.max(0, ...arrivals.map((from) => arrivals.filter(isWithin(from)).length))
    await eventually('more than a half of it', () => most() >= WINDOW.more, { seen: () => arrivals })
  })
}
