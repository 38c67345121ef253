/**
 * NAME      contract-idempotency - one key, one send
 */
import type { Test } from 'tap'
import type { IdempotencyClaim, IdempotentAnswer } from '../../src/lifecycle/facts.js'
import type { Store } from '../../src/store/port/store.js'
import { HOUR, mailFor, newAccount, scopeOf, T0, type TestAccount } from './fixture.js'

const claimFor = (at: TestAccount, over: Partial<IdempotencyClaim> = {}): IdempotencyClaim => ({
  workspaceId: at.workspace.id,
  mode: 'live',
  key: 'order-42',
  fingerprint: 'f1',
  token: 't1',
  now: T0,
  lockedUntil: T0 + 60_000,
  ...over,
})

const answerFor = (at: TestAccount, over: Partial<IdempotentAnswer> = {}): IdempotentAnswer => ({
  workspaceId: at.workspace.id,
  mode: 'live',
  key: 'order-42',
  token: 't1',
  status: 202,
  body: '{"id":"em_1"}',
  ...over,
})

export const idempotencyContract = async (t: Test, store: Store): Promise<void> => {
  await t.test('a key is locked, answered and replayed for 24 hours', async (t) => {
    const at = await newAccount(store)
    t.same(await store.claimKey(claimFor(at)), { state: 'claimed' })
    t.same(await store.claimKey(claimFor(at, { token: 't2' })), { state: 'in_progress' })
    t.same(await store.claimKey(claimFor(at, { token: 't2', fingerprint: 'f2' })), { state: 'mismatch' })
    t.same(await store.claimKey(claimFor(at, { mode: 'test' })), { state: 'claimed' }, 'modes are apart')
    t.equal(await store.accept({ mails: [mailFor(at)], idempotency: answerFor(at), now: T0 + 5 }), 'accepted')
    const done = { state: 'done', status: 202, body: '{"id":"em_1"}' }
    const day = T0 + 5 + 24 * HOUR
    t.same(await store.claimKey(claimFor(at, { token: 't3', now: T0 + 10 })), done)
    t.same(await store.claimKey(claimFor(at, { token: 't3', now: day })), done)
    t.same(await store.claimKey(claimFor(at, { fingerprint: 'f2', now: day })), { state: 'mismatch' })
    await store.releaseKey(claimFor(at))
    t.same(await store.claimKey(claimFor(at, { now: day })), done, 'an answer is not released')
    t.same(await store.claimKey(claimFor(at, { fingerprint: 'f2', now: day + 1000 })), { state: 'claimed' })
  })

  await t.test('a lock that ran out is taken over, and its late owner stores nothing', async (t) => {
    const at = await newAccount(store)
    await store.claimKey(claimFor(at))
    t.same(await store.claimKey(claimFor(at, { token: 't2', now: T0 + 60_000 })), { state: 'claimed' })
    const late = mailFor(at)
    t.equal(await store.accept({ mails: [late], idempotency: answerFor(at), now: T0 + 60_001 }), 'lock_lost')
    t.equal(await store.email(scopeOf(at), late.id), null)
    const mine = answerFor(at, { token: 't2' })
    t.equal(await store.accept({ mails: [mailFor(at)], idempotency: mine, now: T0 + 60_002 }), 'accepted')
    t.equal(await store.accept({ mails: [mailFor(at)], idempotency: mine, now: T0 + 60_003 }), 'lock_lost')
    t.equal((await store.claim(at.poolId, 9, T0 + HOUR, T0 + 60_003)).length, 1)
  })

  await t.test('a released key is free; only its holder can release it', async (t) => {
    const at = await newAccount(store)
    await store.claimKey(claimFor(at))
    await store.releaseKey(claimFor(at, { token: 'other' }))
    t.same(await store.claimKey(claimFor(at, { token: 't2' })), { state: 'in_progress' })
    await store.releaseKey(claimFor(at))
    t.same(await store.claimKey(claimFor(at, { token: 't2' })), { state: 'claimed' })
  })

  await t.test('of fifty equal claims one wins', async (t) => {
    const at = await newAccount(store)
    const states = await Promise.all(
      Array.from({ length: 50 }, (_, i) => store.claimKey(claimFor(at, { token: `t${i}` }))),
    )
    t.equal(states.filter((state) => state.state === 'claimed').length, 1)
    t.equal(states.filter((state) => state.state === 'in_progress').length, 49)
  })
}
