/** What an endpoint's answers say of it: when its place stands, who is told, when it is disabled. */
import t from 'tap'
import type { EndpointRow, EndpointState } from '../../../src/store/port/hooks.js'
import {
  type Failed,
  failed,
  LIFE_MS,
  mayProbe,
  nextTry,
  succeeded,
  waitAfter,
} from '../../../src/webhook/health.js'

const T0 = Date.UTC(2026, 10, 20, 10)
const [MINUTE, HOUR, DAY] = [60_000, 3600_000, 86_400_000]
const random = () => 1

const START: EndpointState = {
  generation: 1,
  mark: 'm',
  health: 'healthy',
  failingSince: null,
  failures: 0,
  firstFailedAt: null,
  lastFailedAt: null,
  lastSucceededAt: null,
  probes: 0,
  probeAt: null,
  told: 0,
  givenUp: 0,
  givenUpFrom: null,
  givenUpToldAt: null,
}

const endpoint = { maxInFlight: 8, updatedAt: T0 } as EndpointRow

const failure = (now: number, over: Partial<Failed> = {}): Failed => ({
  now,
  attempts: 1,
  since: now,
  asked: null,
  waiting: 1,
  isSteady: true,
  isProbe: false,
  random,
  ...over,
})

/** So many failures at one time. */
const failing = (n: number, over: Partial<Failed> = {}): EndpointState => {
  let state = START
  for (let i = 0; i < n; i++) state = failed(state, endpoint, failure(T0, over)).state
  return state
}

t.test('the list of waits, each up to a tenth shorter', async (t) => {
  const waits = Array.from({ length: 10 }, (_, i) => waitAfter(i + 1, null, random) / MINUTE)
  t.same(waits, [5 / 60, 5, 30, 120, 300, 600, 840, 1200, 1440, 1440])
  t.equal(
    waitAfter(2, null, () => 0),
    4.5 * MINUTE,
  )
  t.equal(waitAfter(1, 600, random), 10 * MINUTE, 'an endpoint may ask for more')
  t.equal(waitAfter(3, 600, random), 30 * MINUTE, 'and not for less')
  t.equal(waitAfter(1, 10 * 86_400, random), DAY, 'and for no more than a day')
})

t.test('an event is given up at the end of the list, or of its life', async (t) => {
  const next = (attempts: number, age: number, isSteady = true) =>
    nextTry({ attempts, from: T0 - age, asked: null }, T0, isSteady, random)
  t.equal(next(1, 0), T0 + 5000)
  t.equal(next(9, 51 * HOUR), T0 + DAY)
  t.equal(next(10, 10 * HOUR), null)
  t.equal(next(9, LIFE_MS - DAY + 1), null)
  t.equal(next(9, LIFE_MS, false), T0 + DAY, 'nothing is given up by a clock that was just set')
})

t.test('twenty failures in a row, or a thousand posts, and it stands', async (t) => {
  t.equal(failing(19).health, 'healthy')
  t.match(failing(20), { health: 'failing', failingSince: T0, failures: 20, probes: 0, probeAt: T0 + 5000 })
  t.match(failing(1, { waiting: 1000 }), { health: 'failing' })
  t.match(failed(START, { ...endpoint, maxInFlight: 1 }, failure(T0)).state, { health: 'failing' })
})

t.test('its one try at a time follows the list', async (t) => {
  const state = failing(20)
  const stays = failed(state, endpoint, failure(T0 + 10)).state
  t.match(stays, { probes: 0, probeAt: T0 + 5000 }, 'what was under way moves nothing')
  t.notOk(mayProbe(state, T0 + 4999))
  t.ok(mayProbe(state, T0 + 5000))
  const once = failed(state, endpoint, failure(T0 + 5000, { isProbe: true })).state
  t.match(once, { probes: 1, probeAt: T0 + 5000 + 5 * MINUTE })
  const asked = failed(once, endpoint, failure(T0 + HOUR, { isProbe: true, asked: 7200 })).state
  t.match(asked, { probes: 2, probeAt: T0 + 3 * HOUR })
  const back = succeeded(asked, T0 + 4 * HOUR)
  t.match(back, {
    tell: null,
    state: {
      health: 'healthy',
      failures: 0,
      probeAt: null,
      firstFailedAt: null,
      lastSucceededAt: T0 + 4 * HOUR,
    },
  })
})

t.test('its owners are told at the fourth failed try, once, and when it is back', async (t) => {
  let state = failing(20)
  const told: (string | null)[] = []
  for (let i = 1; i <= 5; i++) {
    const judged = failed(state, endpoint, failure(T0 + i * HOUR, { isProbe: true }))
    state = judged.state
    told.push(judged.tell)
  }
  t.same(told, [null, null, 'failing', null, null])
  t.equal(succeeded(state, T0 + DAY).tell, 'recovered')
})

t.test('one event that nobody takes, among others that are taken, is no failing endpoint', async (t) => {
  const since = T0 - HOUR
  const among = failed(succeeded(START, T0).state, endpoint, failure(T0 + 1, { attempts: 4, since }))
  t.equal(among.tell, null)
  const first = failed(START, endpoint, failure(T0)).state
  t.equal(failed(first, endpoint, failure(T0 + HOUR, { attempts: 4, since: T0 })).tell, 'failing')
})

t.test('half of the time is told, and after five days it is disabled', async (t) => {
  let state = { ...failing(20), told: 1 as const } as EndpointState
  const probe = (at: number, over = {}) => {
    const judged = failed(state, endpoint, failure(T0 + at, { isProbe: true, ...over }))
    state = judged.state
    return judged.tell
  }
  t.equal(probe(2 * DAY), null)
  t.equal(probe(2.5 * DAY), 'failing')
  t.equal(probe(3 * DAY), null)
  t.equal(probe(5 * DAY, { isSteady: false }), null, 'not by a clock that was just set')
  t.equal(probe(5 * DAY), 'disable')
})

t.test('a quiet endpoint does not fall by one failure', async (t) => {
  const late = T0 + 30 * DAY
  const first = failed(START, endpoint, failure(late))
  t.equal(first.tell, null)
  t.equal(failed(first.state, endpoint, failure(late + 11 * HOUR)).tell, null)
  t.equal(failed(first.state, endpoint, failure(late + 12 * HOUR)).tell, 'disable')
  const changed = { ...endpoint, updatedAt: late + HOUR }
  t.equal(failed(first.state, changed, failure(late + 12 * HOUR)).tell, null, 'its change is a beginning')
})
