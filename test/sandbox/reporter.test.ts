/** What the sandbox reports, over a real log: each report once, in its order, whatever breaks in between. */
import t from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { Fault } from '../../src/base/fault.js'
import { createGiveWay } from '../../src/base/give-way.js'
import type { NewEmail } from '../../src/lifecycle/facts.js'
import { deriveKeys, verifyReturnPath } from '../../src/mail/return-path.js'
import { createIntake } from '../../src/outcome/report.js'
import { createReporter } from '../../src/sandbox/reporter.js'
import { eventually } from '../parts/eventually.js'
import { openStoreIn } from '../parts/store.js'
import { accepted, HOUR, newAccount, ofLease, timeline, toOne } from '../store/fixture.js'

const DOMAIN = 'bounces.test'
const store = await openStoreIn(t.testdir())
await store.open()
await store.migrate()
t.teardown(() => store.close())
const at = await newAccount(store)
const keys = deriveKeys(Buffer.alloc(32, 1))
const intake = createIntake({ store, keys, clock: systemClock, domain: DOMAIN })

interface Got {
  readonly to: string
  readonly text: string
}
const got: Got[] = []
const ingest = async (to: string, raw: Uint8Array) => {
  const made = await intake.ingest(to, raw)
  got.push({ to, text: Buffer.from(raw).toString('latin1') })
  return made
}
const lines: object[] = []
const note = (fields: object) => void lines.push(fields)
let lost = 0
const begin = async (over: Partial<Parameters<typeof createReporter>[0]> = {}) => {
  const service = createReporter({
    ...{ store, ingest, keys, hostname: 'sandbox.test', bounceDomain: DOMAIN, mode: 'test', pace: 20 },
    ...{ clock: systemClock, log: { info: note, warn: note, error: note } },
    ...{ way: createGiveWay(), lost: () => void lost++ },
    ...over,
  })
  await service.start()
  return service
}

/** Mails that the sandbox has taken, with our own 250 on disk. */
const sent = async (to: string, over: Partial<NewEmail> = {}): Promise<NewEmail> => {
  const createdAt = systemClock.now()
  const mail = await accepted(store, at, { mode: 'test', recipients: [toOne(to)], createdAt, ...over })
  const leases = await store.claim(at.poolId, 10, createdAt + HOUR, createdAt)
  await store.settle(leases.map((one) => ofLease(one, { at: createdAt })))
  return mail
}
const reported = (mail: NewEmail, wanted: string) =>
  eventually(wanted, async () => (await timeline(store, mail.id)).join(' ') === wanted, {
    seen: () => timeline(store, mail.id),
  })

const WAYS = [
  ['anyone', 'delivered'],
  ['bounced-later', 'bounced'],
  ['late-bounce', 'delivered bounced'],
  ['delayed', 'deferred bounced'],
  ['relayed', 'delivered'],
  ['complained', 'delivered complained'],
  ['ooto', 'delivered reported!'],
] as const

t.test('each address gets the reports that it asks for, in their order', async () => {
  const service = await begin()
  for (const [name, way] of WAYS) await reported(await sent(`${name}@x.test`), `queued sent ${way}`)
  await service.stop()
})

t.test('a report has what was asked to come back', async (t) => {
  const service = await begin()
  got.length = 0
  const dsn = { notify: 'NEVER', orcpt: 'rfc822;Anyone+3Dhere@x.test' }
  const mail = await sent('anyone@x.test', { envid: 'env_1', recipients: [toOne('anyone@x.test', { dsn })] })
  await reported(mail, 'queued sent delivered')
  await service.stop()
  const [one] = got
  t.equal(got.length, 1)
  for (const line of [
    'Reporting-MTA: dns; sandbox.test',
    'Original-Envelope-Id: env_1',
    'Original-Recipient: rfc822;Anyone+3Dhere@x.test',
    'Final-Recipient: rfc822; anyone@x.test',
    'Action: delivered',
    'Status: 2.0.0',
    `Message-ID: ${mail.messageId}`,
  ])
    t.ok(one?.text.includes(`\r\n${line}\r\n`), line)
  const owner = await store.recipient(mail.recipients[0]?.id ?? '')
  t.ok(owner !== null && verifyReturnPath(keys, one?.to ?? '', owner))
})

t.test('live mail and reports of our own have none; with `postern dev` live mail has', async (t) => {
  const service = await begin()
  got.length = 0
  const live = await sent('delayed@x.test', { mode: 'live' })
  const own = await sent('delayed@x.test', { mailFrom: '' })
  await reported(await sent('delayed@x.test'), 'queued sent deferred bounced')
  for (const { id } of [live, own]) t.same(await timeline(store, id), ['queued', 'sent'])
  await service.stop()
  t.equal(got.length, 2)
  const dev = await begin({ mode: null })
  await reported(await sent('bounced-later@x.test', { mode: 'live' }), 'queued sent bounced')
  await dev.stop()
})

t.test('what was sent while it was down, or between two steps, is told by the next', async (t) => {
  const late = await sent('late-bounce@x.test')
  // dies with `later` before it
  const first = await begin({ pace: 3_600_000 })
  await reported(late, 'queued sent delivered')
  await first.stop()
  const mails = await Promise.all(WAYS.map(([name]) => sent(`${name}@x.test`)))
  const second = await begin()
  await reported(late, 'queued sent delivered bounced')
  for (const [i, [, way]] of WAYS.entries()) await reported(mails[i] as NewEmail, `queued sent ${way}`)
  await second.stop()
  // nothing is told twice
  got.length = 0
  const third = await begin()
  await reported(await sent('delayed@x.test'), 'queued sent deferred bounced')
  await third.stop()
  t.equal(got.length, 2)
})

t.test('two at a time count each report once', async () => {
  const both = [await begin(), await begin()]
  const mails: NewEmail[] = []
  for (let n = 0; n < 20; n++) mails.push(await sent('late-bounce@x.test'))
  for (const mail of mails) await reported(mail, 'queued sent delivered bounced')
  for (const one of both) await one.stop()
})

t.test('while the store takes nothing the reports wait', async (t) => {
  let isFull = true
  const service = await begin({
    ingest: (to, raw) =>
      isFull ? Promise.reject(new Fault('service.unavailable', { detail: 'full' })) : ingest(to, raw),
  })
  const mail = await sent('late-bounce@x.test')
  await eventually('it is told', () =>
    lines.some((line) => 'event' in line && line.event === 'sandbox_failed'),
  )
  isFull = false
  await reported(mail, 'queued sent delivered bounced')
  t.equal(lost, 0)
  await service.stop()
})

t.test('one that can not be told is given up, counted and logged, and holds up no other', async (t) => {
  const bad = await sent('late-bounce@x.test')
  const { messageId } = bad
  const service = await begin({
    // its rests are over a hundred times sooner
    clock: { now: systemClock.now, tick: () => systemClock.tick() * 100 },
    ingest: (to, raw) =>
      Buffer.from(raw).toString('latin1').includes(messageId)
        ? Promise.reject(new Error('our mistake'))
        : ingest(to, raw),
  })
  await reported(await sent('delayed@x.test'), 'queued sent deferred bounced')
  await eventually('both are given up', () => lost === 2)
  t.match(
    lines.filter((line) => 'event' in line && line.event === 'sandbox_report_lost'),
    [
      { email: bad.id, error: 'our mistake' },
      { email: bad.id, error: 'our mistake' },
    ],
  )
  await service.stop()
})
