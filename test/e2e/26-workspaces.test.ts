/** A workspace is suspended, resumed and deleted, on all three doors. */
import t from 'tap'
import { here } from '../cli/desk.js'
import { Postern } from '../parts/postern.js'
import { UpstreamServer } from '../relay/upstream-server.js'
import { dial } from '../smtp/client.js'

const upstream = new UpstreamServer({})
const port = await upstream.listen()
t.teardown(() => upstream.close())
const daemon = new Postern({
  relay: { poll: '100ms', retry: ['1h'] },
  submission: [{ host: '127.0.0.1', port: 0, tls: 'none' }],
})
t.teardown(() => daemon.remove())
await daemon.start()
await daemon.route(`smtp://127.0.0.1:${port}?tls=none`)

const cli = (...args: readonly string[]) => here([...args, '--config', daemon.configFile])
const json = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await cli(...args, '--json')
  if (code !== 0) throw new Error(`postern ${args.join(' ')} ended with ${code}: ${stderr}`)
  return JSON.parse(stdout)
}
const keyOf = async (...args: readonly string[]): Promise<string> =>
  (await json('key', 'create', ...args)).secret
const mail = { from: 'a@acme.test', to: 'b@example.test', subject: 'x', text: 'x' }
const send = (key: string, more: object = {}, headers: Record<string, string> = {}) =>
  daemon.api('POST', '/v1/emails', key, { ...mail, ...more }, headers)

/** One message over SMTP; what was said last. */
const submit = async (key: string, header = ''): Promise<string> => {
  const client = dial(daemon.ports.submission[0] ?? 0)
  await client.until(/^220/)
  const auth = Buffer.from(`\0x\0${key}`).toString('base64')
  client.socket.write(
    `EHLO x\r\nAUTH PLAIN ${auth}\r\nMAIL FROM:<a@acme.test>\r\nRCPT TO:<b@example.test>\r\nDATA\r\n`,
  )
  await client.until(/^354|^[45]\d\d /m)
  client.socket.write(
    `From: a@acme.test\r\nTo: b@example.test\r\n${header}Subject: x\r\n\r\nx\r\n.\r\nQUIT\r\n`,
  )
  const heard = await client.closed()
  return heard.split('\r\n').filter((line) => /^(250 2\.6|[45])/.test(line))[0] ?? heard
}

t.test('suspended: nothing new, replays all the same, and what waits rests', async (t) => {
  const { id } = await json('workspace', 'create', 'Shop')
  const key = await keyOf('--workspace', 'shop')
  const platform = await keyOf('--platform')
  const later = new Date(Date.now() + 3600_000).toISOString()
  const planned = await send(key, { scheduled_at: later })
  t.equal(planned.status, 202)
  const first = await send(key, {}, { 'idempotency-key': 'k1' })
  t.equal(first.status, 202)
  const firstSmtp = await submit(key, 'Idempotency-Key: k2\r\n')
  t.match(firstSmtp, /^250 2\.6\.0 Ok: queued as em_/)

  t.match(await cli('workspace', 'suspend', 'shop', '--yes'), { code: 64, stderr: /reason/ })
  t.match(await cli('workspace', 'suspend', 'shop', '--reason', 'unpaid'), { code: 64, stderr: /--yes/ })
  t.match(await json('workspace', 'suspend', 'shop', '--reason', 'unpaid', '--dry-run'), { suspended: false })
  const patched = await daemon.api('PATCH', `/v1/workspaces/${id}`, platform, { suspended: true })
  t.match(patched, { status: 200, body: { suspended: true } })
  t.match((await cli('workspace', 'show', 'shop')).stdout, /suspended +since 2/)
  t.match((await cli('workspace', 'list')).stdout, /^shop .* yes +ws_/m)

  const refusal = { status: 403, body: { code: 'workspace.suspended' } }
  t.match(await send(key), refusal)
  t.match(await send(key, { to: 'no address' }), refusal, 'before its fields are looked at')
  t.match(await send(key, {}, { 'idempotency-key': 'new' }), refusal)
  t.match(await send(platform, {}, { 'x-workspace-id': id }), refusal)
  t.match(await daemon.api('POST', '/v1/emails/batch', key, [mail, mail]), refusal)
  t.match(await submit(key), /^550 5\.7\.1 workspace\.suspended: /)
  t.match(await submit(key, 'Idempotency-Key: k3\r\n'), /^550 5\.7\.1 workspace\.suspended: /)

  const replay = await send(key, {}, { 'idempotency-key': 'k1' })
  t.strictSame([replay.status, replay.text], [202, first.text])
  t.equal(replay.headers.get('idempotent-replayed'), 'true')
  t.equal(await submit(key, 'Idempotency-Key: k2\r\n'), firstSmtp)
  t.equal((await daemon.api('GET', `/v1/emails/${first.body.id}`, key)).status, 200, 'reads go on')
  t.equal((await send(await daemon.key())).status, 202, 'and so do the others')

  const { body } = await daemon.api('PATCH', `/v1/emails/${planned.body.id}`, key, {
    scheduled_at: new Date(Date.now() + 100).toISOString(),
  })
  t.equal(body.status, 'scheduled')
  const resumed = await json('workspace', 'resume', 'shop')
  t.match(resumed, { id, suspended: false })
  t.equal((await send(key, {}, { 'idempotency-key': 'new' })).status, 202, 'a refusal kept no key')
  await daemon.until(key, planned.body.id, ['sent'])
})

t.test('deleted: its doors close at once, others go on, and a late report is taken', async (t) => {
  await json('workspace', 'create', 'Gone')
  const { id } = await json('workspace', 'show', 'gone')
  const key = await keyOf('--workspace', 'gone')
  const platform = await keyOf('--platform')
  const session = (await json('session', 'create')).token as string
  const sent = await send(key)
  await daemon.until(key, sent.body.id, ['sent'])
  const returnPath = /<([^>]+)>/.exec(upstream.received.at(-1)?.mail ?? '')?.[1] ?? ''
  await json('queue', 'hold', '--workspace', 'gone', '--reason', 'x')
  const waiting = await send(key)
  t.equal(waiting.status, 202)

  const remove = (by: string, query: string, ref = id) =>
    daemon.api('DELETE', `/v1/workspaces/${ref}${query}`, by)
  t.match(await remove(platform, '?confirm=gone'), { status: 403, body: { code: 'auth.session_required' } })
  t.match(await remove(session, ''), {
    status: 422,
    body: { errors: [{ field: 'query.confirm', kind: 'missing' }] },
  })
  t.match(await remove(session, '?confirm=shop'), {
    status: 422,
    body: { errors: [{ field: 'query.confirm' }] },
  })
  t.match(await remove(session, '?confirm=default', 'default'), {
    status: 409,
    body: { code: 'resource.conflict', reason: 'is_default' },
  })
  t.match(await cli('workspace', 'delete', 'gone', '--yes'), { code: 64, stderr: /reason/ })
  t.match(await cli('workspace', 'delete', 'gone', '--reason', 'x'), { code: 64, stderr: /--yes/ })
  t.match(await json('workspace', 'delete', 'gone', '--reason', 'x', '--dry-run'), {
    deleted: false,
    dry_run: true,
  })

  const removed = await remove(session, '?confirm=gone')
  t.equal(removed.status, 200)
  t.strictSame(removed.body, { id, object: 'workspace', deleted: true })
  t.match(await remove(session, '?confirm=gone'), { status: 404, body: { code: 'workspace.not_found' } })
  t.match(await send(key), { status: 401 })
  t.match(await submit(key), /^535 5\.7\.8/)
  t.match(await send(platform, {}, { 'x-workspace-id': id }), {
    status: 404,
    body: { code: 'workspace.not_found' },
  })
  t.match(await daemon.api('GET', `/v1/emails/${waiting.body.id}`, session), { status: 404 })
  const list = await daemon.api('GET', '/v1/emails', session)
  t.notOk(list.body.data.some((one: { workspace_id: string }) => one.workspace_id === id))
  t.notOk((await json('workspace', 'list')).some((one: { id: string }) => one.id === id))
  t.equal((await json('workspace', 'create', 'Gone')).slug, 'gone', 'the slug is free at once')

  const client = dial(daemon.ports.bounce)
  await client.until(/^220/)
  client.socket.write(`EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<${returnPath}>\r\nDATA\r\n`)
  await client.until(/^354|^[45]\d\d /m)
  client.socket.write(
    'From: mailer@x.test\r\nContent-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n' +
      '--b\r\n\r\nsorry\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; x.test\r\n\r\n' +
      'Final-Recipient: rfc822; b@example.test\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n--b--\r\n.\r\nQUIT\r\n',
  )
  t.match(await client.closed(), /\r\n250 [^\r]*\r\n221 /)
  t.match((await cli('suppression', 'list')).stdout, /^((?!b@example\.test)[\s\S])*$/)
})
