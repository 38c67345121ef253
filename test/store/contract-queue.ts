/**
 * NAME      contract-queue - accepting, claiming, leasing, appointments
 */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import { suppressionList } from '../../src/lifecycle/suppress.js'
import type { Store } from '../../src/store/port/store.js'
import type { SuppressionRow } from '../../src/store/port/tenants.js'
import { eventually } from '../parts/eventually.js'
import {
  accepted,
  addWorkspace,
  claimOne,
  HOUR,
  mailFor,
  newAccount,
  type OpenStore,
  ofLease,
  page,
  scopeOf,
  statusOf,
  T0,
  type TestAccount,
  timeline,
  toOne,
} from './fixture.js'

/** On a list for good, or until a time. */
const listing = (
  { accountId }: TestAccount,
  list: string,
  email: string,
  expiresAt: number | null = null,
): SuppressionRow => ({
  ...{ id: newId('sup'), accountId, list, email, origin: 'manual', sourceId: null, reason: null },
  ...{ expiresAt, createdAt: T0 },
})

const listedTests = async (t: Test, store: Store): Promise<void> => {
  const fates = async (at: TestAccount, id: string) =>
    (await store.email(scopeOf(at), id))?.recipients.map(({ status, reason }) => reason ?? status)

  await t.test('lists are asked when a mail is stored, by the normal address', async (t) => {
    const at = await newAccount(store)
    const [ws, other] = [at.workspace.id, (await addWorkspace(store, at, 'other')).workspace.id]
    const now = T0 + 10
    for (const row of [
      listing(at, ws, '"a b"@example.com'),
      listing(at, ws, 'xn--p1ai@xn--bcher-kva.example'),
      listing(at, ws, 'short@example.com', now),
      listing(at, ws, 'long@example.com', now + 1),
      listing(at, at.accountId, 'account@example.com'),
      listing(at, other, 'other@example.com'),
      listing(at, suppressionList(ws, 'test'), 'tested@example.com'),
    ])
      await store.addSuppression(row)
    const asked = (normal: string, more = {}) => toOne(`x${normal}`, { normal, ...more })
    const live = mailFor(at, {
      recipients: [
        asked('"a b"@example.com'),
        asked('xn--p1ai@xn--bcher-kva.example'),
        asked('short@example.com'),
        asked('long@example.com'),
        asked('account@example.com'),
        asked('other@example.com'),
        asked('tested@example.com'),
        toOne('long@example.com'),
        toOne('said@example.com', { suppressed: true }),
      ],
    })
    const listed = [0, 1, 3, 4].map((i) => live.recipients[i]?.id)
    t.same(await store.accept({ mails: [live], idempotency: null, now }), { suppressed: listed })
    const [no, yes] = ['queued', 'suppressed']
    t.same(await fates(at, live.id), [yes, yes, no, yes, yes, no, no, no, yes])
    t.same((await store.email(scopeOf(at), live.id))?.counts.bounced, 5)
    const test = mailFor(at, {
      mode: 'test',
      recipients: [asked('tested@example.com'), asked('account@example.com'), asked('long@example.com')],
    })
    t.same(await store.accept({ mails: [test], idempotency: null, now }), {
      suppressed: [test.recipients[0]?.id],
    })
    t.same(await fates(at, test.id), [yes, no, no])
    const free = mailFor(at, { recipients: [asked('free@example.com')] })
    t.equal(await store.accept({ mails: [free], idempotency: null, now }), 'accepted')
  })

  await t.test('an entry of a whole domain is against all its addresses, and says so', async (t) => {
    const at = await newAccount(store)
    const [ws, now] = [at.workspace.id, T0 + 10]
    for (const row of [
      listing(at, ws, '*@own.example'),
      listing(at, at.accountId, '*@wide.example'),
      listing(at, ws, '*@over.example', now),
      listing(at, suppressionList(ws, 'test'), '*@tested.example'),
      listing(at, ws, 'both@own.example'),
      listing(at, ws, '*@xn--bcher-kva.example'),
    ])
      await store.addSuppression(row)
    const asked = (normal: string) => toOne(normal, { normal })
    const mail = mailFor(at, {
      recipients: [
        asked('ana@own.example'),
        asked('"a@b"@own.example'),
        asked('ana@sub.own.example'),
        asked('ana@wide.example'),
        asked('ana@over.example'),
        asked('ana@tested.example'),
        asked('both@own.example'),
        asked('ana@xn--bcher-kva.example'),
        asked('own.example@other.example'),
        toOne('unasked@own.example'),
      ],
    })
    const listed = [0, 1, 3, 6, 7].map((i) => mail.recipients[i]?.id)
    t.same(await store.accept({ mails: [mail], idempotency: null, now }), { suppressed: listed })
    const said = new Map(
      (await store.events(mail.id, page())).rows.map(({ recipientId, detail }) => [recipientId, detail]),
    )
    t.same(
      listed.map((id) => said.get(id ?? '')),
      [
        { entry: '*@own.example' },
        { entry: '*@own.example' },
        { entry: '*@wide.example' },
        null,
        { entry: '*@xn--bcher-kva.example' },
      ],
    )
    const entries = ['*@own.example', 'both@own.example', '*@sub.own.example']
    t.same(await store.suppressed(ws, entries, now), ['*@own.example', 'both@own.example'])
  })

  await t.test('an entry of a mailing list is against its mail alone', async (t) => {
    const at = await newAccount(store)
    const [ws, now] = [at.workspace.id, T0 + 10]
    const test = suppressionList(ws, 'test')
    for (const row of [
      listing(at, ws, 'ana@x.test#news'),
      listing(at, ws, 'a#b@x.test#news'),
      listing(at, ws, 'old@x.test#news', now),
      listing(at, test, 'tina@x.test#n_ws'),
      listing(at, test, 'tina@x.test#news'),
    ])
      await store.addSuppression(row)
    const stored = async (email: string, list: string, mode: 'live' | 'test' = 'live') => {
      const recipients = [toOne(email, { normal: `${email}#${list}` })]
      const mail = mailFor(at, { mode, recipients, extras: { unsubscribe_list: list } })
      await store.accept({ mails: [mail], idempotency: null, now })
      const [event] = (await store.events(mail.id, page())).rows
      const fate = (await fates(at, mail.id))?.[0]
      return fate === 'suppressed' ? event?.detail : fate
    }
    t.same(await stored('ana@x.test', 'news'), { list: 'news' })
    t.same(await stored('a#b@x.test', 'news'), { list: 'news' })
    for (const [email, list] of [
      ['ana@x.test', 'new'],
      ['ana@x.test', 'news-2'],
      ['nana@x.test', 'news'],
      ['b@x.test', 'news'],
      ['old@x.test', 'news'],
      ['tina@x.test', 'news'],
    ] as const)
      t.equal(await stored(email, list), 'queued', `${email} ${list}`)
    t.same(await stored('tina@x.test', 'news', 'test'), { list: 'news' })
    const ofList = async (place: string, list: string, origin: 'manual' | 'bounce' | null = null) =>
      (await store.suppressions(place, origin, page(), list)).rows.map(({ email }) => email)
    t.same(await ofList(test, 'n_ws'), ['tina@x.test#n_ws'], '_ is a letter')
    t.same(await ofList(ws, 'news', 'bounce'), [])
    t.same(await ofList(ws, 'news', 'manual'), ['old@x.test#news', 'a#b@x.test#news', 'ana@x.test#news'])
    const counted = await store.suppressions(ws, null, page({ limit: 1, countUpTo: 9 }), 'news')
    t.same([counted.rows.length, counted.total], [1, 3])
  })

  await t.test(
    'an answer that says something else of a recipient is not stored, nor is its mail',
    async (t) => {
      const at = await newAccount(store)
      const claim = { workspaceId: at.workspace.id, mode: 'live', key: 'k', token: 't' } as const
      await store.claimKey({ ...claim, fingerprint: 'f', now: T0, lockedUntil: T0 + HOUR })
      const idempotency = { ...claim, status: 202, body: '{}' }
      const to = (suppressed: boolean) =>
        mailFor(at, { recipients: [toOne('a@x.test', { normal: 'a@x.test', suppressed })] })
      const [no, yes] = [to(false), to(true)]
      t.equal(await store.accept({ mails: [yes], idempotency, now: T0 }), 'stale', 'it is on none')
      await store.addSuppression(listing(at, at.workspace.id, 'a@x.test'))
      t.equal(await store.accept({ mails: [no], idempotency, now: T0 }), 'stale', 'it is on one now')
      t.equal(await store.email(scopeOf(at), no.id), null)
      t.equal(await store.email(scopeOf(at), yes.id), null)
      const suppressed = yes.recipients.map(({ id }) => id)
      t.same(
        await store.accept({ mails: [yes], idempotency, now: T0 }),
        { suppressed },
        'its lock is still there',
      )
      t.same(await fates(at, yes.id), ['suppressed'])
    },
  )
}

const acceptTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('an accepted mail is there, whole, with a first event for each recipient', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at, {
      recipients: [toOne('ana@example.com'), toOne('Bob@Example.com', { kind: 'bcc', suppressed: true })],
      bcc: ['Bob@Example.com'],
      tags: [{ name: 'kind', value: 'receipt' }],
      attachments: [{ filename: 'r.pdf', content_type: 'application/pdf', size: 5, content_id: null }],
    })
    const found = await store.email(scopeOf(at, 'live'), mail.id)
    t.match(found, {
      id: mail.id,
      workspaceId: at.workspace.id,
      accountId: at.accountId,
      poolId: at.poolId,
      status: 'bounced',
      counts: { queued: 1, bounced: 1, sent: 0 },
      from: mail.from,
      bcc: ['Bob@Example.com'],
      tags: mail.tags,
      attachments: mail.attachments,
      messageId: mail.messageId,
      createdAt: T0,
      updatedAt: T0,
    })
    t.match(found?.recipients, [
      { address: 'ana@example.com', kind: 'to', status: 'queued', attempts: 0, reason: null },
      { address: 'Bob@Example.com', kind: 'bcc', status: 'bounced', reason: 'suppressed', dueAt: null },
    ])
    t.same(await timeline(store, mail.id), ['queued', 'bounced'])
    t.same(Buffer.from((await store.body(mail.id)) ?? []), Buffer.from(mail.raw))
    t.equal(await store.content(mail.id), mail.content)
  })

  await t.test('a body may be a view into a larger buffer, and may be large', async (t) => {
    const at = await newAccount(store)
    const raw = Buffer.alloc(300_000, 'x').subarray(1000, 201_000)
    const mail = await accepted(store, at, { raw })
    t.equal((await store.body(mail.id))?.byteLength, 200_000)
    const claimed = await claimOne(store, at, T0)
    t.equal(claimed.raw, null, 'large bodies are fetched when needed')
    t.equal(claimed.size, 200_000)
    t.equal(await store.body('em_00000000000000000000000000'), null)
  })

  await t.test('what requires TLS is claimed as such', async (t) => {
    const at = await newAccount(store)
    await accepted(store, at, { requireTls: true })
    t.match(await claimOne(store, at, T0), { requireTls: true })
    await accepted(store, at)
    t.match(await claimOne(store, at, T0), { requireTls: false })
  })

  await t.test('a batch is all or nothing', async (t) => {
    const at = await newAccount(store)
    const good = mailFor(at)
    const twin = mailFor(at, { id: good.id })
    await t.rejects(store.accept({ mails: [good, twin], idempotency: null, now: T0 }))
    t.equal(await store.email(scopeOf(at), good.id), null)
    t.same(await store.claim(at.poolId, 10, T0 + HOUR, T0), [])
    t.equal(await store.accept({ mails: [good], idempotency: null, now: T0 }), 'accepted')
  })

  await t.test('many at once: one failure harms nobody else', async (t) => {
    const at = await newAccount(store)
    const first = await accepted(store, at)
    const results = await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) =>
        store.accept({
          mails: [i === 20 ? mailFor(at, { id: first.id }) : mailFor(at)],
          idempotency: null,
          now: T0,
        }),
      ),
    )
    t.equal(results.filter((result) => result.status === 'rejected').length, 1)
    t.equal((await store.claim(at.poolId, 100, T0 + HOUR, T0)).length, 50)
  })
}

const claimTests = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await t.test('a claim leases: once, with everything that sending needs', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at, {
      recipients: [toOne('ana@example.com', { dsn: { notify: 'FAILURE', orcpt: null } })],
      envid: 'e1',
      ret: 'HDRS',
      needsSmtpUtf8: true,
      mode: 'test',
    })
    const claimed = await claimOne(store, at, T0)
    t.match(claimed, {
      emailId: mail.id,
      workspaceId: at.workspace.id,
      poolId: at.poolId,
      mode: 'test',
      address: 'ana@example.com',
      dsn: { notify: 'FAILURE', orcpt: null },
      envid: 'e1',
      ret: 'HDRS',
      messageId: mail.messageId,
      from: mail.from,
      needsSmtpUtf8: true,
      attempts: 0,
      createdAt: T0,
      queuedAt: T0,
      size: mail.raw.byteLength,
    })
    t.same(Buffer.from(claimed.raw ?? []), Buffer.from(mail.raw))
    t.same(await store.claim(at.poolId, 10, T0 + HOUR, T0), [], 'not twice')
  })

  await t.test('the oldest is first, and the limit holds', async (t) => {
    const at = await newAccount(store)
    const mails = []
    for (const offset of [3, 1, 2]) mails.push(await accepted(store, at, { createdAt: T0 + offset }))
    const claimed = await store.claim(at.poolId, 2, T0 + HOUR, T0 + 10)
    t.same(
      claimed.map((one) => one.queuedAt),
      [T0 + 1, T0 + 2],
    )
    t.equal((await store.claim(at.poolId, 2, T0 + HOUR, T0 + 10))[0]?.emailId, mails[0]?.id)
  })

  await t.test('workspaces take turns', async (t) => {
    const noisy = await newAccount(store)
    const quiet = await addWorkspace(store, noisy, 'quiet')
    await store.accept({
      mails: Array.from({ length: 30 }, (_, i) => mailFor(noisy, { createdAt: T0 + i })),
      idempotency: null,
      now: T0,
    })
    const urgent = await accepted(store, quiet, { createdAt: T0 + 100 })
    const claimed = await store.claim(noisy.poolId, 10, T0 + HOUR, T0 + 1000)
    t.equal(claimed.length, 10, 'what one leaves, the other takes')
    t.ok(claimed.slice(0, 2).some((one) => one.emailId === urgent.id))
    const next = await accepted(store, quiet, { createdAt: T0 + 200 })
    const seen: string[] = []
    for (let i = 0; i < 2; i++) {
      seen.push(...(await store.claim(noisy.poolId, 1, T0 + HOUR, T0 + 1000)).map((one) => one.emailId))
    }
    t.ok(seen.includes(next.id), 'even one at a time')
  })

  await t.test('what is not due yet waits', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    t.equal(await store.nextDue(), null)
    const mail = await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    await store.settle([ofLease(claimed, { seen: 'postponed', retryAt: T0 + HOUR })])
    t.same(await store.claim(at.poolId, 10, T0 + 2 * HOUR, T0 + HOUR - 1), [])
    t.equal(await store.nextDue(), T0 + HOUR)
    t.equal((await claimOne(store, at, T0 + HOUR)).emailId, mail.id)
    t.equal(await store.nextDue(), null)
  })

  await t.test('nobody else has changed anything', async (t) => {
    const stop = store.onChanged(() => t.fail('called by a change of its own'))
    await newAccount(store)
    stop()
  })

  await t.test('onDue wakes', async (t) => {
    const at = await newAccount(store)
    const woken = new Promise<void>((resolve) => {
      const stop = store.onDue(() => {
        stop()
        resolve()
      })
    })
    await accepted(store, at)
    await woken
    t.pass('woken')
  })
}

const leaseTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('an attempt is journaled by the lease holder only', async (t) => {
    const at = await newAccount(store)
    await accepted(store, at)
    const { recipientId, leaseGen } = await claimOne(store, at, T0)
    const mark = { recipientId, leaseGen, attempt: 1, upstreamId: 'up_1', at: T0 }
    const marks = [mark, { ...mark, leaseGen: leaseGen + 1 }, { ...mark, recipientId: '0000000000000000' }]
    t.same(await store.attempting(marks), [true, false, false])
  })

  await t.test('a released lease is void and the mail is due again, without a trace', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const old = await claimOne(store, at, T0)
    await store.release([old], T0 + 5)
    t.same(await store.claim(at.poolId, 1, T0 + HOUR, T0 + 4), [])
    const fresh = await claimOne(store, at, T0 + 5)
    t.equal(fresh.attempts, 0)
    t.not(fresh.leaseGen, old.leaseGen)
    t.same(await timeline(store, mail.id), ['queued'])
    t.same(await store.attempting([{ ...old, attempt: 1, upstreamId: 'up_1', at: T0 }]), [false])
    await store.release([old], T0)
    t.same(await store.claim(at.poolId, 1, T0 + HOUR, T0 + 5), [], 'an old lease can not free a new one')
  })

  await t.test('an unused lease runs out, a journaled one does not', async (t) => {
    const at = await newAccount(store)
    await accepted(store, at)
    const first = await claimOne(store, at, T0)
    t.same(await store.claim(at.poolId, 1, T0 + 3 * HOUR, T0 + HOUR - 1), [])
    const second = await claimOne(store, at, T0 + HOUR)
    t.equal(second.recipientId, first.recipientId)
    t.same(await store.attempting([{ ...first, attempt: 1, upstreamId: 'up_1', at: T0 }]), [false])
    t.same(await store.attempting([{ ...second, attempt: 1, upstreamId: 'up_1', at: T0 }]), [true])
    t.same(await store.claim(at.poolId, 1, T0 + 9 * HOUR, T0 + 8 * HOUR), [])
  })

  await t.test('hot mail, where the adapter has it, is leased once and can be settled', async (t) => {
    const at = await newAccount(store)
    const got: string[] = []
    const stop = store.onLeased((claimed) => got.push(...claimed.map((one) => one.recipientId)))
    const mails = await Promise.all(Array.from({ length: 20 }, () => accepted(store, at)))
    const rest = await store.claim(at.poolId, 100, T0 + HOUR, T0 + 1)
    // what was leased at birth is on its way here, or here already
    await eventually('each is here', () => got.length + rest.length >= mails.length)
    const all = [...got, ...rest.map((one) => one.recipientId)]
    t.same(all.sort(), mails.map((mail) => mail.recipients[0]?.id).sort(), 'each exactly once')
    stop()
  })
}

const scheduleTests = async (t: Test, store: Store): Promise<void> => {
  const later = { scheduledAt: T0 + HOUR }

  await t.test('a scheduled mail is queued when its time comes', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at, { ...later, recipients: [toOne('a@x.test'), toOne('b@x.test')] })
    t.equal(await statusOf(store, at, mail.id), 'scheduled')
    t.same(await store.claim(at.poolId, 10, T0 + 2 * HOUR, T0), [])
    t.equal((await store.claim(at.poolId, 1, T0 + 9 * HOUR, T0 + HOUR)).length, 1)
    t.equal(await store.cancel(scopeOf(at), mail.id, T0 + HOUR), 'not_scheduled', 'all or nothing')
    t.equal(await store.reschedule(scopeOf(at), mail.id, T0 + 2 * HOUR, T0 + HOUR), 'not_scheduled')
    t.equal((await store.claim(at.poolId, 9, T0 + 9 * HOUR, T0 + HOUR)).length, 1)
    t.equal(await statusOf(store, at, mail.id), 'queued')
    t.same(await timeline(store, mail.id), ['scheduled', 'scheduled', 'queued', 'queued'])
  })

  await t.test('it can be moved and cancelled until then', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at, later)
    t.equal(await store.reschedule(scopeOf(at), mail.id, T0 + 3 * HOUR, T0 + 1), 'done')
    t.equal((await store.email(scopeOf(at), mail.id))?.scheduledAt, T0 + 3 * HOUR)
    t.same(await store.claim(at.poolId, 1, T0 + 9 * HOUR, T0 + 2 * HOUR), [])
    t.equal(await store.cancel(scopeOf(at, 'test'), mail.id, T0 + 2), 'not_found', 'of another mode')
    t.equal(await store.cancel({ ...scopeOf(at), accountId: 'acct_x' }, mail.id, T0 + 2), 'not_found')
    const neighbour = await addWorkspace(store, at, 'neighbour')
    t.equal(await store.cancel(scopeOf(neighbour), mail.id, T0 + 2), 'not_found', 'of another workspace')
    t.equal(await store.reschedule(scopeOf(neighbour), mail.id, T0 + HOUR, T0 + 2), 'not_found')
    t.equal(await store.cancel(scopeOf(at), mail.id, T0 + 2), 'done')
    t.equal(await store.cancel(scopeOf(at), mail.id, T0 + 3), 'done', 'again')
    t.equal(await statusOf(store, at, mail.id), 'canceled')
    t.same(await store.claim(at.poolId, 1, T0 + 99 * HOUR, T0 + 9 * HOUR), [])
    t.equal(await store.reschedule(scopeOf(at), mail.id, T0, T0), 'not_scheduled')
    const plain = await accepted(store, at)
    t.equal(await store.cancel(scopeOf(at), plain.id, T0), 'not_scheduled')
  })

  await t.test('who is suppressed while the mail waits is not written to any more', async (t) => {
    const at = await newAccount(store)
    const listed = (list: string, email: string, expiresAt: number | null = null) =>
      store.addSuppression({
        id: newId('sup'),
        accountId: at.accountId,
        list,
        email,
        origin: 'complaint',
        sourceId: null,
        reason: null,
        expiresAt,
        createdAt: T0,
      })
    const to = (...names: readonly string[]) => ({ recipients: names.map((name) => toOne(`${name}@x.test`)) })
    const planned = await accepted(store, at, { ...later, ...to('Ana', 'bob') })
    const tried = await accepted(store, at, to('wide'))
    const claimed = await claimOne(store, at, T0)
    await store.settle([ofLease(claimed, { seen: 'postponed', retryAt: T0 + HOUR })])
    const wilful = await accepted(store, at, { ...later, ...to('ana'), ignoreSuppressions: true })
    const testing = await accepted(store, at, { ...later, ...to('ana'), mode: 'test' })
    const ours = await accepted(store, at, { ...later, ...to('ana'), source: 'system' })
    const pardoned = await accepted(store, at, { ...later, ...to('brief') })
    const ofDomain = await accepted(store, at, {
      ...later,
      recipients: [toOne('Cy@Y.test'), toOne('cy@sub.y.test'), toOne('*@z.test'), toOne('cy@z.test')],
    })
    const ofList = async (list: string) =>
      accepted(store, at, { ...later, ...to('Lea'), extras: { unsubscribe_list: list } })
    const [news, offers, none] = [
      await ofList('news'),
      await ofList('news-2'),
      await accepted(store, at, { ...later, ...to('lea') }),
    ]
    await listed(at.workspace.id, 'lea@x.test#news')
    await listed(at.workspace.id, 'ana@x.test')
    await listed(at.accountId, 'wide@x.test')
    await listed(at.workspace.id, 'brief@x.test', T0 + 5)
    await listed(suppressionList(at.workspace.id, 'test'), 'bob@x.test')
    await listed(at.workspace.id, '*@y.test')
    await listed(at.workspace.id, '"*"@z.test')
    const due = await store.claim(at.poolId, 20, T0 + 9 * HOUR, T0 + HOUR)
    t.same(
      due.map(({ emailId, address }) => `${emailId} ${address}`).sort(),
      [
        `${planned.id} bob@x.test`,
        `${wilful.id} ana@x.test`,
        `${testing.id} ana@x.test`,
        `${ours.id} ana@x.test`,
        `${pardoned.id} brief@x.test`,
        `${ofDomain.id} cy@sub.y.test`,
        `${ofDomain.id} cy@z.test`,
        `${offers.id} Lea@x.test`,
        `${none.id} lea@x.test`,
      ].sort(),
    )
    const found = await store.email(scopeOf(at), planned.id)
    t.match(found, { status: 'bounced', counts: { bounced: 1, queued: 1 } })
    t.match(found?.recipients[0], { status: 'bounced', reason: 'suppressed', attempts: 0, dueAt: null })
    t.same(await timeline(store, tried.id), ['queued', 'deferred', 'bounced'])
    t.match((await store.events(tried.id, page())).rows[0], { source: 'system', reason: 'suppressed' })
    t.match((await store.events(news.id, page())).rows[0], { reason: 'suppressed', detail: { list: 'news' } })
    const told = (await store.events(ofDomain.id, page())).rows.filter(
      ({ reason }) => reason === 'suppressed',
    )
    t.same(
      new Map(told.map(({ recipient, detail }) => [recipient, detail])),
      new Map([
        ['Cy@Y.test', { entry: '*@y.test' }],
        ['*@z.test', null],
      ]),
    )
  })

  await t.test('of a cancel and the dispatcher exactly one wins', async (t) => {
    const at = await newAccount(store)
    for (let i = 0; i < 10; i++) {
      const mail = await accepted(store, at, later)
      const [claimed, canceled] = await Promise.all([
        store.claim(at.poolId, 1, T0 + 9 * HOUR, T0 + HOUR),
        store.cancel(scopeOf(at), mail.id, T0 + HOUR),
      ])
      t.equal(claimed.length === 1, canceled === 'not_scheduled')
    }
  })
}

export const queueContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await acceptTests(t, store)
  await listedTests(t, store)
  await claimTests(t, store, open)
  await leaseTests(t, store)
  await scheduleTests(t, store)
}
