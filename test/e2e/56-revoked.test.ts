/**
 * Who may send is looked at where it counts, whoever changed it: here another process on the same folder, beside a daemon
 * that is idle and knows nothing of it. And a mail that is on its way in is decided by what stands when it is stored.
 */
import { join } from 'node:path'
import t from 'tap'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { needsFile } from '../parts/store.js'
import { type Client, dial } from '../smtp/client.js'

if (needsFile !== false) t.bailout(needsFile)
const ROUNDS = 100

const serve = async () => {
  const daemon = new Postern({
    submission: [{ host: '127.0.0.1', port: 0, tls: 'none' }],
    rate_limit: { auth_failures: 1_000_000, per_minute: 1_000_000 },
  })
  await daemon.start()
  const other = openSqliteStore({ dataDir: join(daemon.dir, 'data'), daemon: false })
  await other.open()
  t.teardown(async () => {
    await other.close()
    await daemon.remove()
  })
  const session = (await daemon.json('session', 'create')).token as string
  const [account] = await other.accounts()
  const accountId = account?.id ?? ''
  const workspace = await other.workspace(accountId, 'default')
  if (workspace === null) throw new Error('no workspace')
  const makeKey = async () => {
    const made = await daemon.api('POST', '/v1/api-keys', session, { name: 'x', workspace_id: workspace.id })
    return { id: made.body.id as string, secret: (made.body.token ?? made.body.secret) as string }
  }
  return { daemon, other, session, accountId, workspace, makeKey }
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

type Served = Awaited<ReturnType<typeof serve>>
const { daemon, other, accountId, workspace, makeKey } = needsFile ? ({} as Served) : await serve()

const count = async (): Promise<number> => {
  const filter = { accountId, workspaceId: null, mode: null, status: null, to: null, tag: null }
  const page = { limit: 1, direction: 'older', anchor: null, countUpTo: 10_000 } as const
  return Number((await other.emails({ ...filter, createdAfter: null, createdBefore: null }, page)).total)
}

t.test(
  'a key that another process revoked is refused at once, everywhere',
  { skip: needsFile },
  async (t) => {
    const wrong: unknown[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const { id, secret } = await makeKey()
      const { client, say, said } = await logIn(secret)
      const kept = { 'idempotency-key': `kept-${round}` }
      const before = [
        said.slice(0, 3),
        (await send(say)).slice(0, 3),
        (await daemon.api('POST', '/v1/emails', secret, body, kept)).status,
      ]
      await other.revokeKey(accountId, id)
      const after = [
        (await daemon.api('GET', '/v1/emails', secret)).status,
        (await say(MAIL)).slice(0, 3),
        (await daemon.api('POST', '/v1/emails', secret, body)).status,
        (await daemon.api('POST', '/v1/emails', secret, body, kept)).status,
      ]
      const again = await logIn(secret)
      client.socket.destroy()
      again.client.socket.destroy()
      const told = [...before, ...after, again.said.slice(0, 3)].join(' ')
      if (told !== '235 250 202 401 421 401 401 535') wrong.push({ round, told })
    }
    t.same(wrong, [])
  },
)

t.test('what changes between DATA and its dot decides', { skip: needsFile }, async (t) => {
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
  const { id: pool } = await daemon.json('pool', 'create', 'eu', '--upstream', 'smtp://127.0.0.1:9?tls=none')
  await other.updateWorkspace(workspace.id, { routes: [{ domain: 'example.com', poolId: pool }] })
  const left = async () =>
    Number((await daemon.api('GET', '/v1/emails', secret)).headers.get('x-ratelimit-remaining'))
  const rate = await left()
  const id = (await say(MESSAGE)).match(/em_\w+/)?.[0] ?? ''
  t.equal((await other.email({ accountId, workspaceId: null, mode: null }, id))?.poolId, pool, 'a new route')
  t.equal(await left(), rate, 'deciding again counts no second send')
  client.socket.destroy()
})

t.test('uses of keys and changes elsewhere leave mail coming in', { skip: needsFile }, async (t) => {
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
