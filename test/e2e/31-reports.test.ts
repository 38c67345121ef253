/**
 * A real Postfix as the upstream, and its reports as they come: what the API and
 * the CLI tell of each, and what becomes of the address.
 */
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { PlainMx } from '../parts/plain-mx.js'
import { Postern } from '../parts/postern.js'
import { freePort, noPostfix, Postfix } from '../parts/postfix.js'

interface Told {
  readonly type: string
  readonly source: string
  readonly applied: boolean
  readonly attempt: number | null
  readonly smtp: { readonly code: number; readonly enhanced: string | null; readonly text: string } | null
  readonly detail?: Readonly<Record<string, unknown>>
}

const why = noPostfix()
if (why !== null) t.plan(0, `skipped: ${why}`)
else {
  const bouncePort = await freePort()
  const mx = await new PlainMx().start()
  const upstream = await new Postfix().start({ bouncePort, plainMxPort: mx.port })
  const postern = new Postern({
    bounce: { host: '127.0.0.1', port: bouncePort, domain: 'bounce.test' },
    relay: { retry: ['1s'], lifetime: '1m' },
  })
  t.teardown(async () => {
    await postern.remove()
    upstream.stop()
    await mx.stop()
  })
  await postern.start()
  await postern.route(`smtp://127.0.0.1:${upstream.port}?tls=none`)
  const key = await postern.key()

  const send = async (to: string, more: object = {}): Promise<string> => {
    const answer = await postern.api('POST', '/v1/emails', key, {
      from: 'App <app@gw.test>',
      to,
      subject: 'reports',
      text: 'hello',
      ...more,
    })
    if (answer.status !== 202) throw new Error(answer.text)
    return answer.body.id
  }

  /** Oldest first. */
  const eventsOf = async (id: string): Promise<readonly Told[]> =>
    (await postern.api('GET', `/v1/emails/${id}/events?limit=100`, key)).body.data.reverse()

  const steps = async (id: string): Promise<string[]> =>
    (await eventsOf(id))
      .filter(({ applied }) => applied)
      .map(({ type, source }) => `${type.replace('email.', '')} ${source}`)

  const reports = async (id: string): Promise<readonly Told[]> =>
    (await eventsOf(id)).filter(({ source }) => source === 'dsn')

  const suppressed = async (): Promise<Record<string, string>[]> =>
    (await postern.api('GET', '/v1/suppressions', key)).body.data

  t.test('user unknown: bounced, listed, and the next mail stays here', async (t) => {
    const id = await send('who@local5.test')
    await postern.until(key, id, ['bounced'])
    t.same(await steps(id), ['queued api', 'sent smtp', 'bounced dsn'])
    const [report] = await reports(id)
    t.match(report, {
      smtp: { enhanced: '5.1.1', text: /user unknown: no such mailbox here/ },
      detail: {
        tier: 'T1',
        action: 'failed',
        class: 'hard',
        category: 'unknown_user',
        fault: 'recipient',
        suppression: 'added',
        diagnostic: /user unknown: no such mailbox here/,
      },
    })
    t.match(await suppressed(), [{ email: 'who@local5.test', origin: 'bounce', source_id: id }])
    const next = await send('WHO@Local5.test')
    const record = await postern.until(key, next, ['bounced'])
    t.match(record.recipients[0], { reason: 'suppressed', attempts: 0 })
    const insisting = await send('who@local5.test', { ignore_suppressions: true })
    const tried = await postern.until(key, insisting, ['bounced'])
    t.equal(tried.recipients[0].attempts, 1)
    const { stdout } = await postern.cli('email', 'show', id)
    t.match(stdout, /bounced +report from .*user unknown: no such mailbox here.*hard unknown.user/)
  })

  t.test('refused at RCPT: bounced at once, and listed too', async (t) => {
    const id = await send('nobody@deliver.test')
    await postern.until(key, id, ['bounced'])
    const events = await eventsOf(id)
    t.match(events.at(-1), {
      source: 'smtp',
      attempt: 1,
      smtp: { code: 550, enhanced: '5.1.1' },
      detail: { stage: 'rcpt', class: 'hard', ms: Number, port: upstream.port },
    })
    const listed = async () => (await suppressed()).find(({ email }) => email === 'nobody@deliver.test')
    const found = await eventually('it is listed', listed)
    t.match(found, { origin: 'bounce', reason: 'unknown_user', source_id: id })
  })

  t.test('over quota: bounced, and the address lives', async (t) => {
    const id = await send('full@quota.test')
    await postern.until(key, id, ['bounced'])
    const [report] = await reports(id)
    t.match(report, {
      type: 'email.bounced',
      smtp: { enhanced: '5.2.2' },
      detail: { class: 'soft', category: 'mailbox_full', suppression: undefined },
    })
    t.notOk((await suppressed()).some(({ email }) => email === 'full@quota.test'))
  })

  t.test('relayed to a hop without DSN', async (t) => {
    const id = await send('far@mx.test')
    await postern.until(key, id, ['delivered'])
    t.same(await steps(id), ['queued api', 'sent smtp', 'delivered dsn'])
    t.match(await reports(id), [{ detail: { action: 'relayed', tier: 'T1' } }])
  })

  t.test('delivered to the mailbox', async (t) => {
    const id = await send('ok@deliver.test')
    await postern.until(key, id, ['delivered'])
    t.match(await reports(id), [{ applied: true, detail: { action: 'delivered' } }])
  })

  t.test('a deferral of its own becomes a warning, and the end a bounce', async (t) => {
    const id = await send('later@defer.test')
    await postern.until(key, id, ['deferred'])
    const [warning] = await reports(id)
    t.match(warning, {
      type: 'email.deferred',
      applied: true,
      smtp: { enhanced: '4.3.0' },
      detail: { action: 'delayed', class: null, diagnostic: /mail transport unavailable, try later/ },
    })
    await postern.until(key, id, ['bounced'], 60_000)
    t.same(await steps(id), ['queued api', 'sent smtp', 'deferred dsn', 'bounced dsn'])
    t.match((await reports(id)).at(-1), { detail: { action: 'failed', class: 'soft' } })
    t.notOk(
      (await suppressed()).some(({ email }) => email === 'later@defer.test'),
      'late is not dead',
    )
  })

  t.test('a deferral at our door: tried again by us, attempt by attempt', async (t) => {
    const id = await send('busy@deliver.test')
    await postern.until(key, id, ['deferred'])
    const tries = await eventually('two attempts', async () => {
      const made = (await eventsOf(id)).filter(({ attempt }) => attempt !== null)
      return made.length >= 2 && made
    })
    t.match(tries.slice(0, 2), [
      { attempt: 1, smtp: { code: 451, enhanced: '4.3.0' }, detail: { stage: 'rcpt', ms: Number } },
      { attempt: 2, smtp: { code: 451 }, detail: { stage: 'rcpt' } },
    ])
    const show = async () => (await postern.cli('email', 'show', id)).stdout
    // an attempt may be under way just now
    const stdout = await eventually('it waits for its next try', async () => {
      const shown = await show()
      return /next try/.test(shown) && shown
    })
    t.match(stdout, /attempt 1 at 127\.0\.0\.1:\d+ .*451 4\.3\.0 /)
    t.match(stdout, /next try \d{4}-/)
  })
}
