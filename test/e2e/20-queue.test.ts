/**
 * The queue in an operator's hands: mail that was there before its pool, holds,
 * reroutes and purges beside a running daemon, and one tenant's flood that does
 * not keep another's single mail waiting.
 */
import t from 'tap'
import { here } from '../cli/desk.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { type UpstreamScript, UpstreamServer } from '../relay/upstream-server.js'

const upstream = async (script: UpstreamScript = {}) => {
  const server = new UpstreamServer(script)
  const port = await server.listen()
  t.teardown(() => server.close())
  return { server, url: `smtp://127.0.0.1:${port}?tls=none` }
}

const quick = await upstream()
const daemon = new Postern({ relay: { poll: '100ms', retry: ['1h'] } })
t.teardown(() => daemon.remove())
await daemon.start()
const key = await daemon.key()

const send = async (to: string, by = key): Promise<string> => {
  const { status, body, text } = await daemon.api('POST', '/v1/emails', by, {
    from: 'a@acme.test',
    to,
    subject: 'Hello',
    text: 'hello',
  })
  if (status !== 202) throw new Error(`${status} ${text}`)
  return body.id as string
}
/** In this process: a Node for each command would take most of the time. */
const cli = (...args: readonly string[]) => here([...args, '--config', daemon.configFile])
const json = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await cli(...args, '--json')
  if (code !== 0) throw new Error(`postern ${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}
const queue = (...args: readonly string[]) => json('queue', ...args)
const eventsOf = async (id: string) => (await daemon.api('GET', `/v1/emails/${id}/events`, key)).body.data

t.test('mail accepted before there was a pool goes with the workspace', async (t) => {
  const id = await send('early@example.com')
  t.match(await queue('list'), [{ email_id: id, status: 'queued' }])
  await daemon.route(quick.url)
  await daemon.until(key, id, ['sent'])
  t.equal(quick.server.received.length, 1)
  t.match(
    (await eventsOf(id)).map((event: { source: string }) => event.source),
    ['smtp', 'operator', 'api'],
  )
})

t.test('hold and release', async (t) => {
  const bare = await cli('queue', 'hold', '--workspace', 'default')
  t.match(bare, { code: 64, stderr: /--reason/ })
  t.match(await cli('queue', 'hold', '--reason', 'x'), { code: 64, stderr: /--all/ })
  const held = await queue('hold', '--workspace', 'default', '--reason', 'wrong price in it')
  t.match(held, { object: 'hold', id: /^hold_/, owner: 'operator', changed: 0 })
  const id = await send('held@example.com')
  await daemon.stop()
  await daemon.start()
  t.match(await queue('list'), [{ email_id: id, held: held.id, due_at: null }], 'it survives a restart')
  t.match(await queue('holds'), [{ id: held.id, reason: 'wrong price in it' }])
  t.match(await queue('top'), [{ held: 1, due: 0 }])
  t.equal(quick.server.received.length, 1)
  t.match(await queue('release', '--workspace', 'default', '--dry-run'), { changed: 0, matched: { held: 1 } })
  t.match(await queue('release', '--workspace', 'default', '--reason', 'price is right'), { changed: 1 })
  await daemon.until(key, id, ['sent'])
  const reasons = (await eventsOf(id)).map((event: { reason: string | null }) => event.reason)
  t.ok(reasons.includes('wrong price in it') && reasons.includes('price is right'))
  t.match((await cli('email', 'show', id)).stdout, /by an operator.*wrong price in it/)
})

t.test('retry, reroute and purge', async (t) => {
  const deferring = await upstream({
    act: (stage) => (stage === 'rcpt' ? '451 4.3.0 not now' : undefined),
  })
  await json('pool', 'create', 'slow', '--upstream', deferring.url)
  await json('workspace', 'update', 'default', '--pool', 'slow')
  const first = await send('one@a.example')
  const second = await send('two@b.example')
  await daemon.until(key, first, ['deferred'])
  await daemon.until(key, second, ['deferred'])

  t.match(await queue('retry', '--domain', 'a.example'), { changed: 1 })
  const tries = () => deferring.server.lines.filter((line) => line.includes('one@a.example')).length
  await eventually('it is tried again', () => tries() >= 2)
  const bounced = ['purge', '--domain', 'b.example', '--reason', 'sent by mistake']
  t.match(await cli('queue', ...bounced), { code: 64, stderr: /1 waiting.*\n.*--yes/s })
  t.match(await queue(...bounced, '--dry-run'), { changed: 0 })
  t.match(await queue(...bounced, '--yes'), { changed: 1 })
  t.match((await daemon.until(key, second, ['bounced'])).recipients, [{ reason: 'sent by mistake' }])

  await daemon.until(key, first, ['deferred'])
  const moved = await queue('reroute', '--email', first, '--to', 'main', '--reason', 'slow is slow', '--yes')
  t.match(moved, { changed: 1 })
  await queue('retry', '--email', first)
  await daemon.until(key, first, ['sent'])
  t.match(await cli('queue', 'reroute', '--all', '--to', 'sandbox', '--reason', 'x', '--yes'), {
    code: 65,
  })
  t.match(await cli('queue', 'hold', '--upstream', 'mta1', '--reason', 'x'), {
    code: 64,
    stderr: /upstream pause mta1/,
  })
})
