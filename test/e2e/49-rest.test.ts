/**
 * Mail that may not go does not age: held or in a paused pool for longer than its whole
 * lifetime, over a restart, it is tried again and again once it may.
 */
import { join } from 'node:path'
import t from 'tap'
import { Database } from '../../src/store/sqlite/connect.js'
import { Postern } from '../parts/postern.js'
import { UpstreamServer } from '../relay/upstream-server.js'

t.setTimeout(120_000)
const DAY_MS = 86_400_000
const upstream = new UpstreamServer()
const port = await upstream.listen()
const postern = new Postern({
  relay: { retry: ['1s'], lifetime: '1m', poll: '100ms' },
})
t.teardown(async () => {
  await postern.remove()
  await upstream.close()
})
await postern.start()
await postern.route(`smtp://127.0.0.1:${port}?tls=none`)
const key = await postern.key()
const [member] = (await postern.json('pool', 'show', 'main')).members

/** Refuses for now so many attempts. */
const refuse = (times: number): void => {
  let left = times
  upstream.script.act = (stage) => (stage === 'rcpt' && left-- > 0 ? '451 4.2.0 later' : undefined)
}
/** As if it had been so for a day. */
const aDayLater = (): void => {
  const db = new Database(join(postern.dir, 'data', 'postern.db'))
  db.prepare('UPDATE recipients SET queued_at = queued_at - @by, held_at = held_at - @by').run({ by: DAY_MS })
  db.prepare('UPDATE pauses SET paused_at = paused_at - ?').run(DAY_MS)
  db.close()
}

for (const [what, rest, go] of [
  [
    'held',
    ['queue', 'hold', '--pool', 'main', '--reason', 'x'],
    ['queue', 'release', '--pool', 'main', '--yes'],
  ],
  ['in a paused pool', ['upstream', 'pause', member.id], ['upstream', 'resume', member.id]],
] as const) {
  t.test(`${what}, it keeps its lifetime`, async (t) => {
    refuse(1_000)
    const mail = { from: 'a@acme.test', to: 'ana@example.com', text: 'x' }
    const { id } = (await postern.api('POST', '/v1/emails', key, mail)).body
    await postern.until(key, id, ['deferred'])
    await postern.json(...rest)
    await postern.stop()
    aDayLater()
    refuse(2)
    await postern.start()
    await postern.json(...go)
    const record = await postern.until(key, id, ['sent', 'delivered', 'bounced'])
    t.match(record, { status: 'sent' })
  })
}
