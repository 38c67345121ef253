/**
 * What an integrator can try: each recipient of the sandbox, by a test key,
 * through real SMTP and the real bounce door, as the API and the CLI tell it.
 */
import { createTransport } from 'nodemailer'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'

const postern = new Postern({ relay: { retry: ['1s'], lifetime: '5m' } })
t.teardown(() => postern.remove())
await postern.start()
const key = await postern.key('--mode', 'test')
const live = await postern.key()

interface Told {
  readonly type: string
  readonly source: string
  readonly applied: boolean
  readonly attempt: number | null
  readonly reason?: string
  readonly smtp: { readonly code: number; readonly enhanced: string | null; readonly text: string } | null
  readonly mta: { readonly host: string | null; readonly upstream_id?: string } | null
  readonly detail?: Readonly<Record<string, unknown>>
}

const send = async (to: string, more: object = {}): Promise<string> => {
  const answer = await postern.api('POST', '/v1/emails', key, {
    from: 'App <app@gw.test>',
    to,
    subject: 'sandbox',
    text: 'hello',
    ...more,
  })
  if (answer.status !== 202) throw new Error(answer.text)
  return answer.body.id
}

/** Oldest first. */
const eventsOf = async (id: string): Promise<readonly Told[]> =>
  (await postern.api('GET', `/v1/emails/${id}/events?limit=100`, key)).body.data.reverse()

/** Waits until the timeline has such an event. */
const event = async (id: string, wanted: (one: Told) => boolean): Promise<Told> => {
  return eventually('such an event', async () => (await eventsOf(id)).find(wanted), {
    seen: () => eventsOf(id),
  })
}

const steps = async (id: string): Promise<string[]> =>
  (await eventsOf(id)).filter(({ applied }) => applied).map(({ type }) => type.replace('email.', ''))

const show = async (id: string): Promise<string> => (await postern.cli('email', 'show', id)).stdout

t.test('delivered: an attempt and a report, each with all that is known', async (t) => {
  const id = await send('anyone@example.com')
  await postern.until(key, id, ['delivered'])
  t.same(await steps(id), ['queued', 'sent', 'delivered'])
  const [, attempt, report] = await eventsOf(id)
  t.match(attempt, {
    source: 'smtp',
    attempt: 1,
    smtp: { code: 250, enhanced: '2.0.0' },
    mta: { host: '127.0.0.1', upstream_id: /^up_|./ },
    detail: { stage: 'dot', ms: Number, port: Number, tls: null },
  })
  t.match(report, {
    source: 'dsn',
    applied: true,
    detail: { action: 'delivered', tier: 'T1', diagnostic: /Delivered to mailbox/ },
  })
  const text = await show(id)
  t.match(text, /attempt 1 at 127\.0\.0\.1:\d+/)
  t.match(text, /250 2\.0\.0 .*\(.*ms\)/)
  t.match(text, /report from .*Delivered to mailbox/)
})

t.test('hard and soft, at RCPT and by a report: same outcome, no list', async (t) => {
  for (const [to, code, enhanced, verdict] of [
    ['bounced@example.com', 550, '5.1.1', 'hard'],
    ['bounced+5.2.2@example.com', 552, '5.2.2', 'soft'],
    ['bounced-later@example.com', 550, '5.1.1', 'hard'],
    ['bounced-later+5.7.1@example.com', 550, '5.7.1', 'soft'],
  ] as const) {
    const id = await send(to)
    await postern.until(key, id, ['bounced'])
    const bounced = await event(id, ({ type }) => type === 'email.bounced')
    t.match(bounced, { applied: true, smtp: { code, enhanced }, detail: { class: verdict } }, to)
    t.match(await show(id), verdict)
  }
  const again = await send('bounced@example.com')
  const record = await postern.until(key, again, ['bounced'])
  t.equal(record.recipients[0].attempts, 1, 'a test can be repeated')
  for (const one of [key, live]) t.same((await postern.api('GET', '/v1/suppressions', one)).body.data, [])
})

t.test('deferred, then delivered', async (t) => {
  const id = await send('deferred@example.com')
  await postern.until(key, id, ['deferred'])
  const record = await postern.until(key, id, ['delivered'])
  t.equal(record.recipients[0].attempts, 2)
  // the report may overtake our own 250: then `sent` is told, and changes nothing
  const told = await eventsOf(id)
  const [queued, first] = told
  t.match(queued, { type: 'email.queued' })
  t.match(first, {
    type: 'email.deferred',
    attempt: 1,
    smtp: { code: 451, enhanced: '4.2.0' },
    detail: { stage: 'rcpt' },
  })
  const second = told.find(({ attempt }: { attempt: number | null }) => attempt === 2)
  t.match(second, { attempt: 2, smtp: { code: 250 } })
})

t.test('delayed, then failed', async (t) => {
  const id = await send('delayed@example.com')
  await postern.until(key, id, ['bounced'])
  t.same(await steps(id), ['queued', 'sent', 'deferred', 'bounced'])
  t.match(await event(id, ({ type }) => type === 'email.bounced'), { smtp: { enhanced: '4.4.7' } })
})

t.test('delivered, then bounced', async (t) => {
  const id = await send('late-bounce@example.com')
  await postern.until(key, id, ['bounced'])
  t.same(await steps(id), ['queued', 'sent', 'delivered', 'bounced'])
})

t.test('relayed', async (t) => {
  const id = await send('relayed@example.com')
  await postern.until(key, id, ['delivered'])
  t.match(await event(id, ({ source }) => source === 'dsn'), { detail: { action: 'relayed' } })
})

t.test('complained: in the timeline, and delivered it stays', async (t) => {
  const id = await send('complained@example.com')
  const complaint = await event(id, ({ source }) => source === 'arf')
  t.match(complaint, {
    type: 'email.complained',
    applied: true,
    reason: 'abuse',
    detail: { feedback_type: 'abuse', tier: 'T1', suppression: 'test_mode' },
  })
  t.equal((await postern.until(key, id, ['delivered'])).status, 'delivered')
  t.match(await show(id), /complained.*complaint/)
  t.same((await postern.api('GET', '/v1/suppressions', live)).body.data, [], 'live mail is not concerned')
})

t.test('out of office: delivered, and the reply is a note', async (t) => {
  const id = await send('ooto@example.com')
  await postern.until(key, id, ['delivered'])
  await eventually('the reply is read', () => postern.output.some((line) => line.includes('"autoreply"')))
  const events = await eventsOf(id)
  t.equal(events.length, 4)
  t.match(events.at(-1), { type: 'email.reported', applied: false })
})

t.test('suppressed: bounced at once, with nothing sent; unless one insists', async (t) => {
  const id = await send('suppressed@example.com')
  const record = await postern.until(key, id, ['bounced'])
  t.match(record.recipients[0], { reason: 'suppressed', attempts: 0 })
  t.match(await eventsOf(id), [{ type: 'email.bounced', source: 'system', reason: 'suppressed' }])
  t.match(await show(id), /suppressed/)
  await postern.until(key, await send('suppressed@example.com', { ignore_suppressions: true }), ['delivered'])
})

t.test('over SMTP, with a field that insists', async (t) => {
  const client = createTransport({
    host: '127.0.0.1',
    port: postern.ports.submission[0] ?? 0,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'apikey', pass: key },
  })
  for (const [field, fate] of [
    [{}, 'bounced'],
    [{ 'X-Postern-Ignore-Suppressions': 'true' }, 'delivered'],
  ] as const) {
    const sent = await client.sendMail({
      from: 'app@gw.test',
      to: 'suppressed@example.com',
      subject: 'x',
      text: 'x',
      headers: field,
    })
    const id = /queued as (em_[0-9a-z]{26})/.exec(sent.response)?.[1] ?? ''
    await postern.until(key, id, [fate])
    t.pass(fate)
  }
  client.close()
})

t.test('by the names that say it, over HTTP and SMTP', async (t) => {
  const client = createTransport({
    host: '127.0.0.1',
    port: postern.ports.submission[0] ?? 0,
    requireTLS: true,
    tls: { rejectUnauthorized: false },
    auth: { user: 'apikey', pass: key },
  })
  const bySmtp = async (to: string): Promise<string> => {
    const { response } = await client.sendMail({ from: 'app@gw.test', to, subject: 'x', text: 'x' })
    return /queued as (em_[0-9a-z]{26})/.exec(response)?.[1] ?? ''
  }
  const rows = [
    ['hard', 'bounced', 'bounced', 'hard'],
    ['soft', 'bounced', 'bounced', 'soft'],
    ['delayed-then-failed', 'bounced', 'sent deferred bounced', 'soft'],
    ['delivered-then-bounced', 'bounced', 'sent delivered bounced', 'soft'],
    ['complaint', 'delivered', 'sent delivered complained', undefined],
    ['out-of-office', 'delivered', 'sent delivered', undefined],
  ] as const
  const sent = await Promise.all(
    rows.flatMap(([name]) => [send(`${name}@example.com`), bySmtp(`${name}@example.com`)]),
  )
  for (const [at, id] of sent.entries()) {
    const [name, status, way, verdict] = rows[at >> 1] ?? rows[0]
    const walked = async () => (await steps(id)).join(' ')
    await eventually(`${name}: queued ${way}`, async () => (await walked()) === `queued ${way}`, {
      seen: walked,
    })
    const record = await postern.until(key, id, [status])
    t.equal(record.status, status, name)
    if (verdict !== undefined)
      t.match(await event(id, ({ type }) => type === 'email.bounced'), { detail: { class: verdict } })
  }
  client.close()
})

t.test('slow', async () => {
  await postern.until(key, await send('slow@example.com'), ['delivered'])
})

t.test('kill -9 between our 250 and the reports: each mail ends as its recipient says', async (t) => {
  const rows = [
    ['delivered', 'sent delivered'],
    ['bounced-later', 'sent bounced'],
    ['late-bounce', 'sent delivered bounced'],
    ['delayed', 'sent deferred bounced'],
    ['complained', 'sent delivered complained'],
  ] as const
  const sent = await Promise.all(
    Array.from({ length: 4 }, () => rows).flatMap((all) => all.map(([name]) => send(`${name}@example.com`))),
  )
  await postern.until(key, sent[0] as string, ['sent', 'delivered'])
  await postern.stop('SIGKILL')
  await postern.start()
  for (const [i, id] of sent.entries()) {
    const way = rows[i % rows.length]?.[1]
    const walked = async () => (await steps(id)).join(' ')
    await eventually(`queued ${way}`, async () => (await walked()) === `queued ${way}`, { seen: walked })
  }
  const told = await (await fetch(`http://127.0.0.1:${postern.ports.management}/metrics`)).text()
  t.match(told, /^postern_reports_lost 0$/m)
})
