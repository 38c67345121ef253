/**
 * What the rooms tell of themselves, by the built daemon: alarms with their holds,
 * upstreams that are down and up, domains, lists. Each is told once, although the
 * daemon is killed in the middle of it, again and again.
 */
import { join } from 'node:path'
import t from 'tap'
import type { EventType } from '../../src/mail/event-type.js'
import type { LogRow } from '../../src/store/port/log.js'
import { signedIn } from '../parts/browser.js'
import { DnsServer } from '../parts/dns-server.js'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { openStoreIn } from '../parts/store.js'
import { UpstreamServer } from '../relay/upstream-server.js'

t.setTimeout(300_000)
const upstream = new UpstreamServer()
const port = await upstream.listen()
upstream.script.act = (stage, line) =>
  stage === 'rcpt' && line.includes('<nobody') ? '550 5.1.1 no such user' : undefined
const dns = await new DnsServer().start()
const daemon = new Postern({
  relay: { poll: '100ms', retry: ['1s'] },
  rate_limit: { per_minute: 1_000_000 },
  domains: { recheck: '1s', resolver: `127.0.0.1:${dns.port}` },
})
t.teardown(async () => {
  await daemon.remove()
  await upstream.close()
  dns.stop()
})
await daemon.start()
await daemon.route(`smtp://127.0.0.1:${port}?tls=none`)

/** The log, read beside the daemon; oldest first. */
const store = await openStoreIn(join(daemon.dir, 'data'), { daemon: false })
await store.open()
t.teardown(() => store.close())
const [account] = await store.accounts()
const told = async (
  types: readonly EventType[],
  workspaceId: string | null = null,
): Promise<readonly LogRow[]> => {
  const filter = {
    accountId: account?.id ?? '',
    workspaceId,
    accountWide: workspaceId === null,
    mode: null,
    types,
    emailId: null,
    recipient: null,
    change: null,
    createdAfter: null,
    createdBefore: null,
  }
  const { rows } = await store.log(filter, { limit: 1_000, direction: 'older', anchor: null, countUpTo: 0 })
  return [...rows].reverse()
}

let serial = 0
/** Mails to so many people who are not there. */
const bounce = async (key: string, n: number): Promise<void> => {
  const one = () => ({ from: 'a@acme.test', to: `nobody${++serial}@example.com`, subject: 'x', text: 'x' })
  for (let left = n; left > 0; left -= 50) {
    const mails = Array.from({ length: Math.min(50, left) }, one)
    const { status, text } = await daemon.api('POST', '/v1/emails/batch', key, mails)
    if (status !== 202) throw new Error(text)
  }
}
const send = async (key: string, to: string): Promise<string> => {
  const body = { from: 'a@acme.test', to, subject: 'x', text: 'x' }
  return (await daemon.api('POST', '/v1/emails', key, body)).body.id
}
const tenant = async (name: string, ...options: readonly string[]) => {
  const { id } = await daemon.json('workspace', 'create', name, '--pool', 'main', ...options)
  const { secret } = await daemon.json('key', 'create', '--workspace', id)
  return { id: id as string, key: secret as string }
}
const metric = async (id: string) => {
  const answer = await fetch(`http://127.0.0.1:${daemon.ports.management}/metrics`)
  return (await answer.text())
    .split('\n')
    .filter((line) => line.startsWith('postern_workspace_alarm{') && line.includes(id))
}

t.test('an alarm: event, metric, workspace show, doctor, log line', async (t) => {
  const { id, key } = await tenant('Plain')
  await bounce(key, 40)
  await eventually('the alarm', async () => (await told(['workspace.rate_alarm'], id)).length > 0)
  t.match(await told(['workspace.rate_alarm'], id), [
    {
      workspaceId: id,
      data: {
        ...{ workspace_id: id, alarm: 'hard_bounces', window_seconds: 3600, hold_id: null },
        cause: { reason: 'unknown_user', title: 'No such mailbox' },
      },
    },
  ])
  t.same(await metric(id), [`postern_workspace_alarm{workspace="${id}",alarm="hard_bounces"} 1`])
  const record = await daemon.json('workspace', 'show', id)
  t.match(record, {
    on_alarm: 'notify',
    alarmed: [{ alarm: 'hard_bounces', cause: { reason: 'unknown_user', title: 'No such mailbox' } }],
  })
  t.match((await daemon.api('GET', `/v1/workspaces/${id}`, key)).body, record)
  t.match(
    (await daemon.cli('workspace', 'show', id)).stdout,
    /alarms +\d+ of \d+ recipients bounced hard within an hour \(\S+ %\), mostly: No such mailbox \(\d+ of \d+\)/,
  )
  t.match((await daemon.cli('doctor')).stdout, /alarm: plain: \d+ of \d+ recipients bounced hard/)
  t.match((await daemon.cli('status')).stdout, /\nalarm: plain: \d+ of \d+ .*mostly: No such mailbox/)
  t.match(await daemon.json('status'), { alarms: [{ workspace_id: id, ...record.alarmed[0] }] })
  t.same((await daemon.json('status', '--test')).alarms, [])
  t.ok(daemon.output.some((line) => line.includes('"alarm raised"') && line.includes(id)))
  const { html } = await (await signedIn(daemon)).visit('/')
  t.match(
    html,
    /<bdi>Plain<\/bdi>: <\/strong>[\d.]+ % bounced hard within an hour.*Mostly: <a href="\/emails\?workspace=plain&amp;mode=live&amp;q=status%3Abounced\+reason%3Aunknown_user">No such mailbox<\/a> \(\d+ of \d+\).*; its limit: at 5 %, and 20 or more\./s,
  )
  t.match(html, 'href="/emails?workspace=plain&amp;mode=live&amp;q=status%3Abounced"')
  t.match(html, `href="/queue/order?verb=hold&amp;workspace_id=${id}"`)
  const own = await (await signedIn(daemon)).visit('/workspaces/plain')
  t.match(
    own.html,
    /bounced hard within an hour.*Mostly: <a [^>]*>No such mailbox<\/a>/s,
    'on its page as well',
  )
  // nobody at that server but them: a person decides
  await eventually('all forty wait', async () => (await store.openIncidents()).suppressions === 40)
  t.equal((await told(['suppression.incident'], id)).length, 1)
  const [listed] = await told(['suppression.added'], id)
  t.match(listed, { mode: 'live', data: { origin: 'bounce', reason: 'unknown_user', scope: 'workspace' } })
  t.equal((await told(['workspace.rate_alarm'], id)).length, 1)
})

t.test('held until a person releases it, and not again by the same alarm', async (t) => {
  const { id, key } = await tenant('Careful', '--on-alarm', 'hold')
  await bounce(key, 30)
  await eventually('the alarm', async () => (await told(['workspace.rate_alarm'], id)).length > 0)
  const [alarm] = await told(['workspace.rate_alarm'], id)
  const email = await send(key, 'ana@example.com')
  const waiting = async () => (await daemon.api('GET', `/v1/emails/${email}`, key)).body.waiting
  await eventually('it is held', async () => (await waiting())?.reason === 'held')
  t.match(await waiting(), { reason: 'held' })
  t.notMatch(JSON.stringify(await waiting()), /bounced hard/, 'a workspace key reads no reason of a hold')
  const [hold, ...more] = (await store.holds(account?.id ?? '')).filter(
    ({ workspaceId }) => workspaceId === id,
  )
  t.same(more, [])
  t.match(hold, { id: alarm?.data?.hold_id, reason: /^alarm: \d+ of \d+ recipients bounced hard/ })
  const shown = await daemon.cli('workspace', 'show', id)
  t.match(shown.stderr, /an alarm holds its mail: postern queue release --workspace careful/)
  await daemon.json('queue', 'release', '--workspace', 'careful')
  await daemon.until(key, email, ['sent'])
  await bounce(key, 30)
  const after = await send(key, 'bob@example.com')
  await daemon.until(key, after, ['sent'])
  t.equal((await told(['workspace.rate_alarm'], id)).length, 1)
  t.same(
    (await store.holds(account?.id ?? '')).filter(({ workspaceId }) => workspaceId === id),
    [],
  )
})

t.test('killed again and again: one alarm, one hold', async (t) => {
  const { id, key } = await tenant('Killed', '--on-alarm', 'hold')
  for (let n = 0; n < 6; n++) {
    await bounce(key, 8)
    // some are refused, counted and told by now, and some are not
    await eventually('some are refused', async () => (await told(['email.bounced'], id)).length >= n * 2 + 1)
    await daemon.stop('SIGKILL')
    await daemon.start()
  }
  await eventually('the alarm', async () => (await told(['workspace.rate_alarm'], id)).length > 0)
  await daemon.stop('SIGKILL')
  await daemon.start()
  const other = await tenant('After')
  await bounce(other.key, 30)
  await eventually('a later alarm', async () => (await told(['workspace.rate_alarm'], other.id)).length > 0)
  t.equal((await told(['workspace.rate_alarm'], id)).length, 1)
  t.equal((await store.holds(account?.id ?? '')).filter(({ workspaceId }) => workspaceId === id).length, 1)
})

t.test('a flood in test mode alarms nobody', async (t) => {
  const { id } = await tenant('Tested', '--on-alarm', 'hold')
  const { secret } = await daemon.json('key', 'create', '--workspace', id, '--mode', 'test')
  const mails = Array.from({ length: 60 }, (_, n) => ({
    from: 'a@acme.test',
    to: `bounced+${n}@x.test`,
    subject: 'x',
    text: 'x',
  }))
  const { body } = await daemon.api('POST', '/v1/emails/batch', secret, mails)
  for (const mail of body.data) await daemon.until(secret, mail.id, ['bounced'])
  const other = await tenant('Later')
  await bounce(other.key, 30)
  await eventually('a later alarm', async () => (await told(['workspace.rate_alarm'], other.id)).length > 0)
  t.same(await told(['workspace.rate_alarm'], id), [])
  t.same(await metric(id), [])
})

t.test('limits are set over HTTP and by the command line, and misspelt ones refused', async (t) => {
  const { secret } = await daemon.json('key', 'create', '--platform')
  const { id } = await tenant('Limits', '--alarm-complaints', '0.5%/7', '--alarm-deferrals', 'off')
  const path = `/v1/workspaces/${id}`
  t.match((await daemon.api('GET', path, secret)).body.alarms, {
    complaints: { rate: 0.005, at_least: 7 },
    hard_bounces: { rate: 0.05, at_least: 20 },
    deferrals: 'off',
  })
  const change = { alarms: { hard_bounces: { at_least: 3 }, deferrals: { rate: 0.5 } }, on_alarm: 'hold' }
  const { status, body } = await daemon.api('PATCH', path, secret, change)
  t.equal(status, 200)
  t.match(body, {
    alarms: {
      complaints: { rate: 0.005, at_least: 7 },
      hard_bounces: { rate: 0.05, at_least: 3 },
      deferrals: { rate: 0.5, at_least: 50 },
    },
    on_alarm: 'hold',
    alarmed: [],
  })
  t.equal((await daemon.api('PATCH', path, secret, body)).status, 200, 'as it was read')
  for (const wrong of [
    { alarms: { complaints: { rate: 2 } } },
    { alarms: { complaints: { rate: 0 } } },
    { alarms: { bounces: 'off' } },
    { alarms: { complaints: 'of' } },
    { on_alarm: 'stop' },
  ]) {
    const answer = await daemon.api('PATCH', path, secret, wrong)
    t.match(answer, { status: 422, body: { code: 'validation.request_invalid' } }, JSON.stringify(wrong))
  }
  t.match(await daemon.cli('workspace', 'update', id, '--alarm-complaints', 'lots'), {
    code: 64,
    stderr: /0\.3%\/5/,
  })
  await daemon.json('workspace', 'update', id, '--alarm-complaints', 'default')
  t.match((await daemon.api('GET', path, secret)).body.alarms.complaints, { rate: 0.003, at_least: 5 })
})

t.test('an upstream is down and up, each told once, over a kill between them', async (t) => {
  const key = await daemon.key()
  await upstream.close()
  await send(key, 'cleo@example.com')
  await eventually('it is down', async () => (await told(['upstream.down'])).length > 0)
  const pools = await daemon.json('pool', 'list')
  const main = pools.find(({ name }: { name: string }) => name === 'main')
  const [down] = await told(['upstream.down'])
  t.match(down, {
    workspaceId: null,
    data: { upstream_id: main.members[0].id, host: '127.0.0.1', port, why: { stage: 'connect' } },
  })
  t.match(JSON.stringify(down?.data?.egress_pool_ids), main.id)
  await daemon.stop('SIGKILL')
  await daemon.start()
  await eventually('its breaker is open again', async () => {
    const answer = await fetch(`http://127.0.0.1:${daemon.ports.management}/upstreams`)
    return (await answer.text()).includes('"breaker":"open"')
  })
  const back = new UpstreamServer()
  t.teardown(() => back.close())
  await back.listen(port)
  await eventually('it is up', async () => (await told(['upstream.up'])).length > 0, { ms: 90_000 })
  const said = await told(['upstream.down', 'upstream.up'])
  t.same(
    said.map(({ type }) => type),
    ['upstream.down', 'upstream.up'],
  )
  t.match(said[1]?.data, { upstream_id: main.members[0].id, down_since: String })
  t.same(await store.outages(), [])
  const { id } = await daemon.json('workspace', 'show', 'default')
  t.same(await told(['upstream.down'], id), [], 'no workspace sees it')
})

t.test('a domain is verified by the daemon itself, and fails when its records go', async (t) => {
  const domain = await daemon.json('domain', 'add', 'shop.example')
  for (const { name, value } of domain.records) dns.txt.set(name, value)
  await eventually('it is verified', async () => (await told(['domain.verified'])).length > 0)
  t.match(await told(['domain.verified']), [{ data: { domain_id: domain.id, name: 'shop.example' } }])
  await daemon.json('domain', 'check', 'shop.example', '--resolver', `127.0.0.1:${dns.port}`)
  dns.txt.clear()
  await eventually('it failed', async () => (await told(['domain.failed'])).length > 0)
  t.equal((await told(['domain.verified', 'domain.failed'])).length, 2)
})
