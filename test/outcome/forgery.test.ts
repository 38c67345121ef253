/**
 * What must never move a status: forged, borrowed and misread reports, sent by
 * SMTP to the real bounce door in front of a real store. And two odd ones that must.
 */

import { randomBytes } from 'node:crypto'
import { createTransport } from 'nodemailer'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { silentLog } from '../../src/base/log.js'
import { observed } from '../../src/lifecycle/facts.js'
import { deriveKeys, makeRef, makeReturnPath } from '../../src/mail/return-path.js'
import { createDomainReportIntake } from '../../src/outcome/domain-report.js'
import { createIntake, type Recorded } from '../../src/outcome/report.js'
import { createBounceDoor } from '../../src/smtp/bounce-door.js'
import { bounceWith, limitsWith } from '../parts/settings.js'
import { poolRow } from '../relay/parts.js'
import { ACCOUNT, accept, newEmail, openStore, WORKSPACE } from '../relay/store-parts.js'
import { arf, dsn, HARD } from './mails.js'

const keys = deriveKeys(randomBytes(32))
const DOMAIN = 'bounces.test'
const DEAD = { final: 'a@example.com', ...HARD }

/** A mail to a@ and b@, both sent; a third one to q@ that is still queued; and the door. */
const setUp = async (t: Test) => {
  const store = await openStore(t, [poolRow([])])
  const mail = newEmail('pool_test', ['a@example.com', 'b@example.com'])
  const waiting = newEmail('pool_test', ['q@example.com'])
  await accept(store, mail, waiting)
  await store.settle(
    mail.recipients.map(({ id }) =>
      observed({ recipientId: id, seen: 'accepted', at: Date.now(), source: 'smtp' }),
    ),
  )
  const recorded: Recorded[] = []
  const intake = createIntake({ store, keys, clock: systemClock, domain: DOMAIN })
  const door = createBounceDoor({
    config: {
      hostname: 'mx.postern.test',
      bounce: bounceWith(),
      limits: limitsWith(),
    },
    verifyRecipient: intake.verifyRecipient,
    ingest: async (address, raw) => void recorded.push(await intake.ingest(address, raw)),
    domainReports: createDomainReportIntake({ store, clock: systemClock, domain: DOMAIN }),
    toPostmaster: async () => 'taken',
    clock: systemClock,
    log: silentLog(),
  })
  await door.start()
  t.teardown(() => door.stop())
  const client = createTransport({ host: '127.0.0.1', port: door.address.port, ignoreTLS: true })
  const subject = (address: string) => ({
    recipientId: [...mail.recipients, ...waiting.recipients].find((one) => one.address === address)?.id ?? '',
    workspaceId: WORKSPACE,
    address,
  })
  const everything = async () => {
    const scope = { accountId: ACCOUNT, workspaceId: null, mode: null }
    const records = await Promise.all([mail, waiting].map(({ id }) => store.email(scope, id)))
    const page = { limit: 50, direction: 'older', anchor: null, countUpTo: 0 } as const
    return {
      states: records.flatMap((one) => one?.recipients.map(({ address, status }) => `${address} ${status}`)),
      suppressed: (await store.suppressions(WORKSPACE, null, page)).rows.map(({ email }) => email),
    }
  }
  return {
    store,
    mail,
    recorded,
    subject,
    everything,
    path: (address: string) => makeReturnPath(keys, 'bounces.test', subject(address)),
    /** The code of the door's answer. */
    deliver: (to: string, raw: Buffer, from = ''): Promise<number> =>
      client.sendMail({ envelope: { from, to: [to] }, raw }).then(
        () => 250,
        (error: { responseCode?: number }) => error.responseCode ?? 0,
      ),
  }
}

type Deps = Awaited<ReturnType<typeof setUp>>

const UNTOUCHED = {
  states: ['a@example.com sent', 'b@example.com sent', 'q@example.com queued'],
  suppressed: [],
}

const untouched = (title: string, act: (deps: Deps, t: Test) => Promise<void>): void => {
  t.test(title, async (t) => {
    const deps = await setUp(t)
    await act(deps, t)
    t.same(await deps.everything(), UNTOUCHED)
  })
}

const swapped = (path: string): string => path.replace(/.@/, (end) => (end === '0@' ? '1@' : '0@'))

untouched('a wrong MAC is refused at RCPT', async ({ path, deliver, recorded }, t) => {
  t.equal(await deliver(swapped(path('a@example.com')), dsn({ groups: [DEAD] })), 550)
  t.same(recorded, [])
})

t.test("another purpose's MAC is refused too, and worth nothing inside", async (t) => {
  const at = await setUp(t)
  const { subject, deliver, path } = at
  const envid = makeRef(keys, 'envid', subject('a@example.com'))
  const ref = makeRef(keys, 'ref', subject('a@example.com'))
  for (const token of [envid, ref]) {
    t.equal(await deliver(`b${token.slice(1)}@bounces.test`, dsn({ groups: [DEAD] })), 550)
  }
  const [local = ''] = path('a@example.com').split('@')
  const other = path('b@example.com')
  const inside = [
    dsn({ groups: [DEAD], envid: `e${local.slice(1)}` }),
    dsn({ groups: [DEAD], envid: ref }),
    dsn({ groups: [DEAD], returned: `X-Postern-Ref: r${local.slice(1)}` }),
    dsn({ groups: [DEAD], returned: `X-Postern-Ref: ${envid}` }),
  ]
  t.equal(await deliver(other, inside[0] ?? Buffer.alloc(0)), 250)
  t.same((await at.everything()).states[0], 'a@example.com sent', 'it is about the recipient of the path')
  const intake = createIntake({ store: at.store, keys, clock: systemClock, domain: DOMAIN })
  for (const raw of inside)
    t.match(await intake.ingest('x@bounces.test', raw), { tier: 'T4', did: 'nothing' })
})

t.test('a token of A with a group that names B is about A, and suppresses neither', async (t) => {
  for (const original of [undefined, 'b@example.com', 'a@example.com.evil.test']) {
    const { deliver, path, recorded, everything } = await setUp(t)
    const group = { final: 'b@example.com', ...HARD, ...(original === undefined ? {} : { original }) }
    t.equal(await deliver(path('a@example.com'), dsn({ groups: [group] })), 250)
    t.match(recorded, [{ tier: 'T1', status: 'bounced', suppressed: false }])
    t.same(await everything(), {
      states: ['a@example.com bounced', 'b@example.com sent', 'q@example.com queued'],
      suppressed: [],
    })
  }
})

untouched('a status part inside an enclosed mail', async ({ deliver, path }, t) => {
  const inner = dsn({ groups: [DEAD] }).toString()
  const raw = [
    'From: Mail System <MAILER-DAEMON@mx.test>',
    'To: you@bounces.test',
    'Subject: Successful Mail Delivery Report',
    'Message-ID: <outer@mx.test>',
    'MIME-Version: 1.0',
    'Content-Type: multipart/report; report-type=delivery-status; boundary="outer"',
    '',
    '--outer',
    'Content-Type: message/rfc822',
    'Content-Disposition: inline',
    '',
    inner,
    '--outer--',
    '',
  ].join('\r\n')
  t.equal(await deliver(path('a@example.com'), Buffer.from(raw)), 250)
})

t.test('field names inside Diagnostic-Code', async (t) => {
  const { deliver, path, recorded } = await setUp(t)
  const diagnostic = [
    '250 2.0.0 ok Action: failed',
    ' Status: 5.1.1',
    '\tFinal-Recipient: rfc822; a@example.com Action: failed Status: 5.1.1 550 5.1.1 no such user',
  ].join('\r\n')
  const group = { final: 'b@example.com', action: 'delivered', status: '2.0.0', diagnostic }
  t.equal(await deliver(path('a@example.com'), dsn({ groups: [group] })), 250)
  t.match(recorded, [{ status: 'delivered', suppressed: false }])
})

t.test('a replay is heard once', async (t) => {
  const { store, mail, deliver, path, recorded, everything } = await setUp(t)
  const soft = { final: 'a@example.com', action: 'delayed', status: '4.4.1' }
  const raw = dsn({ groups: [soft] })
  const page = { limit: 50, direction: 'older', anchor: null, countUpTo: 0 } as const
  t.equal(await deliver(path('a@example.com'), raw), 250)
  const delivered = dsn({ id: '<2@mx.test>', groups: [{ ...soft, action: 'delivered', status: '2.0.0' }] })
  t.equal(await deliver(path('a@example.com'), delivered), 250)
  const events = (await store.events(mail.id, page)).rows.length
  const before = await everything()
  for (let i = 0; i < 3; i++) t.equal(await deliver(path('a@example.com'), raw), 250)
  t.match(recorded.slice(2), [{ status: null }, { status: null }, { status: null }])
  t.same(await everything(), before)
  t.equal((await store.events(mail.id, page)).rows.length, events, 'and is one event')
})

untouched('a report on a mail that is still queued', async ({ deliver, path, recorded }, t) => {
  const group = { final: 'q@example.com', ...HARD }
  t.equal(await deliver(path('q@example.com'), dsn({ groups: [group] })), 250)
  t.equal(await deliver(path('q@example.com'), arf('abuse')), 250)
  t.match(recorded, [
    { tier: 'T1', status: null, suppressed: false },
    { tier: 'T1', status: null, suppressed: false },
  ])
})

untouched('a Message-ID that nobody signed', async ({ store, mail }, t) => {
  // no token in its envelope: the door would not take it, but a pipe of a mail server may
  const intake = createIntake({ store, keys, clock: systemClock, domain: DOMAIN })
  const raw = dsn({ groups: [DEAD], returned: `Message-ID: ${mail.messageId}` })
  t.match(await intake.ingest('postmaster@bounces.test', raw), {
    tier: 'T3',
    status: null,
    suppressed: false,
  })
  const complaint = Buffer.from(
    arf('abuse').toString().replace('Subject: hello', `Message-ID: ${mail.messageId}`),
  )
  t.match(await intake.ingest('postmaster@bounces.test', complaint), { status: null, suppressed: false })
})

untouched('a Message-ID that two mails have', async ({ store }, t) => {
  const intake = createIntake({ store, keys, clock: systemClock, domain: DOMAIN })
  const messageId = '<again@app.test>'
  const twin = () => newEmail('pool_test', ['a@example.com'], { source: 'smtp', messageId })
  const raw = dsn({ groups: [DEAD], returned: `Message-ID: ${messageId}` })
  await accept(store, twin())
  t.match(await intake.ingest('postmaster@bounces.test', raw), { tier: 'T3', did: 'noted' })
  await accept(store, twin())
  t.match(await intake.ingest('postmaster@bounces.test', raw), { tier: 'T4', did: 'nothing' })
})

untouched('a person who forwards a report', async ({ store, deliver, path, recorded, subject }, t) => {
  const enclosed = dsn({
    groups: [DEAD],
    envid: makeRef(keys, 'envid', subject('a@example.com')),
    returned: `X-Postern-Ref: ${makeRef(keys, 'ref', subject('a@example.com'))}`,
  }).toString()
  const head = [
    'From: Ana <ana@example.com>',
    'To: Support <support@gw.test>',
    'Subject: Fwd: Delivery Status Notification',
    'Message-ID: <fwd@example.com>',
    'In-Reply-To: <dsn-1@mx.test>',
    'MIME-Version: 1.0',
  ]
  const attached = [
    ...head,
    'Content-Type: multipart/mixed; boundary="f"',
    '',
    '--f',
    'Content-Type: text/plain',
    '',
    'What does this mean?',
    '--f',
    'Content-Type: message/rfc822',
    '',
    enclosed,
    '--f--',
    '',
  ].join('\r\n')
  const quoted = [
    ...head,
    'Content-Type: text/plain',
    '',
    'What is this?',
    '',
    '-- Forwarded message --',
    ...enclosed.split('\r\n').map((line) => `> ${line}`),
    '',
  ].join('\r\n')
  for (const raw of [attached, quoted]) {
    t.equal(await deliver(path('a@example.com'), Buffer.from(raw), 'ana@example.com'), 250)
    const intake = createIntake({ store, keys, clock: systemClock, domain: DOMAIN })
    t.match(await intake.ingest('support@gw.test', Buffer.from(raw)), { status: null })
  }
  t.match(recorded, [{ status: null }, { status: null }])
})

untouched('a token that stands only in To:', async ({ store, deliver, path }, t) => {
  const raw = dsn({ groups: [DEAD], to: path('a@example.com') })
  t.equal(await deliver('postmaster@bounces.test', raw), 250, 'for people, who read it')
  const intake = createIntake({ store, keys, clock: systemClock, domain: DOMAIN })
  t.match(await intake.ingest('postmaster@bounces.test', raw), { tier: 'T4', status: null })
})

t.test('and two that must work: capitals, and a forwarder that wrapped it', async (t) => {
  for (const odd of [
    (path: string) => path.toUpperCase(),
    (path: string) => `SRS0=Xk9v=2B=bounces.test=${path.split('@')[0]}@bounces.test`,
  ]) {
    const { path, deliver, recorded, everything } = await setUp(t)
    t.equal(await deliver(odd(path('a@example.com')), dsn({ groups: [DEAD] })), 250)
    t.match(recorded, [{ tier: 'T1', status: 'bounced', suppressed: true }])
    t.same(await everything(), {
      states: ['a@example.com bounced', 'b@example.com sent', 'q@example.com queued'],
      suppressed: ['a@example.com'],
    })
  }
})
