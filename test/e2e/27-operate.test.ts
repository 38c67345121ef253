/**
 * The queue and the domains over HTTP beside the command line, on a real daemon: each
 * operation at both doors gives the same record, and what is held over HTTP is
 * relayed once it is released there.
 */
import t from 'tap'
import { here } from '../cli/desk.js'
import { Postern } from '../parts/postern.js'
import { UpstreamServer } from '../relay/upstream-server.js'

const daemon = new Postern({ relay: { poll: '100ms', retry: ['1h'] } })
t.teardown(() => daemon.remove())
await daemon.start()
const key = await daemon.key()
const session = (await daemon.json('session', 'create')).token as string
const server = new UpstreamServer({
  act: (stage, line) =>
    stage === 'rcpt' && line.includes('@later.example') ? '451 4.3.0 not now' : undefined,
})
t.teardown(() => server.close())
await daemon.route(`smtp://127.0.0.1:${await server.listen()}?tls=none`)

const json = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await here([...args, '--config', daemon.configFile, '--json'])
  if (code !== 0) throw new Error(`postern ${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}
const api = async (method: string, path: string, body?: unknown, by = session) =>
  (await daemon.api(method, path, by, body)).body
const send = async (to: string): Promise<string> =>
  (await api('POST', '/v1/emails', { from: 'a@acme.test', to, subject: 'x', text: 'x' }, key)).id
type Row = Record<string, unknown>
/** What differs between two of a kind. */
const alike = ({ id: _, created_at: __, ...rest }: Row) => rest

t.test('held over HTTP, released over HTTP, relayed', async (t) => {
  const held = await api('POST', '/v1/holds', { scope: { all: true }, reason: 'wrong price' }, key)
  t.match(held, { owner: 'workspace', changed: 0 })
  const id = await send('ana@example.com')
  t.match((await api('GET', '/v1/queue/entries', undefined, key)).data, [
    { email_id: id, held: held.id, due_at: null, waiting: { reason: 'held' } },
  ])
  await daemon.stop()
  await daemon.start()
  t.equal(server.received.length, 0)
  t.match(
    (await api('GET', '/v1/queue', undefined, key)).data,
    [{ held: 1, due: 0 }],
    'it survives a restart',
  )
  t.match(await api('DELETE', `/v1/holds/${held.id}`, { reason: 'right price' }, key), { changed: 1 })
  await daemon.until(key, id, ['sent'])
  t.equal(server.received.length, 1)
  const told = (await api('GET', `/v1/emails/${id}/events`, undefined, key)).data
  const reasons = told.map(({ reason }: Row) => reason)
  t.ok(reasons.includes('wrong price') && reasons.includes('right price'))
})

t.test('each verb of the queue at both doors', async (t) => {
  const id = await send('ben@later.example')
  await daemon.until(key, id, ['deferred'])
  t.strictSame(await json('queue', 'list'), (await api('GET', '/v1/queue/entries')).data)
  t.strictSame(await json('queue', 'list', '--state', 'held'), [])
  t.strictSame(await json('queue', 'top'), (await api('GET', '/v1/queue')).data)
  const scope = { domain: 'later.example' }
  const flags = ['--domain', 'later.example', '--reason', 'x']
  const looks = [
    ['retry', {}, []],
    ['release', {}, []],
    ['reroute', { to: 'default' }, ['--to', 'default']],
    ['purge', {}, []],
  ] as const
  for (const [verb, more, words] of looks) {
    const printed = await json('queue', verb, ...flags, ...words, '--dry-run')
    const answered = await api('POST', `/v1/queue/${verb}`, { scope, reason: 'x', dry_run: true, ...more })
    t.match(printed, { action: verb, matched: { waiting: 1 }, dry_run: true })
    t.strictSame(printed, answered, verb)
  }
  const printed = await json('queue', 'hold', ...flags)
  t.match(printed, { object: 'hold', changed: 1, matched: { waiting: 1 } })
  t.strictSame(await json('queue', 'holds'), (await api('GET', '/v1/holds')).data)
  const lifted = await json('queue', 'release', printed.id)
  t.strictSame(lifted, { id: printed.id, object: 'hold', deleted: true, changed: 1 })
  const answered = await api('POST', '/v1/holds', { scope, reason: 'x' })
  t.strictSame(alike(printed), alike(answered))
  t.strictSame(await api('DELETE', `/v1/holds/${answered.id}`), { ...lifted, id: answered.id })
  const purged = await api('POST', '/v1/queue/purge', { scope, reason: 'x' })
  t.match(purged, { matched: { waiting: 1 }, changed: 1 })
  t.strictSame(
    { ...(await json('queue', 'purge', ...flags, '--yes')), matched: purged.matched, changed: 1 },
    purged,
  )
  await daemon.until(key, id, ['bounced'])
  const gone = await here(['queue', 'release', printed.id, '--config', daemon.configFile])
  t.match(gone, { code: 65, stderr: /Hold not found; postern queue holds/ })
  const both = await here(['queue', 'release', printed.id, '--all', '--config', daemon.configFile])
  t.equal(both.code, 64)
})

t.test('each verb of domains at both doors', async (t) => {
  const added = await json('domain', 'add', 'cli.example')
  const made = await api('POST', '/v1/domains', { name: 'http.example' })
  t.strictSame(Object.keys(added), Object.keys(made))
  t.strictSame(await json('domain', 'list'), (await api('GET', '/v1/domains')).data)
  t.strictSame(await json('domain', 'show', 'http.example'), await api('GET', '/v1/domains/http.example'))
  const rotated = await api('POST', '/v1/domains/cli.example/rotate', { now: true })
  t.strictSame(await json('domain', 'show', 'cli.example'), rotated)
  t.strictSame(Object.keys(await json('domain', 'rotate', 'http.example')), Object.keys(rotated))
  const removed = await json('domain', 'remove', 'cli.example', '--yes')
  t.strictSame({ ...removed, id: made.id }, await api('DELETE', '/v1/domains/http.example'))
  t.strictSame(await json('domain', 'list'), [])
})
