import t from 'tap'
import {
  effectOf,
  type OrderAction,
  type OrderFacts,
  type OrderTerms,
  partOf,
  partsOf,
  type QueuedState,
  stateOf,
} from '../../../src/lifecycle/orders.js'

const NOW = 1000
const WAITING: OrderFacts<string> = {
  status: 'deferred',
  dueAt: NOW + 5,
  held: null,
  isLeased: false,
  isAttempting: false,
  poolId: 'pool_1',
  isSandbox: false,
  isHoldStanding: false,
  isNewer: false,
}
const leased = { dueAt: null, isLeased: true }
const IN: Record<QueuedState, OrderFacts<string>> = {
  waiting: WAITING,
  scheduled: { ...WAITING, status: 'scheduled' },
  held: { ...WAITING, dueAt: null, held: 'hold_1' },
  away: { ...WAITING, dueAt: null, held: 'lot_1' },
  leased: { ...WAITING, ...leased },
  attempting: { ...WAITING, ...leased, isAttempting: true },
}
const STATES = Object.keys(IN) as QueuedState[]
const route = { from: null, to: 'pool_2' }

t.test('states and parts of the queue', async (t) => {
  for (const state of STATES) t.equal(stateOf(IN[state]), state)
  t.equal(stateOf({ ...WAITING, dueAt: null }), null, 'at rest')
  t.equal(stateOf({ ...WAITING, dueAt: null, isAttempting: true }), null, 'an old mark of the journal')
  t.equal(partOf({ ...WAITING, dueAt: null }), null)
  t.same(
    STATES.map((state) => partOf(IN[state])),
    ['waiting', 'waiting', 'held', 'held', 'leased', 'leased'],
  )
})

t.test('each action in each state', async (t) => {
  //                             waiting scheduled held    away   leased          attempting
  const table: Record<OrderAction, readonly (string | null)[]> = {
    hold: ['hold', null, null, null, null, null],
    release: [null, null, 'free', null, null, null],
    retry: ['due', null, null, null, null, null],
    reroute: ['move', 'move', 'move', null, 'move_unleased', 'move'],
    purge: ['end', 'end', 'end', null, 'end', null],
    discard: ['end', 'end', 'end', 'end', 'end', null],
  }
  for (const [action, wanted] of Object.entries(table) as [OrderAction, readonly (string | null)[]][]) {
    const found = STATES.map((state) => effectOf(IN[state], { action, now: NOW, route }))
    t.same(found, wanted, action)
    const parts = [...new Set(STATES.filter((_, i) => wanted[i] !== null).map((state) => partOf(IN[state])))]
    t.same(partsOf(action), parts, `${action} goes over what it changes, and over nothing else`)
    t.equal(
      effectOf({ ...WAITING, dueAt: null }, { action, now: NOW, route }),
      null,
      'nothing to what is done',
    )
  }
})

t.test('what is for the sandbox is left alone', async (t) => {
  for (const action of ['release', 'retry', 'purge', 'discard', 'hold'] as const) {
    for (const state of STATES) {
      const one = { ...IN[state], isSandbox: true }
      t.equal(effectOf(one, { action, now: NOW, liveOnly: true }), null)
      t.equal(effectOf(one, { action, now: NOW, liveOnly: false }), effectOf(IN[state], { action, now: NOW }))
    }
  }
  t.equal(effectOf({ ...WAITING, isSandbox: true }, { action: 'reroute', now: NOW, route }), null, 'always')
})

t.test('what came after the order is not purged', async (t) => {
  for (const state of STATES) {
    t.equal(effectOf({ ...IN[state], isNewer: true }, { action: 'purge', now: NOW }), null)
    const discard = { action: 'discard', now: NOW } as const
    t.equal(effectOf({ ...IN[state], isNewer: true }, discard), effectOf(IN[state], discard))
  }
})

t.test('what needs no route goes without one, and what needs one does not', async (t) => {
  t.equal(effectOf(IN.waiting, { action: 'hold', now: NOW }), 'hold')
  t.equal(effectOf(IN.leased, { action: 'purge', now: NOW }), 'end')
  t.equal(effectOf(IN.leased, { action: 'reroute', now: NOW }), null)
  t.equal(effectOf({ ...WAITING, isSandbox: true }, { action: 'purge', now: NOW }), 'end', 'unless told so')
})

t.test('release', async (t) => {
  const release = (over: Partial<OrderFacts<string>>, terms: Partial<OrderTerms<string>> = {}) =>
    effectOf({ ...IN.held, ...over }, { action: 'release', now: NOW, ...terms })
  t.equal(release({ isHoldStanding: true }), null, 'another hold keeps it')
  t.equal(release({ isHoldStanding: true }, { hold: 'hold_1' }), null)
  t.equal(release({}, { hold: 'hold_1' }), 'free')
  t.equal(release({}, { hold: 'hold_2' }), null, 'what another hold keeps')
  t.equal(release({ held: 'ambiguous' }), 'free')
})

t.test('retry', async (t) => {
  const retry = (dueAt: number) => effectOf({ ...WAITING, dueAt }, { action: 'retry', now: NOW })
  t.same([retry(NOW + 1), retry(NOW), retry(NOW - 1)], ['due', null, null])
})

t.test('reroute', async (t) => {
  const reroute = (terms: OrderTerms<string>['route']) =>
    effectOf(WAITING, { action: 'reroute', now: NOW, ...(terms && { route: terms }) })
  t.equal(reroute({ from: 'pool_1', to: 'pool_2' }), 'move')
  t.equal(reroute({ from: 'pool_3', to: 'pool_2' }), null, 'somebody sent it elsewhere')
  t.equal(reroute({ from: null, to: 'pool_1' }), null, 'it is there')
  t.equal(reroute(undefined), null)
})
