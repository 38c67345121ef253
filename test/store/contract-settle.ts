/**
 * NAME      contract-settle - outcomes, reports, repeats and ambiguity
 */

import fc from 'fast-check'
import type { Test } from 'tap'
import type { Claimed, Settled } from '../../src/lifecycle/facts.js'
import type { Observation } from '../../src/mail/status.js'
import type { Store } from '../../src/store/port/store.js'
import {
  accepted,
  claimOne,
  HOUR,
  newAccount,
  type OpenStore,
  ofLease,
  outcome,
  page,
  report,
  scopeOf,
  statusOf,
  T0,
  timeline,
  toOne,
} from './fixture.js'

const OK = { code: 250, enhanced: '2.0.0', text: 'ok' }
const NO = { code: 550, enhanced: '5.1.1', text: 'no such user' }

const attemptTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('a quiet outcome is settled and not answered', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const done = ofLease(await claimOne(store, at, T0))
    t.same(await store.settle([done], true), [])
    t.match(await store.email(scopeOf(at), mail.id), { status: 'sent' })
  })

  await t.test('an accepted attempt makes the mail sent and ends the lease', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    const told = new Promise<readonly Settled[]>((resolve) => store.onSettled(resolve))
    const mta = { poolId: at.poolId, upstreamId: 'up_1', host: 'mta1' }
    const settled = await store.settle([ofLease(claimed, { reply: OK, mta, detail: { ms: 12 } })])
    const expected = {
      recipientId: claimed.recipientId,
      emailId: mail.id,
      workspaceId: at.workspace.id,
      mode: 'live',
      address: 'ana@example.com',
      applied: true,
      from: 'queued',
      to: 'sent',
      emailStatus: 'sent',
    }
    t.same(settled, [expected])
    t.same(await told, [expected])
    const found = await store.email(scopeOf(at), mail.id)
    t.match(found, { status: 'sent', counts: { queued: 0, sent: 1 } })
    t.match(found?.recipients[0], { status: 'sent', attempts: 1, lastResponse: '250 2.0.0 ok', dueAt: null })
    t.match((await store.events(mail.id, page())).rows[0], {
      type: 'email.sent',
      recipientId: claimed.recipientId,
      recipient: 'ana@example.com',
      source: 'smtp',
      occurredAt: T0 + 1000,
      attempt: 1,
      applied: true,
      reply: OK,
      mta,
      detail: { ms: 12 },
    })
    t.same(await store.claim(at.poolId, 1, T0 + 9 * HOUR, T0 + 8 * HOUR), [])
  })

  await t.test('postponed comes back, counts attempts, and can succeed', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    for (const attempt of [1, 2]) {
      const claimed = await claimOne(store, at, T0 + attempt)
      t.equal(claimed.attempts, attempt - 1)
      await store.settle([ofLease(claimed, { seen: 'postponed', retryAt: T0 + attempt + 1 })])
      t.equal(await statusOf(store, at, mail.id), 'deferred')
    }
    await store.settle([ofLease(await claimOne(store, at, T0 + 9))])
    t.equal(await statusOf(store, at, mail.id), 'sent')
    t.same(await timeline(store, mail.id), ['queued', 'deferred', 'deferred', 'sent'])
  })

  await t.test('rejected is bounced, with its reason', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at, { recipients: [toOne('a@x.test'), toOne('b@x.test')] })
    const [first, second] = await store.claim(at.poolId, 2, T0 + HOUR, T0)
    if (first === undefined || second === undefined) throw new Error('expected two')
    await store.settle([
      ofLease(first, { seen: 'rejected', reply: NO, reason: 'unknown_user' }),
      ofLease(second),
    ])
    const found = await store.email(scopeOf(at), mail.id)
    t.match(found, { status: 'bounced', counts: { bounced: 1, sent: 1, queued: 0 } })
    const refused = found?.recipients.find(({ id }) => id === first.recipientId)
    t.match(refused, { reason: 'unknown_user', lastResponse: '550 5.1.1 no such user' })
  })

  await t.test('settling the same attempt again changes and records nothing', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    const done = ofLease(claimed)
    await store.settle([done])
    t.match(await store.settle([done]), [{ applied: false, from: 'sent', to: 'sent' }])
    t.match(await store.settle([done, done]), [{ applied: false }, { applied: false }])
    t.same(await timeline(store, mail.id), ['queued', 'sent'])
    t.equal((await store.email(scopeOf(at), mail.id))?.recipients[0]?.attempts, 1)
    t.same(
      await store.attempting([{ ...claimed, attempt: 2, upstreamId: 'up_1', at: T0 }]),
      [false],
      'and its lease begins nothing more',
    )
  })

  await t.test('a stale lease is recorded and not applied', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const old = await claimOne(store, at, T0)
    await store.release([old], T0)
    const fresh = await claimOne(store, at, T0)
    t.match(await store.settle([ofLease(old)]), [{ applied: false, to: 'queued' }])
    t.same(await timeline(store, mail.id), ['queued', 'sent!'])
    t.same(await store.attempting([{ ...fresh, attempt: 1, upstreamId: 'up_1', at: T0 }]), [true])
    t.match(await store.settle([ofLease(fresh)]), [{ applied: true, to: 'sent' }])
  })

  await t.test('unknown recipients are left out', async (t) => {
    t.same(await store.settle([outcome('0000000000000000')]), [])
  })
}

const reportTests = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await t.test('a report that overtakes our own 250 stands, and the lease still ends', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    await store.attempting([{ ...claimed, attempt: 1, upstreamId: 'up_1', at: T0 }])
    await store.settle([report(claimed.recipientId, { seen: 'dsn-delivered' })])
    t.match(await store.settle([ofLease(claimed, { reply: OK })]), [{ applied: false, to: 'delivered' }])
    t.equal(await statusOf(store, at, mail.id), 'delivered')
    t.same(await timeline(store, mail.id), ['queued', 'delivered', 'sent!'])
    t.same(await store.depth(), [], 'nothing leased, nothing due')
  })

  await t.test('a report that overtakes our lost connection leaves nothing held', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    await store.attempting([{ ...claimed, attempt: 1, upstreamId: 'up_1', at: T0 }])
    await store.settle([report(claimed.recipientId, { seen: 'dsn-delivered' })])
    await store.settle([ofLease(claimed, { seen: 'postponed', reason: 'ambiguous' })])
    t.equal(await statusOf(store, at, mail.id), 'delivered')
    const found = await store.email(scopeOf(at), mail.id)
    t.match(found?.recipients[0], { status: 'delivered', dueAt: null, held: null })
  })

  await t.test('the same report twice is one event', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    await store.settle([ofLease(claimed)])
    const failed = report(claimed.recipientId, { seen: 'dsn-failed', dedupe: 'k1', reply: NO })
    t.match(await store.settle([failed, failed]), [{ applied: true }, { applied: false }])
    t.match(await store.settle([failed]), [{ applied: false, to: 'bounced' }])
    t.same(await timeline(store, mail.id), ['queued', 'sent', 'bounced'])
  })

  await t.test('an untrusted report is an event and nothing more', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    await store.settle([ofLease(claimed)])
    const before = await store.email(scopeOf(at), mail.id)
    await store.settle([report(claimed.recipientId, { seen: 'dsn-failed', trusted: false })])
    t.same(await store.email(scopeOf(at), mail.id), before)
    t.same(await timeline(store, mail.id), ['queued', 'sent', 'bounced!'])
  })

  await t.test('a report that ends a waiting recipient takes it out of the queue', async (t) => {
    const at = await newAccount(store)
    await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    await store.settle([ofLease(claimed, { seen: 'postponed', retryAt: T0 + 5 })])
    await store.settle([report(claimed.recipientId, { seen: 'dsn-failed' })])
    t.same(await store.claim(at.poolId, 1, T0 + HOUR, T0 + 10), [])

    await accepted(store, at)
    const leased = await claimOne(store, at, T0)
    await store.settle([outcome(leased.recipientId, { seen: 'purged', source: 'operator' })])
    t.same(await store.attempting([{ ...leased, attempt: 1, upstreamId: 'up_1', at: T0 }]), [false])
  })

  await t.test('a delayed mail rests, and expires when nobody reports its end', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    await store.settle([ofLease(claimed)])
    await store.settle([report(claimed.recipientId, { seen: 'dsn-delayed', deadline: T0 + HOUR })])
    t.equal(await statusOf(store, at, mail.id), 'deferred')
    t.same(await store.claim(at.poolId, 1, T0 + 9 * HOUR, T0 + 8 * HOUR), [], 'the upstream has it')
    const keep = { bodiesMs: 99 * HOUR, emailsMs: 99 * HOUR }
    await store.sweep(T0 + HOUR - 1, keep)
    t.equal(await statusOf(store, at, mail.id), 'deferred')
    await store.sweep(T0 + HOUR, keep)
    const found = await store.email(scopeOf(at), mail.id)
    t.equal(found?.status, 'bounced')
    t.match(found?.recipients[0], { lastResponse: /4\.4\.7/, reason: 'lifetime' })
    t.same(await timeline(store, mail.id), ['queued', 'sent', 'deferred', 'bounced'])
  })

  await t.test('a delayed mail that is then delivered never expires', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    await store.settle([ofLease(claimed)])
    await store.settle([report(claimed.recipientId, { seen: 'dsn-delayed', deadline: T0 + HOUR })])
    await store.settle([report(claimed.recipientId, { seen: 'dsn-delivered' })])
    await store.sweep(T0 + 2 * HOUR, { bodiesMs: 99 * HOUR, emailsMs: 99 * HOUR })
    t.equal(await statusOf(store, at, mail.id), 'delivered')
  })

  await t.test('updated_at moves only on a change', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    await store.settle([ofLease(claimed)])
    await store.settle([report(claimed.recipientId, { seen: 'dsn-delivered' })])
    const before = (await store.email(scopeOf(at), mail.id))?.updatedAt
    await store.settle([report(claimed.recipientId, { seen: 'dsn-delivered', dedupe: 'again' })])
    t.equal((await store.email(scopeOf(at), mail.id))?.updatedAt, before)
  })
}

/** What may be seen of one attempt: how it ends for us, and what is reported of it, by whom and how often. */
const ENDS: readonly Observation[] = ['accepted', 'postponed', 'rejected', 'expired']
const REPORTS: readonly Observation[] = [
  'dsn-delivered',
  'dsn-relayed',
  'dsn-expanded',
  'dsn-delayed',
  'dsn-failed',
  'complained',
  'reported',
]
const DEADLINE = T0 + 99 * HOUR

/** In the order of `order`: position 0 is our own reply, the others are reports; an even one comes twice. */
const seenIn = (
  claimed: Claimed,
  end: Observation,
  reports: readonly Observation[],
  order: readonly number[],
) =>
  order.flatMap((at) => {
    if (at === 0) return ofLease(claimed, { seen: end, retryAt: end === 'postponed' ? T0 + HOUR : null })
    const seen = reports[at - 1] ?? 'reported'
    const deadline = seen === 'dsn-delayed' ? DEADLINE : null
    const one = report(claimed.recipientId, { seen, deadline, dedupe: `${claimed.recipientId}${at}` })
    const forged = report(claimed.recipientId, { seen: 'dsn-failed', trusted: false })
    return at % 2 === 0 ? [one, forged, one] : one
  })

const orderTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('one attempt and all that is reported of it end alike in any order', async (t) => {
    const at = await newAccount(store)
    const endOf = async (
      past: boolean,
      end: Observation,
      reports: readonly Observation[],
      order: readonly number[],
    ) => {
      const mail = await accepted(store, at, { recipients: [toOne('ana@x.test'), toOne('bob@x.test')] })
      let [claimed, bob] = await store.claim(at.poolId, 9, T0 + HOUR, T0)
      if (claimed === undefined || bob === undefined) throw new Error('expected two')
      await store.settle([ofLease(bob)])
      if (past) {
        // an attempt before this one failed for now, and had been reported as delayed
        await store.settle([ofLease(claimed, { seen: 'postponed', retryAt: T0 })])
        claimed = await claimOne(store, at, T0)
      }
      await store.attempting([{ ...claimed, attempt: claimed.attempts + 1, upstreamId: 'up_1', at: T0 }])
      for (const outcome of seenIn(claimed, end, reports, order)) await store.settle([outcome])
      const found = await store.email(scopeOf(at), mail.id)
      const one = found?.recipients.find(({ id }) => id === claimed.recipientId)
      return [found?.status, one?.status, one?.dueAt, one?.attempts]
    }
    await fc.assert(
      fc.asyncProperty(
        fc.boolean(),
        fc.constantFrom(...ENDS),
        fc.array(fc.constantFrom(...REPORTS), { minLength: 1, maxLength: 5 }).chain((reports) => {
          const order = [0, ...reports.map((_, i) => i + 1)]
          return fc.tuple(fc.constant(reports), fc.shuffledSubarray(order, { minLength: order.length }))
        }),
        async (past, end, [reports, order]) => {
          const straight = await endOf(
            past,
            end,
            reports,
            [...order].sort((a, b) => a - b),
          )
          const shuffled = await endOf(past, end, reports, order)
          return JSON.stringify(straight) === JSON.stringify(shuffled)
        },
      ),
      { numRuns: 120 },
    )
    t.pass('120 runs')
  })

  await t.test('what others hold stays deferred through our own 250, whichever comes first', async (t) => {
    const at = await newAccount(store)
    for (const first of [true, false]) {
      const mail = await accepted(store, at)
      const claimed = await claimOne(store, at, T0)
      await store.attempting([{ ...claimed, attempt: 1, upstreamId: 'up_1', at: T0 }])
      const late = report(claimed.recipientId, { seen: 'dsn-delayed', deadline: DEADLINE })
      await store.settle(first ? [late, ofLease(claimed)] : [ofLease(claimed), late])
      t.equal(await statusOf(store, at, mail.id), 'deferred')
      const { rows } = await store.events(mail.id, page())
      const unapplied = rows.filter(({ applied }) => !applied)
      t.match(unapplied, first ? [{ type: 'email.sent', detail: { unapplied: 'already_deferred' } }] : [])
      t.same(await store.claim(at.poolId, 9, T0 + 9 * HOUR, T0 + 8 * HOUR), [])
    }
  })

  await t.test('a remark is an event of its own name, and moves nothing', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    await store.settle([ofLease(claimed)])
    const before = await store.email(scopeOf(at), mail.id)
    const settled = await store.settle([
      report(claimed.recipientId, { seen: 'complained', source: 'arf', reason: 'abuse' }),
      report(claimed.recipientId, { seen: 'complained', source: 'arf', trusted: false }),
    ])
    t.match(settled, [{ applied: false, to: 'sent' }, { applied: false }])
    t.same(await store.email(scopeOf(at), mail.id), before)
    t.same(await timeline(store, mail.id), ['queued', 'sent', 'complained', 'complained!'])
    t.match((await store.events(mail.id, page())).rows[0], { detail: { unapplied: 'unverified' } })
  })
}

export const settleContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await attemptTests(t, store)
  await reportTests(t, store, open)
  await orderTests(t, store)
}
