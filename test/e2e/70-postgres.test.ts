/**
 * Daemons on one PostgreSQL, with real parts: mail goes in at either door and out through a real Postfix, its reports
 * come back; a daemon is killed, the database goes away, others go on.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { freePort, noPostfix, Postfix } from '../parts/postfix.js'
import { noPostgres, Postgres } from '../parts/postgres.js'

const why = noPostgres() || noPostfix()
if (why) t.plan(0, `skipped: ${why}`)
else {
  const cluster = await new Postgres().start()
  const urls = cluster.database()
  const bouncePort = await freePort()
  // its reports outlive the time without a database
  const upstream = await new Postfix().start({ bouncePort, lifetime: '10m' })

  const onPostgres = (port: number, like?: Postern): Postern => {
    const postern = new Postern({
      store: { driver: 'postgres', url_file: 'database.url' },
      bounce: { host: '127.0.0.1', port, domain: 'bounce.test' },
      rate_limit: { per_minute: 1_000_000 },
    })
    writeFileSync(join(postern.dir, 'database.url'), urls, { mode: 0o600 })
    if (like !== undefined) {
      mkdirSync(join(postern.dir, 'data'), { mode: 0o700 })
      copyFileSync(join(like.dir, 'data', 'pepper'), join(postern.dir, 'data', 'pepper'))
    }
    return postern
  }
  const first = onPostgres(bouncePort)
  const all = [first]
  t.teardown(async () => {
    await Promise.all(all.map((one) => one.remove()))
    upstream.stop()
    await cluster.stop('fast')
  })
  await first.start()
  await first.route(`smtp://127.0.0.1:${upstream.port}?tls=none`)
  const key = await first.key()

  const post = (postern: Postern, to: string) =>
    postern.api('POST', '/v1/emails', key, {
      from: 'App <app@gw.test>',
      to,
      subject: 'on postgres',
      text: 'hello',
    })
  const send = async (postern: Postern, to: string): Promise<string> => {
    const answer = await post(postern, to)
    if (answer.status !== 202) throw new Error(answer.text)
    return answer.body.id
  }
  const transport = (postern: Postern) =>
    createTransport({
      host: '127.0.0.1',
      port: postern.ports.submission[0] as number,
      requireTLS: true,
      tls: { rejectUnauthorized: false },
      auth: { user: 'apikey', pass: key },
    })
  const ready = async (postern: Postern) =>
    (await fetch(`http://127.0.0.1:${postern.ports.management}/readyz`)).status

  t.test('one daemon', async (t) => {
    t.equal(await ready(first), 200)
    const delivered = await first.until(key, await send(first, 'ok@deliver.test'), ['delivered'])
    t.ok(
      upstream.delivered().some((raw) => raw.includes(delivered.message_id)),
      'the mailbox has it',
    )
    const refused = await first.until(key, await send(first, 'nobody@deliver.test'), ['bounced'])
    t.match(refused.recipients[0].last_response, /^550 5\.1\.1/)
    await first.until(key, await send(first, 'who@local5.test'), ['bounced'])

    const mail = { from: 'app@gw.test', to: 'ok@deliver.test', subject: 'by SMTP', text: 'hello' }
    const { response } = await transport(first).sendMail(mail)
    t.match(response, /^250 /)
    const id = /em_\w+/.exec(response)?.[0] ?? ''
    await first.until(key, id, ['delivered'])
    const metrics = await (await fetch(`http://127.0.0.1:${first.ports.management}/metrics`)).text()
    t.match(metrics, /^postern_store_commit_seconds_count [1-9]/m)
  })

  /** Sends until it is told to stop; the ids that were acknowledged. */
  const load = (postern: Postern, callers: number) => {
    const ids: string[] = []
    const refusals: { status: number; retryAfter: string | null }[] = []
    let isOver = false
    const one = async (): Promise<void> => {
      while (!isOver && ids.length < 2_000) {
        const answer = await post(postern, 'ok@deliver.test').catch(() => null)
        if (answer?.status === 202) ids.push(answer.body.id)
        else if (answer !== null)
          refusals.push({ status: answer.status, retryAfter: answer.headers.get('retry-after') })
      }
    }
    const done = Promise.all(Array.from({ length: callers }, one))
    return {
      ids,
      refusals,
      async end() {
        isOver = true
        await done
      },
    }
  }
  const allDelivered = async (postern: Postern, ids: readonly string[]): Promise<void> => {
    for (const id of ids) await postern.until(key, id, ['delivered'], 120_000)
  }

  t.test('a daemon is killed under load, and starts again', async (t) => {
    const sending = load(first, 8)
    await eventually('a crowd is under way', () => sending.ids.length > 40)
    await first.stop('SIGKILL')
    await sending.end()
    await first.start()
    await allDelivered(first, sending.ids)
    t.pass(`all of ${sending.ids.length} that were acknowledged are delivered`)
  })

  t.test('three daemons are one', async (t) => {
    for (const _ of [1, 2]) all.push(await onPostgres(0, first).start())
    const [, second, third] = all as [Postern, Postern, Postern]
    const id = await send(first, 'ok@deliver.test')
    const seen = await second.api('GET', `/v1/emails/${id}`, key)
    t.equal(seen.status, 200, 'what one has taken the others show')
    const ids = await Promise.all(all.map((postern) => send(postern, 'ok@deliver.test')))
    await allDelivered(third, [id, ...ids])
    const made = await first.json('key', 'create', '--workspace', 'default')
    t.equal((await third.api('GET', '/v1/emails', made.secret)).status, 200)
    await second.json('key', 'revoke', made.id, '--yes')
    for (const postern of all)
      t.equal((await postern.api('GET', '/v1/emails', made.secret)).status, 401, 'revoked everywhere')
  })

  t.test('one makes a new key of return paths: the next mail of all is signed with it', async (t) => {
    const [, second, third] = all as [Postern, Postern, Postern]
    const keyOf = async (postern: Postern): Promise<string> => {
      const id = await send(postern, 'ok@deliver.test')
      const { message_id } = await postern.until(key, id, ['delivered'])
      const raw = upstream.delivered().find((one) => one.includes(message_id)) ?? ''
      return /^Return-Path: <b(\w)/m.exec(raw)?.[1] ?? 'none'
    }
    t.equal(await keyOf(third), '1')
    t.match(await second.json('bounce', 'rotate-key', '--yes'), { current: '2' })
    // which each does once a second, and the ring with it
    for (const postern of all) await postern.relayHasRead()
    for (const postern of all) t.equal(await keyOf(postern), '2')
    await third.until(key, await send(third, 'who@local5.test'), ['bounced'])
  })

  t.test('the database goes away under load, and comes back', async (t) => {
    const sending = load(first, 8)
    await eventually('a crowd is under way', () => sending.ids.length > 40)
    await cluster.stop('fast')
    await eventually('they are refused', () => sending.refusals.length > 0)
    t.match(sending.refusals[0], { status: 503, retryAfter: /^\d+$/ })
    await t.rejects(
      transport(first).sendMail({ from: 'app@gw.test', to: 'ok@deliver.test', text: 'x' }),
      /4\d\d 4\.\d\.\d /,
    )
    await eventually('it is not ready', async () => (await ready(first)) === 503)
    await cluster.start()
    await eventually('it is ready', async () => (await ready(first)) === 200)
    const taken = sending.ids.length
    await eventually('mail is taken again', () => sending.ids.length > taken)
    await sending.end()
    t.same([...new Set(sending.refusals.map(({ status }) => status))], [503], 'nobody heard anything else')
    await allDelivered(first, sending.ids)
    t.pass(`all of ${sending.ids.length} that were acknowledged are delivered`)
    for (const postern of all) t.equal(await ready(postern), 200, 'no daemon has ended')
  })

  t.test('they end in peace', async (t) => {
    for (const postern of all) t.equal(await postern.stop(), 0)
    const name = urls.split('/').at(-1) ?? ''
    t.equal(cluster.sql(name, 'SELECT count(*) FROM writers WHERE owner IS NOT NULL'), '0')
  })
}
