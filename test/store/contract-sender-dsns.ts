/**
 * NAME      contract-sender-dsns - which DSNs senders get, and told once
 */
import type { Test } from 'tap'
import type { NewEmail, Outcome } from '../../src/lifecycle/facts.js'
import type { PendingDsn } from '../../src/store/port/mail.js'
import type { Store } from '../../src/store/port/store.js'
import {
  accepted,
  addWorkspace,
  claimOne,
  HOUR,
  mailFor,
  newAccount,
  ofLease,
  outcome,
  page,
  report,
  T0,
  type TestAccount,
  toOne,
} from './fixture.js'

const NO = { code: 550, enhanced: '5.1.1', text: 'no such user' }
const FAR = T0 + 1000 * HOUR

const told = async (store: Store): Promise<TestAccount> =>
  addWorkspace(store, await newAccount(store), 'told', { senderDsn: true })

const owedTo = async (store: Store, mail: NewEmail): Promise<readonly PendingDsn[]> =>
  (await store.pendingDsns(FAR, 1000)).filter(({ emailId }) => emailId === mail.id)

const fromSmtp = (store: Store, at: TestAccount, over: Partial<NewEmail> = {}): Promise<NewEmail> =>
  accepted(store, at, { source: 'smtp', mailFrom: 'app@acme.test', ...over })

const paying = (at: TestAccount, { emailId, action, recipients }: PendingDsn) => {
  const mail = mailFor(at, { source: 'system', mailFrom: '', recipients: [toOne('app@acme.test')] })
  const dsn = { emailId, action, recipientIds: recipients.map(({ recipientId }) => recipientId) }
  return { mails: [mail], idempotency: null, dsn, now: T0 + HOUR }
}

/** The only recipient of a fresh mail, refused, or whatever `over` says of its attempt. */
const after = async (store: Store, at: TestAccount, mail: Partial<NewEmail>, over: Partial<Outcome>) => {
  const sent = await fromSmtp(store, at, mail)
  await store.settle([ofLease(await claimOne(store, at, T0), over)])
  return owedTo(store, sent)
}

const refused = { seen: 'rejected', reply: NO, at: T0 + 5 } as const

const noted = async (t: Test, store: Store): Promise<void> => {
  await t.test('a refusal owes a report, with all that it needs', async (t) => {
    const at = await told(store)
    const dsn = { notify: 'SUCCESS,FAILURE', orcpt: 'rfc822;ana+2B1@example.com' }
    const recipients = [toOne('ana@example.com', { dsn })]
    const mta = { poolId: at.poolId, upstreamId: 'up_1', host: 'mta1' }
    const [owed, ...more] = await after(
      store,
      at,
      { recipients, envid: 'QQ1', ret: 'FULL', requireTls: true },
      { ...refused, mta },
    )
    t.same(more, [])
    t.match(owed, {
      accountId: at.accountId,
      workspaceId: at.workspace.id,
      mode: 'live',
      action: 'failed',
      mailFrom: 'app@acme.test',
      envid: 'QQ1',
      ret: 'FULL',
      requireTls: true,
      subject: 'Receipt',
      createdAt: T0,
      recipients: [{ address: 'ana@example.com', dsn, reply: NO, mta, occurredAt: T0 + 5, queuedAt: T0 }],
    })
    t.same(await store.pendingDsns(T0 + 4, 1000), [], 'young ones wait for others')
  })

  await t.test(
    'nothing is owed without the option, for the API, for the null sender, against NOTIFY',
    async (t) => {
      const silent = await newAccount(store)
      t.same(await after(store, silent, {}, refused), [])
      const at = await told(store)
      t.same(await after(store, at, { mailFrom: null }, refused), [])
      t.same(await after(store, at, { mailFrom: '' }, refused), [])
      for (const notify of ['NEVER', 'SUCCESS', 'SUCCESS,DELAY']) {
        const recipients = [toOne('ana@example.com', { dsn: { notify, orcpt: null } })]
        t.same(await after(store, at, { recipients }, refused), [], notify)
      }
      t.same(await after(store, at, {}, { seen: 'accepted' }), [])
      t.same(
        await after(store, at, {}, { seen: 'postponed', retryAt: T0 + HOUR, at: T0 + HOUR }),
        [],
        'a short delay',
      )
    },
  )

  await t.test('a delay is told once, success when asked for, a suppressed recipient at once', async (t) => {
    const at = await told(store)
    const sent = await fromSmtp(store, at)
    const late = { seen: 'postponed', at: T0 + 5 * HOUR, retryAt: T0 + 6 * HOUR } as const
    await store.settle([ofLease(await claimOne(store, at, T0), late)])
    const [delay] = await owedTo(store, sent)
    t.equal(delay?.action, 'delayed')
    if (delay !== undefined) t.equal(await store.accept(paying(at, delay)), 'accepted')
    await store.claim(at.poolId, 9, T0 + 8 * HOUR, T0 + HOUR) // the report itself
    const again = await claimOne(store, at, T0 + 6 * HOUR)
    await store.settle([ofLease(again, { ...late, at: T0 + 7 * HOUR, retryAt: T0 + 8 * HOUR })])
    t.same(await owedTo(store, sent), [])

    const wish = () => ({
      recipients: [toOne('ana@example.com', { dsn: { notify: 'SUCCESS', orcpt: null } })],
    })
    const other = await told(store)
    t.same(await after(store, other, wish(), { seen: 'accepted' }), [], 'the upstream will report')
    const untold = await after(store, other, wish(), { seen: 'accepted', detail: { reports: false } })
    t.equal(untold[0]?.action, 'relayed')
    const reported = await fromSmtp(store, other, wish())
    const claimed = await claimOne(store, other, T0)
    await store.settle([ofLease(claimed), report(claimed.recipientId, { seen: 'dsn-delivered' })])
    t.equal((await owedTo(store, reported))[0]?.action, 'delivered')

    const dead = await fromSmtp(store, other, {
      recipients: [toOne('dead@example.com', { suppressed: true })],
    })
    t.match(await owedTo(store, dead), [{ action: 'failed', recipients: [{ reason: 'suppressed' }] }])
  })
}

const paid = async (t: Test, store: Store): Promise<void> => {
  await t.test('recipients that fail together are one debt, paid once', async (t) => {
    const at = await told(store)
    const recipients = [toOne('a@example.com'), toOne('b@example.com')]
    const sent = await fromSmtp(store, at, { recipients })
    const claims = await store.claim(at.poolId, 2, T0 + HOUR, T0)
    await store.settle(claims.map((claimed) => ofLease(claimed, refused)))
    const [owed, ...more] = await owedTo(store, sent)
    t.same(more, [])
    t.same(
      owed?.recipients.map(({ address }) => address),
      ['a@example.com', 'b@example.com'],
    )
    if (owed === undefined) return
    const first = paying(at, owed)
    const both = await Promise.all([store.accept(first), store.accept(paying(at, owed))])
    t.same(both, ['accepted', 'lock_lost'])
    t.same(await owedTo(store, sent), [])
    const [claimed] = await store.claim(at.poolId, 9, T0 + 2 * HOUR, T0 + HOUR)
    t.match(claimed, { address: 'app@acme.test', nullSender: true })
    const events = (await store.events(sent.id, page())).rows.filter(
      ({ type, applied, change }) => type === 'email.sender_notified' && applied && !change,
    )
    t.equal(events.length, 2)
    t.match(events[0], {
      source: 'system',
      reason: null,
      detail: { action: 'failed', dsn: first.mails[0]?.id },
    })
    if (claimed !== undefined) await store.settle([ofLease(claimed, refused)])
    t.same(
      await store
        .pendingDsns(FAR, 1000)
        .then((all) => all.filter(({ workspaceId }) => workspaceId === at.workspace.id)),
      [],
      'its own refusal owes nothing',
    )
  })

  await t.test('nothing is owed for a workspace that is gone', async (t) => {
    const at = await told(store)
    t.equal((await after(store, at, {}, refused)).length, 1)
    t.equal(await store.deleteWorkspace(at.accountId, at.workspace.id, 'x', T0 + 9), 'done')
    await store.sweep(T0 + 9, { bodiesMs: 1e13, emailsMs: 1e13, deadlines: false })
    const left = await store.pendingDsns(FAR, 1000)
    t.same(
      left.filter(({ workspaceId }) => workspaceId === at.workspace.id),
      [],
    )
  })

  await t.test('a failure after success is told as well', async (t) => {
    const at = await told(store)
    const sent = await fromSmtp(store, at)
    const claimed = await claimOne(store, at, T0)
    await store.settle([
      ofLease(claimed),
      outcome(claimed.recipientId, { seen: 'dsn-failed', source: 'dsn' }),
    ])
    t.equal((await owedTo(store, sent))[0]?.action, 'failed')
  })
}

export const senderDsnsContract = async (t: Test, store: Store): Promise<void> => {
  await noted(t, store)
  await paid(t, store)
}
