import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createLog, type Log, silentLog } from '../../src/base/log.js'
import { deriveKeys, readReturnPath, verifyReturnPath } from '../../src/mail/return-path.js'
import { createRelay } from '../../src/relay/relay.js'
import { shareStore } from '../../src/store/open.js'
import type { Store } from '../../src/store/port/store.js'
import { bounceWith } from '../parts/settings.js'
import { poolRow, upstreamRow } from './parts.js'
import { ACCOUNT, accept, newEmail, openStore, untilStatus } from './store-parts.js'
import { UpstreamServer } from './upstream-server.js'

const pepper = randomBytes(32)
const keys = deriveKeys(pepper)

const relayOf = (store: Store, log: Log = silentLog()) =>
  createRelay({
    queue: () => shareStore(store, 'relay'),
    config: {
      hostname: 'postern.test',
      relay: { retry: [1_000], lifetime: 60_000, poll: 500, pools: null, http_endpoints: [] },
      bounce: bounceWith(),
    },
    pepper,
    log,
  })

t.test('fresh mail and mail from before the start both go out, once', async (t) => {
  const server = new UpstreamServer()
  const port = await server.listen()
  t.teardown(() => server.close())
  const store = await openStore(t, [poolRow([upstreamRow(port)])])
  const early = newEmail('pool_test', ['early@example.com'])
  await accept(store, early)
  const relay = relayOf(store)
  await relay.start()
  const late = newEmail('pool_test', ['late@example.com', 'later@example.com'])
  await accept(store, late)
  await untilStatus(store, early, 'sent')
  await untilStatus(store, late, 'sent')
  t.equal(server.received.length, 3)
  for (const { mail, rcpt } of server.received) {
    const path = /^MAIL FROM:<([^>]+)> .*ENVID=e1\w{32}$/.exec(mail)?.[1] ?? ''
    const address = /^RCPT TO:<([^>]+)>/.exec(rcpt[0] ?? '')?.[1] ?? ''
    t.ok(verifyReturnPath(keys, path, { workspaceId: 'ws_test', address }), 'the return path is ours')
    t.ok(readReturnPath(path))
  }
  const page = { limit: 10, direction: 'older', anchor: null, countUpTo: 0 } as const
  const { rows } = await store.events(late.id, page)
  t.match(rows[0], {
    type: 'email.sent',
    source: 'smtp',
    attempt: 1,
    applied: true,
    detail: { stage: 'dot' },
  })
  await relay.stop()
  await relay.stop()
  t.match(relay.stats(), { attempts: 3, accepted: 3, inFlight: 0 })
})

t.test('a pool made later is picked up without a restart', async (t) => {
  const server = new UpstreamServer()
  const port = await server.listen()
  t.teardown(() => server.close())
  const store = await openStore(t, [poolRow([])])
  const relay = relayOf(store)
  await relay.start()
  const mail = newEmail('pool_test', ['you@example.com'])
  await accept(store, mail)
  await store.updatePool({ ...poolRow([upstreamRow(port)]), accountId: ACCOUNT })
  relay.reload()
  await untilStatus(store, mail, 'sent')
  t.equal(server.received.length, 1)
  await relay.stop()
})

t.test('attempts are told at the level of the log, also of one that was changed', async (t) => {
  const server = new UpstreamServer()
  const port = await server.listen()
  t.teardown(() => server.close())
  const store = await openStore(t, [poolRow([upstreamRow(port)])])
  const lines: string[] = []
  const log = createLog('warn', { write: (line: string) => void lines.push(line) })
  const relay = relayOf(store, log)
  await relay.start()
  const send = async (): Promise<void> => {
    const mail = newEmail('pool_test', ['you@example.com'])
    await accept(store, mail)
    await untilStatus(store, mail, 'sent')
  }
  await send()
  log.level = 'info'
  relay.renew([])
  // the order and the mail come by different ways
  for (let i = 0; i < 50 && lines.length === 0; i++) await send()
  t.match(JSON.parse(lines[0] ?? '{}'), {
    level: 'info',
    msg: 'attempted',
    domain: 'example.com',
    seen: 'accepted',
  })
  await relay.stop()
  t.ok(relay.stats().attempts > lines.length, 'the first is not among them')
})
