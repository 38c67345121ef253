/**
 * NAME      contract-edges - the rules at their edges
 * DESCRIPTION
 *   Each case stands where one rule ends and the other begins: at a limit, at a time to the
 *   millisecond, or where two facts meet that seldom do.
 */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import { freshPool } from '../../src/store/pools.js'
import type { Store } from '../../src/store/port/store.js'
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
  report,
  scopeOf,
  statusOf,
  T0,
  type TestAccount,
  timeline,
  toOne,
} from './fixture.js'

const NO = { code: 550, enhanced: '5.1.1', text: 'no such user' }
const LATER = { code: 451, enhanced: '4.2.1', text: 'later' }
const KEEP = { bodiesMs: 24 * HOUR, emailsMs: 48 * HOUR }

const firstOf = async (store: Store, at: TestAccount, emailId: string) =>
  (await store.email(scopeOf(at), emailId))?.recipients[0]

/** One mail under lease, whose attempt may be past the final dot. */
const attempted = async (store: Store, at: TestAccount) => {
  const mail = await accepted(store, at)
  const claimed = await claimOne(store, at, T0)
  await store.attempting([{ ...claimed, attempt: 1, upstreamId: 'up_1', at: T0 }])
  return { mail, claimed }
}

const settling = async (t: Test, store: Store): Promise<void> => {
  await t.test('what was reported first keeps its reason, its words and its deadline', async (t) => {
    const at = await newAccount(store)
    const { mail, claimed } = await attempted(store, at)
    const refused = { seen: 'dsn-failed', reason: 'unknown_user', reply: NO } as const
    await store.settle([report(claimed.recipientId, refused), ofLease(claimed)])
    const said = { status: 'bounced', reason: 'unknown_user', lastResponse: '550 5.1.1 no such user' }
    t.match(await firstOf(store, at, mail.id), said)

    const other = await attempted(store, at)
    const delayed = { seen: 'dsn-delayed', deadline: T0 + HOUR } as const
    const tried = { seen: 'postponed', retryAt: T0 + 99 * HOUR, deadline: T0 + 9 * HOUR } as const
    await store.settle([report(other.claimed.recipientId, delayed), ofLease(other.claimed, tried)])
    await store.sweep(T0 + 2 * HOUR, KEEP)
    t.equal(await statusOf(store, at, other.mail.id), 'bounced')
  })

  await t.test('who says nothing leaves what was said before', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const postponed = { seen: 'postponed', retryAt: T0 } as const
    await store.settle([ofLease(await claimOne(store, at, T0), { ...postponed, reply: LATER })])
    await store.settle([ofLease(await claimOne(store, at, T0), postponed)])
    t.equal((await firstOf(store, at, mail.id))?.lastResponse, '451 4.2.1 later')
    const delivered = { seen: 'dsn-delivered' } as const
    await store.settle([report(mail.recipients[0]?.id ?? '', delivered)])
    t.equal((await firstOf(store, at, mail.id))?.lastResponse, '451 4.2.1 later')
  })

  await t.test('a lease that a report has revoked is stale, and all that it says is recorded', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    await store.settle([report(claimed.recipientId, { seen: 'dsn-failed' })])
    const postponed = { seen: 'postponed', retryAt: T0 } as const
    for (let i = 0; i < 2; i++) await store.settle([ofLease(claimed), ofLease(claimed, postponed)])
    t.same(await timeline(store, mail.id), ['queued', 'bounced', 'sent!', 'deferred!'])
    const { rows } = await store.events(mail.id, page({ limit: 2 }))
    for (const { detail } of rows) t.equal(detail?.unapplied, 'stale_attempt')
  })

  await t.test('mail that another server is said to have is not sent by us', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const delayed = { seen: 'dsn-delayed', deadline: T0 + HOUR } as const
    await store.settle([report(mail.recipients[0]?.id ?? '', delayed)])
    t.match(await firstOf(store, at, mail.id), { status: 'deferred', dueAt: null })
    t.same(await store.claim(at.poolId, 9, T0 + HOUR, T0), [])
  })

  await t.test('a delay that is reported between two attempts outlasts our own 250', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    await store.settle([ofLease(await claimOne(store, at, T0), { seen: 'postponed', retryAt: T0 })])
    const delayed = { seen: 'dsn-delayed', deadline: T0 + HOUR } as const
    await store.settle([report(mail.recipients[0]?.id ?? '', delayed)])
    await store.settle([ofLease(await claimOne(store, at, T0))])
    t.equal(await statusOf(store, at, mail.id), 'deferred', 'somebody else has it')
    t.same(await store.claim(at.poolId, 9, T0 + HOUR, T0), [])
    await store.sweep(T0 + HOUR, KEEP)
    t.equal(await statusOf(store, at, mail.id), 'bounced')
  })

  await t.test('a bounce that is reported again is no second one', async (t) => {
    const at = await newAccount(store)
    await store.updateWorkspace(at.workspace.id, { suppressSoft: { mailbox_full: { bounces: 2, days: 10 } } })
    const full = { seen: 'rejected', reason: 'mailbox_full', detail: { class: 'soft' } } as const
    const ids: string[] = []
    for (const day of [0, 1]) {
      const when = T0 + day * 24 * HOUR
      const mail = await accepted(store, at, { createdAt: when })
      ids.push(mail.recipients[0]?.id ?? '')
      await store.settle([ofLease(await claimOne(store, at, when), { ...full, at: when })])
    }
    const again = report(ids[1] ?? '', { ...full, seen: 'dsn-failed', at: T0 + 11 * 24 * HOUR })
    t.match(await store.settle([again]), [{ applied: false, to: 'bounced' }])
    t.equal(await store.suppression(at.workspace.id, 'ana@example.com'), null)
  })
}

const sending = async (t: Test, store: Store): Promise<void> => {
  await t.test('what may not leave takes nobody’s turn', async (t) => {
    const first = await newAccount(store)
    const others = [await addWorkspace(store, first, 'second'), await addWorkspace(store, first, 'third')]
    const list = { accountId: first.accountId, list: first.accountId, origin: 'manual' } as const
    for (const at of [first, ...others])
      for (const name of ['a', 'b']) {
        const email = `${name}@${at === others[1] ? 'free' : 'listed'}.test`
        await accepted(store, at, { recipients: [toOne(email)] })
        const row = { ...list, id: newId('sup'), email, sourceId: null, reason: null, expiresAt: null }
        if (at === first) await store.addSuppression({ ...row, createdAt: T0 })
      }
    const claimed = await store.claim(first.poolId, 4, T0 + HOUR, T0)
    t.same(claimed.map(({ address }) => address).sort(), ['a@free.test', 'b@free.test'])
  })

  await t.test('each lease runs out at its own time', async (t) => {
    const at = await newAccount(store)
    const ids = [await accepted(store, at), await accepted(store, at)].map(({ id }) => id)
    for (const hours of [1, 2]) await store.claim(at.poolId, 1, T0 + hours * HOUR, T0)
    for (const [i, emailId] of ids.entries())
      t.match(await store.claim(at.poolId, 9, T0 + 99 * HOUR, T0 + (i + 1) * HOUR), [{ emailId }])
  })

  await t.test('the list of the account holds for no test mail', async (t) => {
    const at = await newAccount(store)
    await accepted(store, at, { mode: 'test' })
    await store.addSuppression({
      ...{ id: newId('sup'), accountId: at.accountId, list: at.accountId, email: 'ana@example.com' },
      ...{ origin: 'manual', sourceId: null, reason: null, expiresAt: null, createdAt: T0 },
    })
    t.match(await claimOne(store, at, T0), { mode: 'test' })
  })

  await t.test('a hold of a domain holds that domain and no other', async (t) => {
    const at = await newAccount(store)
    const { accountId, workspace } = at
    const scope = { accountId, workspaceId: workspace.id, poolId: null, domain: 'x.test', emailId: null }
    await store.hold({ ...scope, id: newId('hold'), reason: 'x', owner: 'operator', createdAt: T0 })
    const addresses = ['a@X.test', 'a@notx.test', 'a@sub.x.test']
    await accepted(store, at, { recipients: addresses.map((address) => toOne(address)) })
    const claimed = await store.claim(at.poolId, 9, T0 + HOUR, T0)
    t.same(claimed.map(({ address }) => address).sort(), ['a@notx.test', 'a@sub.x.test'])
  })

  await t.test('an order leaves alone what it does not mean', async (t) => {
    const at = await newAccount(store)
    const { accountId, workspace } = at
    const [main, other, own] = ['main', 'other', 'own'].map((name) =>
      freshPool(accountId, `${name}-pool`, T0),
    )
    if (main === undefined || other === undefined || own === undefined) throw new Error('expected three')
    for (const pool of [main, other, own]) await store.createPool(pool)
    const scope = { accountId, workspaceId: workspace.id, poolId: null, domain: null, emailId: null }
    const order = { scope, to: null, reason: 'x', now: T0 }
    const [stays, goes] = [
      await accepted(store, at, { poolId: main.id }),
      await accepted(store, at, { poolId: main.id }),
    ]
    t.equal(await store.operate({ ...order, action: 'retry' }), 0, 'what is due is due')
    const later = await accepted(store, at, { poolId: own.id, scheduledAt: T0 + HOUR })
    const one = { ...scope, emailId: stays.id }
    t.equal(await store.operate({ ...order, action: 'reroute', scope: one, to: own.id }), 1)
    const from = { poolId: main.id, routes: [] }
    await store.updateWorkspace(
      workspace.id,
      {},
      { accountId, from, to: { poolId: other.id, routes: [] }, now: T0 },
    )
    const poolOf = async (id: string) => (await store.entriesOf([id]))[0]?.poolId
    t.equal(await poolOf(stays.id), own.id, 'where an operator has sent it')
    t.equal(await poolOf(goes.id), other.id)
    const hold = { ...scope, id: newId('hold'), reason: 'x', owner: 'operator', createdAt: T0 } as const
    t.equal(await store.hold(hold), 2)
    t.match(await store.entriesOf([later.id]), [{ held: null, dueAt: T0 + HOUR }], 'an appointment is kept')
  })

  await t.test('a count ends where it was told to', async (t) => {
    const at = await newAccount(store)
    for (const n of [1, 2, 3, 4]) await accepted(store, at, { recipients: [toOne(`a${n}@x.test`)] })
    await store.claim(at.poolId, 2, T0 + HOUR, T0)
    const scope = { accountId: at.accountId, workspaceId: null, poolId: null, domain: null, emailId: null }
    for (const domain of [null, 'x.test'])
      for (const limit of [1, 9])
        for (const countUpTo of [1, 2, 3, 9]) {
          const { total } = await store.queueEntries({ ...scope, domain }, page({ limit, countUpTo }))
          t.equal(total, Math.min(4, countUpTo), `${domain} ${limit} ${countUpTo}`)
        }
  })

  await t.test('a delay is told from four hours on, and wishes are read in any case', async (t) => {
    const at = await addWorkspace(store, await newAccount(store), 'told', { senderDsn: true })
    const owed = async (when: number, notify: string | null): Promise<number> => {
      const recipients = [toOne('ana@example.com', { dsn: { notify, orcpt: null } })]
      const mail = await accepted(store, at, { source: 'smtp', mailFrom: 'app@acme.test', recipients })
      const late = { seen: 'postponed', at: when, retryAt: T0 + 99 * HOUR } as const
      await store.settle([ofLease(await claimOne(store, at, T0), late)])
      return (await store.pendingDsns(T0 + 999 * HOUR, 1000)).filter(({ emailId }) => emailId === mail.id)
        .length
    }
    t.equal(await owed(T0 + 4 * HOUR - 1, null), 0)
    t.equal(await owed(T0 + 4 * HOUR, null), 1)
    t.equal(await owed(T0 + 4 * HOUR, 'success,Delay'), 1)
  })
}

const aging = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('what is as old as it may be is kept', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    await store.settle([ofLease(await claimOne(store, at, T0))])
    t.equal(await store.sweep(T0 + KEEP.bodiesMs, KEEP), 0)
    t.ok(await store.body(mail.id))
    t.equal(await store.sweep(T0 + KEEP.bodiesMs + 1, KEEP), 1)
    t.equal(await store.sweep(T0 + KEEP.emailsMs, KEEP), 0)
    t.equal(await store.sweep(T0 + KEEP.emailsMs + 1, KEEP), 1)
  })

  await t.test('keys that were locked or answered go after a day, and counts of sends', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const claim = { workspaceId: at.workspace.id, mode: 'live', fingerprint: 'f', token: 't' } as const
    for (const key of ['locked', 'answered', 'free'])
      await store.claimKey({ ...claim, key, now: T0, lockedUntil: T0 + HOUR })
    const answer = { ...claim, key: 'answered', status: 202, body: '{}' }
    await store.accept({ mails: [mailFor(at)], idempotency: answer, now: T0 })
    await store.releaseKey({ ...claim, key: 'free' })
    t.equal(await store.sweep(T0 + 24 * HOUR, KEEP), 0)
    t.equal(await store.sweep(T0 + 24 * HOUR + 1, KEEP), 1, 'what was answered')
    t.equal(await store.sweep(T0 + 25 * HOUR + 1, KEEP), 1, 'what was locked')

    const now = Date.now()
    await store.consume('bucket', 1, 2, 10)
    await eventually('its window goes', async () => (await store.sweep(now + 2 * HOUR, KEEP)) > 0)
  })
}

export const edgesContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await settling(t, store)
  await sending(t, store)
  await aging(t, open)
}
