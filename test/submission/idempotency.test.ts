import fc from 'fast-check'
import t from 'tap'
import { newId } from '../../src/base/id.js'
import { canonicalJson, checkIdempotencyKey, requestFingerprint } from '../../src/submission/idempotency.js'
import { codeOf } from '../tenant/house.js'
import { draft, openOffice, render, scopeOf } from './house.js'

t.test('keys', async (t) => {
  t.equal(checkIdempotencyKey('  a b '), 'a b')
  t.equal(checkIdempotencyKey('x'.repeat(256)).length, 256)
  for (const key of ['', '  ', 'x'.repeat(257), 'é'.repeat(129)]) {
    t.throws(() => checkIdempotencyKey(key), { code: 'idempotency.key_invalid' })
  }
})

t.test('canonical JSON depends on values only', async (t) => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, member]) => [name, shuffled(member)]),
    )
  }
  fc.assert(fc.property(fc.jsonValue(), (value) => canonicalJson(shuffled(value)) === canonicalJson(value)))
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const same =
        JSON.stringify(JSON.parse(canonicalJson(a))) === JSON.stringify(JSON.parse(canonicalJson(b)))
      return same === (canonicalJson(a) === canonicalJson(b))
    }),
  )
  const print = (body: unknown) => requestFingerprint('POST', '/v1/emails', '', body)
  t.not(print({ to: 'a' }), print({ to: ['a'] }))
  t.not(print({ to: 'a' }), print({ to: 'a', cc: null }))
  t.not(print([]), requestFingerprint('POST', '/v1/emails', 'permissive', []))
})

t.test('the same request twice is one email', async (t) => {
  const office = await openOffice(t)
  const { submission, live, test, accepted, clock } = office
  const send = (fingerprint: string, who = live, body = draft()) =>
    submission.submit(who, null, body, { idempotency: { key: 'k1', fingerprint }, render })
  const first = await send('f1')
  t.equal(first.replayed, false)
  const again = await send('f1')
  t.match(again, { replayed: true, status: 202, body: first.body, records: [] })
  t.equal(await codeOf(send('f2')), 'idempotency.body_mismatch')
  t.equal(accepted.length, 1)
  t.equal((await send('f2', test)).replayed, false, 'live and test are apart')
  clock.pass(24 * 3_600_000 + 1000)
  t.equal((await send('f2')).replayed, false, 'after a day the key is free')
})

t.test('many at once are one email', async (t) => {
  const { submission, live, accepted } = await openOffice(t)
  const options = { idempotency: { key: 'k', fingerprint: 'f' }, render }
  const all = await Promise.allSettled(
    Array.from({ length: 50 }, () => submission.submit(live, null, draft(), options)),
  )
  const fresh = all.filter((one) => one.status === 'fulfilled' && !one.value.replayed)
  t.equal(fresh.length, 1)
  t.equal(accepted.length, 1)
  for (const one of all)
    if (one.status === 'rejected') t.match(one.reason, { code: 'idempotency.in_progress' })
})

t.test('what fails leaves the key free', async (t) => {
  const { submission, live, accepted } = await openOffice(t)
  const send = (body: ReturnType<typeof draft>, fingerprint: string) =>
    submission.submit(live, null, body, { idempotency: { key: 'k', fingerprint }, render })
  t.equal(await codeOf(send(draft({ to: 'nobody' }), 'f1')), 'validation.request_invalid')
  t.equal(await codeOf(send(draft({ text: 'x'.repeat(100_000) }), 'f2')), 'request.body_too_large')
  t.equal((await send(draft(), 'f3')).replayed, false)
  t.equal(accepted.length, 1)
})

t.test('a lock that was lost on the way stores nothing twice', async (t) => {
  const office = await openOffice(t)
  const { live, clock, store, accepted, submission } = office
  const wish = { idempotency: { key: 'k', fingerprint: 'f' }, render }
  // while the slow one composes, a minute passes and another request takes over
  let slow = true
  const overtaken = office.with({
    store: {
      ...store,
      workspace: (accountId, ref) => store.workspace(accountId, ref),
      async suppressed(id, emails, now) {
        if (slow) {
          slow = false
          clock.pass(61_000)
          await submission.submit(live, null, draft(), wish)
        }
        return store.suppressed(id, emails, now)
      },
    },
  })
  const answer = await overtaken.submit(live, null, draft(), wish)
  t.equal(answer.replayed, true)
  t.equal(accepted.length, 1)
  const page = { limit: 10, direction: 'older', anchor: null, countUpTo: 10 } as const
  const none = { status: null, to: null, tag: null, createdAfter: null, createdBefore: null }
  t.equal((await store.emails({ ...scopeOf(office), ...none }, page)).total, 1)
})

t.test('who comes on a list between question and commit is so in the answer that is kept', async (t) => {
  const { live, store, accepted, account, workspace, with: other } = await openOffice(t)
  let isAsked = false
  const late = other({
    store: {
      ...store,
      async suppressed(list, emails, now) {
        const found = await store.suppressed(list, emails, now)
        if (!isAsked) {
          isAsked = true
          await store.addSuppression({
            ...{ id: newId('sup'), accountId: account.id, list: workspace.id, email: 'ana@example.com' },
            ...{ origin: 'manual', sourceId: null, reason: null, expiresAt: null, createdAt: now },
          })
        }
        return found
      },
    },
  })
  const wish = { idempotency: { key: 'k', fingerprint: 'f' }, render }
  const answer = await late.submit(live, null, draft(), wish)
  t.match(JSON.parse(answer.body), [{ status: 'bounced' }])
  const again = await late.submit(live, null, draft(), wish)
  t.same([again.replayed, again.body], [true, answer.body])
  t.same(accepted, [], 'all of it went by the other stage')
})
