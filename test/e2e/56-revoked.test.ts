/**
 * Who may send is looked at where it counts, whoever changed it: here another process on the same database, beside a daemon
 * that is idle and knows nothing of it. And a mail that is on its way in is decided by what stands when it is stored. On a
 * server that is so, too, when another daemon changes it, or somebody who writes there by himself, as an older daemon does.
 */
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { Store } from '../../src/store/port/store.js'
import { openPostgresStore } from '../../src/store/postgres/open.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { noPostgres, postgres } from '../parts/postgres.js'
import { needsFile } from '../parts/store.js'
import { type Client, dial } from '../smtp/client.js'

const SETTINGS = {
  submission: [{ host: '127.0.0.1', port: 0, tls: 'none' }],
  rate_limit: { auth_failures: 1_000_000, per_minute: 1_000_000 },
}

interface Served {
  readonly daemon: Postern
  readonly other: Store
  /** Of the same key: in another process, and where the database has more doors, by each of them in turn. */
  readonly revoke: (accountId: string, id: string, round: number) => Promise<unknown>
  readonly rounds: number
}

const inFile = async (t: Test): Promise<Served> => {
  const daemon = new Postern(SETTINGS)
  t.teardown(() => daemon.remove())
  await daemon.start()
  const other = openSqliteStore({ dataDir: join(daemon.dir, 'data'), daemon: false })
  return { daemon, other, revoke: (accountId, id) => other.revokeKey(accountId, id), rounds: 100 }
}

const onServer = async (t: Test): Promise<Served> => {
  const server = await postgres()
  const urls = server.database()
  const database = urls.split('/').at(-1) ?? ''
  const started = async (like?: Postern): Promise<Postern> => {
    const one = new Postern({ ...SETTINGS, store: { driver: 'postgres', url_file: 'database.url' } })
    t.teardown(() => one.remove())
    writeFileSync(join(one.dir, 'database.url'), urls, { mode: 0o600 })
    mkdirSync(join(one.dir, 'data'), { mode: 0o700 })
    if (like) copyFileSync(join(like.dir, 'data', 'pepper'), join(one.dir, 'data', 'pepper'))
    return one.start()
  }
  const daemon = await started()
  const second = await started(daemon)
  const other = openPostgresStore({ urls })
  const session = (await second.json('session', 'create')).token as string
  const ways = [
    (accountId: string, id: string) => other.revokeKey(accountId, id),
    (_: string, id: string) => second.api('DELETE', `/v1/api-keys/${id}`, session),
    async (_: string, id: string) => server.sql(database, `DELETE FROM keys WHERE id = '${id}'`),
    async (_: string, id: string) =>
      server.sql(database, `UPDATE keys SET expires_at = 1 WHERE id = '${id}'`),
  ]
  const revoke: Served['revoke'] = async (accountId, id, round) => ways[round % ways.length]?.(accountId, id)
  return { daemon, other, revoke, rounds: 100 }
}

const serve = async (t: Test, served: (t: Test) => Promise<Served>) => {
  const { daemon, other, ...rest } = await served(t)
  await other.open()
  t.teardown(() => other.close())
  const session = (await daemon.json('session', 'create')).token as string
  const [account] = await other.accounts()
  const accountId = account?.id ?? ''
  const workspace = await other.workspace(accountId, 'default')
  if (workspace === null) throw new Error('no workspace')
  const makeKey = async () => {
    const made = await daemon.api('POST', '/v1/api-keys', session, { name: 'x', workspace_id: workspace.id })
    return { id: made.body.id as string, secret: (made.body.token ?? made.body.secret) as string }
  }
  return { daemon, other, session, accountId, workspace, makeKey, ...rest }
}

/** Says it, and waits for what comes after what was said before. */
const talk = (client: Client) => {
  let seen = 0
  return async (line: string): Promise<string> => {
    client.socket.write(line)
    const isAnswered = () => /^\d{3} .*\r\n/m.test(client.heard().slice(seen)) || client.socket.closed
    await eventually('a reply', isAnswered, { every: 1, seen: client.heard })
    const heard = client.heard().slice(seen)
    seen += heard.length
    return heard.split('\r\n').at(-2) ?? ''
  }
}

const plain = (secret: string) => `AUTH PLAIN ${Buffer.from(`\0me\0${secret}`).toString('base64')}\r\n`
const MAIL = 'MAIL FROM:<a@acme.test>\r\n'
const MESSAGE = 'From: a@acme.test\r\nSubject: x\r\n\r\nhello\r\n.\r\n'
const body = { from: 'a@acme.test', to: 'ana@example.com', subject: 'x', text: 'x' }

const holds = (served: (t: Test) => Promise<Served>) => async (t: Test) => {
  const { daemon, other, accountId, workspace, makeKey, revoke, rounds } = await serve(t, served)
  const logIn = async (secret: string) => {
    const client = dial(daemon.ports.submission[0] ?? 0)
    const say = talk(client)
    await say('')
    await say('EHLO x\r\n')
    return { client, say, said: await say(plain(secret)) }
  }

  /** Up to the message, whose dot is yet to come. */
  const begin = async (secret: string) => {
    const { say, client } = await logIn(secret)
    await send(say)
    for (const line of [MAIL, 'RCPT TO:<ana@example.com>\r\n', 'DATA\r\n']) await say(line)
    return { client, say }
  }

  const send = async (say: (line: string) => Promise<string>): Promise<string> => {
    for (const line of [MAIL, 'RCPT TO:<ana@example.com>\r\n', 'DATA\r\n']) await say(line)
    return say(MESSAGE)
  }

  const count = async (): Promise<number> => {
    const filter = { accountId, workspaceId: null, mode: null, status: null, to: null, tag: null }
    const page = { limit: 1, direction: 'older', anchor: null, countUpTo: 10_000 } as const
    return Number((await other.emails({ ...filter, createdAfter: null, createdBefore: null }, page)).total)
  }

  await t.test('a key that another process revoked is refused at once, everywhere', async (t) => {
    const wrong: unknown[] = []
    for (let round = 0; round < rounds; round++) {
      const { id, secret } = await makeKey()
      const { client, say, said } = await logIn(secret)
      const kept = { 'idempotency-key': `kept-${round}` }
      const before = [
        said.slice(0, 3),
        (await send(say)).slice(0, 3),
        (await daemon.api('POST', '/v1/emails', secret, body, kept)).status,
        (await daemon.api('POST', '/v1/emails', secret, body)).status,
      ]
      await revoke(accountId, id, round)
      const asks = [
        async () => (await daemon.api('POST', '/v1/emails', secret, body)).status,
        async () => (await daemon.api('GET', '/v1/emails', secret)).status,
        async () => (await say(MAIL)).slice(0, 3),
        async () => (await daemon.api('POST', '/v1/emails', secret, body, kept)).status,
      ]
      // each of them is the first sometimes
      const after: unknown[] = []
      for (const i of asks.keys()) {
        const which = (i + Math.floor(round / 4)) % asks.length
        after[which] = await asks[which]?.()
      }
      const again = await logIn(secret)
      client.socket.destroy()
      again.client.socket.destroy()
      const told = [...before, ...after, again.said.slice(0, 3)].join(' ')
      if (told !== '235 250 202 202 401 401 421 401 535') wrong.push({ round, told })
    }
    t.same(wrong, [])
  })

  await t.test('what changes between DATA and its dot decides', async (t) => {
    const refused = async (pattern: RegExp, change: (id: string) => Promise<unknown>) => {
      const { id, secret } = await makeKey()
      const { client, say } = await begin(secret)
      const before = await count()
      await change(id)
      t.match(await say(MESSAGE), pattern)
      t.equal(await count(), before, 'nothing was stored')
      client.socket.destroy()
    }
    await refused(/^421 4\.7\.0 auth\.credentials_invalid/, (id) => other.revokeKey(accountId, id))
    await refused(/^550 5\.7\.1 email\.sender_not_allowed/, () =>
      other.updateWorkspace(workspace.id, { restrictSenders: true }),
    )
    await other.updateWorkspace(workspace.id, { restrictSenders: false })
    await refused(/ workspace\.suspended/, () => other.suspendWorkspace(workspace, null, Date.now()))
    await other.resumeWorkspace(workspace.id, Date.now())

    const { secret } = await makeKey()
    const { client, say } = await begin(secret)
    const { id: pool } = await daemon.json(
      'pool',
      'create',
      'eu',
      '--upstream',
      'smtp://127.0.0.1:9?tls=none',
    )
    await other.updateWorkspace(workspace.id, { routes: [{ domain: 'example.com', poolId: pool }] })
    const left = async () =>
      Number((await daemon.api('GET', '/v1/emails', secret)).headers.get('x-ratelimit-remaining'))
    const rate = await left()
    const id = (await say(MESSAGE)).match(/em_\w+/)?.[0] ?? ''
    t.equal(
      (await other.email({ accountId, workspaceId: null, mode: null }, id))?.poolId,
      pool,
      'a new route',
    )
    t.equal(await left(), rate, 'deciding again counts no second send')
    client.socket.destroy()
  })

  await t.test('and what changes before a POST', async (t) => {
    const { secret } = await makeKey()
    const post = async (by = secret) =>
      (await daemon.api('POST', '/v1/emails', by, body, { 'x-workspace-id': workspace.id })).status
    const before = await count()
    for (let round = 0; round < 5; round++) {
      await other.updateWorkspace(workspace.id, { restrictSenders: true })
      t.equal(await post(), 403, 'a sender that is not allowed')
      const domain = {
        ...{ id: newId('dom'), accountId, workspaceId: null, name: 'acme.test', keys: [] },
        ...{ verifiedAt: Date.now(), checkedAt: null, createdAt: Date.now(), updatedAt: Date.now() },
      }
      await other.createDomain(domain)
      t.equal(await post(), 202)
      await other.removeDomain(accountId, domain.id)
      t.equal(await post(), 403, 'its domain has gone')
      await other.updateWorkspace(workspace.id, { restrictSenders: false })
      t.equal(await post(), 202)
      await other.suspendWorkspace(workspace, null, Date.now())
      t.equal(await post(), 403, 'a workspace that is suspended')
      await other.resumeWorkspace(workspace.id, Date.now())
      const { id, token } = await daemon.json('session', 'create')
      t.equal(await post(token), 202)
      await other.revokeSession(accountId, id)
      t.equal(await post(token), 401, 'a session that has ended')
    }
    t.equal(await count(), before + 15, 'and nothing else was stored')
  })

  await t.test('a POST that is decided again is one mail, one count and one lock', async (t) => {
    const { secret } = await makeKey()
    const move = (n: number) => other.updateWorkspace(workspace.id, { defaultFrom: `m${n}@acme.test` })
    const post = async (headers: Record<string, string> = {}) => {
      const answer = await daemon.api('POST', '/v1/emails', secret, body, headers)
      const [left, until] = ['remaining', 'reset'].map((name) => answer.headers.get(`x-ratelimit-${name}`))
      return { status: answer.status, id: answer.body.id, left: Number(left), until }
    }
    for (let n = 0; n < 10; n++) {
      const headers: Record<string, string> = n % 2 === 0 ? {} : { 'idempotency-key': `again-${n}` }
      const before = await count()
      const first = await post()
      await move(n)
      const moved = await post(headers)
      t.equal(moved.status, 202)
      if (moved.until === first.until) t.equal(moved.left, first.left - 1, 'counted once')
      t.equal(await count(), before + 2, 'stored once')
      await move(-n)
      if (n % 2 === 1) t.match(await post(headers), { status: 202, id: moved.id }, 'and answered again')
      t.equal(await count(), before + 2)
    }
  })

  await t.test('uses of keys and changes elsewhere leave mail coming in', async (t) => {
    const { id, secret } = await makeKey()
    let isOver = false
    const busy = async () => {
      for (let i = 0; !isOver; i++) {
        other.touch('key', id, Date.now() + i, null)
        await other.updateWorkspace(workspace.id, { defaultFrom: `n${i}@acme.test` })
      }
    }
    const before = await count()
    const writing = busy()
    const sessions = await Promise.all(Array.from({ length: 10 }, () => logIn(secret)))
    const told = await Promise.all(
      sessions.map(async ({ say, client }) => {
        const replies: string[] = []
        for (let n = 0; n < 50; n++) replies.push((await send(say)).slice(0, 3))
        client.socket.destroy()
        return replies
      }),
    )
    isOver = true
    await writing
    t.same([...new Set(told.flat())], ['250'])
    t.equal(await count(), before + 500)
  })
}

t.test('in a file', { skip: needsFile }, holds(inFile))
t.test('on a server', { skip: noPostgres() }, holds(onServer))
