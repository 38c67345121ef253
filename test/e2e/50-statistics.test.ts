/**
 * What statistics say, against what the events of the very mails say: the sandbox
 * with real reports, a real upstream, and a daemon that is killed while it counts.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import { UpstreamServer } from '../relay/upstream-server.js'

t.setTimeout(240_000)
const server = new UpstreamServer()
const port = await server.listen()
const postern = new Postern({ relay: { poll: '100ms', retry: ['1s'], lifetime: '5m' } })
t.teardown(async () => {
  await postern.remove()
  await server.close()
})
await postern.start()
const live = await postern.key()
const test = await postern.key('--mode', 'test')
await postern.route(`smtp://127.0.0.1:${port}?tls=none`)
// by the recipient: refused for good, put off once, or taken
const putOff = new Set<string>()
server.script.act = (stage, line) => {
  if (stage !== 'rcpt') return undefined
  if (line.includes('<gone')) return '550 5.1.1 no such user'
  if (!line.includes('<later') || putOff.has(line)) return undefined
  putOff.add(line)
  return '451 4.7.1 Greylisted, come again'
}

const send = async (key: string, to: readonly string[], more: object = {}): Promise<string> => {
  const body = { from: 'App <app@gw.test>', to, subject: 'counted', text: 'hello', ...more }
  const answer = await postern.api('POST', '/v1/emails', key, body)
  if (answer.status !== 202) throw new Error(answer.text)
  return answer.body.id
}

interface Group {
  readonly key: string
  readonly totals: { readonly sent: number; readonly rates: object }
}

interface Told {
  readonly type: string
  readonly change: boolean
  readonly reason?: string
  readonly detail?: { readonly class?: string }
}

const eventsOf = async (key: string, ids: readonly string[]): Promise<readonly Told[]> => {
  const lists = await Promise.all(
    ids.map(async (id) => (await postern.api('GET', `/v1/emails/${id}/events?limit=100`, key)).body.data),
  )
  return lists.flat().filter(({ change }: Told) => change)
}

/** What the events of these mails say. */
const expected = async (key: string, ids: readonly string[]) => {
  const events = await eventsOf(key, ids)
  const of = (type: string, more: (one: Told) => boolean = () => true): number =>
    events.filter((one) => one.type === `email.${type}` && more(one)).length
  const suppressed = of('bounced', ({ reason }) => reason === 'suppressed')
  const hard = of('bounced', ({ detail }) => detail?.class === 'hard')
  return {
    accepted: of('queued') + suppressed,
    sent: of('sent'),
    delivered: of('delivered'),
    deferred: of('deferred'),
    complained: of('complained'),
    suppressed,
    bounced: { hard, soft: of('bounced') - suppressed - hard },
  }
}

/** Statistics, once all that is in the log is counted. */
const counted = async (key: string, query = '') => {
  const from = Date.now()
  const ask = async () => (await postern.api('GET', `/v1/statistics${query}`, key)).body
  return eventually('all is counted', async () => {
    const body = await ask()
    return Date.parse(body.as_of) >= from && body
  })
}

const agree = async (t: Test, key: string, ids: readonly string[]): Promise<void> => {
  const wanted = await expected(key, ids)
  t.match((await counted(key)).totals, wanted)
  t.match((await counted(key, '?interval=minute')).totals, wanted, 'by the minute')
  t.match((await counted(key, '?interval=day&tz=Asia/Tashkent')).totals, wanted, 'by the day of Tashkent')
  t.match((await counted(key, '?interval=day&tz=Asia/Kolkata')).totals, wanted, 'by the day of Kolkata')
  const groups = (await counted(key, '?group_by=recipient_domain&limit=100')).groups as {
    totals: { accepted: number }
  }[]
  t.equal(
    groups.reduce((sum, { totals }) => sum + totals.accepted, 0),
    wanted.accepted,
  )
}

t.test('the sandbox: delivered, bounced, deferred, complained, suppressed', async (t) => {
  const names = [
    'delivered',
    'bounced',
    'bounced+5.2.2',
    'late-bounce',
    'deferred',
    'complained',
    'suppressed',
    'ooto',
  ]
  const ids = await Promise.all(
    names.map((name) => send(test, [`${name}@example.com`, `b.${name}@other.test`])),
  )
  ids.push(await send(test, ['x@a.test', 'bounced@b.test', 'suppressed@c.test']))
  const complained = ids[names.indexOf('complained')] ?? ''
  const late = ids[names.indexOf('late-bounce')] ?? ''
  await eventually('the late reports have come', async () => {
    const types = (await eventsOf(test, [complained, late])).map(({ type }) => type)
    return types.includes('email.complained') && types.includes('email.bounced')
  })
  for (const id of ids) await postern.until(test, id, ['delivered', 'bounced'])
  await agree(t, test, ids)
  const { totals } = await counted(test)
  t.ok(totals.bounced.hard > 0 && totals.complained === 1 && totals.suppressed >= 2 && totals.delivered > 5)
  t.equal((await counted(live)).totals.accepted, 0, 'a test is no live mail')
})

t.test('a real upstream: sent, refused, greylisted', async (t) => {
  const ids = [
    await send(live, ['ana@one.test', 'gone@one.test', 'later@two.test'], {
      tags: [{ name: 'kind', value: 'a' }],
    }),
    await send(live, ['bo@two.test']),
    await send(live, ['gone2@three.test']),
  ]
  for (const id of ids) await postern.until(live, id, ['sent', 'bounced'])
  await agree(t, live, ids)
  const { totals, groups } = await counted(live, '?group_by=upstream')
  t.match(totals, { accepted: 5, sent: 3, deferred: 1, greylisted: 1, bounced: { total: 2, hard: 2 } })
  t.match(groups, [
    { name: `127.0.0.1:${port}`, totals: { sent: 3, bounced: { total: 2 }, rates: { bounced: 0.4 } } },
  ])
  t.match((await counted(live, '?group_by=category')).groups, [
    { key: 'unknown_user', totals: { bounced: { total: 2 } } },
  ])
  t.equal(totals.time_to_sent.count, 3)
  const { as_of: _, ...told } = await counted(live)
  t.match(await postern.json('stats', '--workspace', 'default'), told, 'and on the command line')
  const { stdout, code } = await postern.cli('stats', '--by', 'domain')
  t.equal(code, 0)
  t.match(stdout, /5 accepted, 1 greylisted/)
  t.match(stdout, /^two\.test +2 +2 /m)
  t.notMatch(stdout, /█|\u001b/, 'neither bars nor colours in a pipe')
})

t.test('killed while it counts, again and again: no mail twice, none missing', async (t) => {
  const batch = Array.from({ length: 50 }, (_, i) => ({
    from: 'App <app@gw.test>',
    to: `r${i}@d${i % 7}.test`,
    subject: 'many',
    text: 'hello',
  }))
  for (let round = 0; round < 4; round++) {
    const sends = Array.from({ length: 8 }, () =>
      postern.api('POST', '/v1/emails/batch', live, batch).catch(() => null),
    )
    // dies while later batches come in and earlier ones are counted
    await sends[round * 2]
    await postern.stop('SIGKILL')
    await Promise.all(sends)
    await postern.start()
  }
  const stored = (await postern.api('GET', '/v1/emails?limit=1', live)).body.pagination.total as number
  t.ok(stored > 4 * 50, `${stored} mails are stored`)
  await eventually('all are relayed', async () => (await counted(live)).totals.sent >= stored - 1, {
    ms: 120_000,
    seen: async () => (await counted(live)).totals,
  })
  const { totals } = await counted(live)
  // three mails of the test before have five recipients
  t.equal(totals.accepted, stored + 2)
  t.equal(totals.sent, stored)
  const hours = (await counted(live)).data as { accepted: number }[]
  t.equal(
    hours.reduce((sum, { accepted }) => sum + accepted, 0),
    stored + 2,
  )
})

t.test('mail that comes from another store was accepted there', async (t) => {
  const there = new Postern()
  t.teardown(() => there.remove())
  await there.start()
  const body = {
    from: 'App <app@gw.test>',
    to: ['came@five.test', 'gone3@five.test'],
    subject: 'x',
    text: 'y',
  }
  t.equal((await there.api('POST', '/v1/emails', await there.key(), body)).status, 202)
  const file = join(there.dir, 'queue.jsonl')
  await there.json('queue', 'export', file, '--all', '--yes')
  const before = (await counted(live)).totals
  await postern.json('queue', 'import', file, '--workspace', 'default', '--yes')
  const of = async () => (await counted(live, '?group_by=recipient_domain&limit=100')).groups as Group[]
  const isSent = async () => (await of()).find(({ key, totals }) => key === 'five.test' && totals.sent === 1)
  const { totals } = await eventually('it is sent', isSent)
  t.match(totals, { accepted: 0, bounced: { hard: 1 }, of_accepted: { sent: 0, bounced_hard: 0, tried: 0 } })
  t.match(totals.rates, { bounced: null, delivered: null })
  t.match((await counted(live)).totals, {
    accepted: before.accepted,
    sent: before.sent + 1,
    of_accepted: before.of_accepted,
    time_to_sent: before.time_to_sent,
  })
})
