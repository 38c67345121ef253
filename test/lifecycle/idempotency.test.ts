/** One key, one send. */
import t from 'tap'
import { ANSWER_KEPT_MS, isLockedBy, keyState } from '../../src/lifecycle/accept.js'

const LOCKED = { fingerprint: 'f', lockedUntil: 100, completedAt: null, status: null, body: null }
const DONE = { ...LOCKED, completedAt: 50, status: 202, body: '{}' }

t.test('what a claim finds', async (t) => {
  const at = (row: Parameters<typeof keyState>[0], now: number, fingerprint = 'f') =>
    keyState(row, { fingerprint, now })
  t.same(at(null, 0), { state: 'claimed' })
  t.same(at(LOCKED, 99), { state: 'in_progress' })
  t.same(at(LOCKED, 100), { state: 'claimed' }, 'its lock ran out')
  t.same(at(LOCKED, 99, 'g'), { state: 'mismatch' })
  t.same(at(LOCKED, 100, 'g'), { state: 'claimed' })
  t.same(at(DONE, 99), { state: 'done', status: 202, body: '{}' })
  t.same(at(DONE, 5_000), { state: 'done', status: 202, body: '{}' }, 'the lock no longer matters')
  t.same(at(DONE, 5_000, 'g'), { state: 'mismatch' })
  t.same(at(DONE, 50 + ANSWER_KEPT_MS).state, 'done')
  t.same(at(DONE, 51 + ANSWER_KEPT_MS).state, 'claimed')
  t.same(at(DONE, 51 + ANSWER_KEPT_MS, 'g').state, 'claimed')
  t.same(at({ ...DONE, status: null, body: null }, 60), { state: 'done', status: 0, body: '' })
  t.equal(ANSWER_KEPT_MS, 86_400_000)
})

t.test('who may answer', async (t) => {
  t.ok(isLockedBy({ token: 'a', completedAt: null }, 'a'))
  t.notOk(isLockedBy({ token: 'a', completedAt: null }, 'b'))
  t.notOk(isLockedBy({ token: 'a', completedAt: 5 }, 'a'))
})
