/** What an operator reads of the queue, scene by scene: title, second line, the words of the margin, and how loud. */
import t from 'tap'
import {
  type HoldFacts,
  type PoolFacts,
  type QueueFacts,
  queueState,
  queueStateRecord,
} from '../../src/record/queue.js'

const NOW = Date.UTC(2026, 10, 26, 12)
const MINUTE = 60_000

const pool = (name: string, over: Partial<PoolFacts> = {}): PoolFacts => ({
  ...{ id: `pool_${name}`, called: `pool ${name}`, isFollower: false, state: 'ok', since: null, failing: [] },
  ...{ waiting: 0, scheduled: 0, held: 0, oldestAt: null, sentAt: null, warmupUntil: null },
  ...over,
})
const aged = (waiting: number, ms: number) => ({ waiting, oldestAt: NOW - ms })
const REFUSED = 'connect: ECONNREFUSED'
const dead = (over: Partial<PoolFacts> = {}): PoolFacts =>
  pool('eu-west', {
    state: 'down',
    since: NOW - 12 * MINUTE,
    failing: [{ name: 'mta1.test:25', since: NOW - 12 * MINUTE, error: REFUSED }],
    ...over,
  })
const hold = (by: HoldFacts['by'], words: string, n: number, over: Partial<HoldFacts> = {}): HoldFacts => ({
  ...{ id: 'hold_1', by, words, recipients: n, reason: 'a leaked key', since: NOW - 180 * MINUTE },
  ...over,
})

const HOW = 'Upstream mta1.test:25 has failed for 12 minutes (connect: ECONNREFUSED).'

interface Scene {
  readonly pools: readonly PoolFacts[]
  readonly holds?: readonly HoldFacts[]
  readonly slow?: QueueFacts['slow']
  readonly isTold?: false
  readonly title: string
  readonly says: string
  readonly short: string | null
  readonly tone: string
}

const SCENES: Readonly<Record<string, Scene>> = {
  'nothing was sent yet': {
    pools: [],
    title: 'Nothing waits.',
    says: 'Mail leaves as it comes in.',
    short: null,
    tone: 'ok',
  },
  'all flows': {
    pools: [pool('main', aged(12, 3_000))],
    title: 'Mail flows: 12 recipients on their way.',
    says: 'The oldest came 3 seconds ago.',
    short: '12 wait',
    tone: 'ok',
  },
  'it is slow, and nothing is stopped': {
    pools: [pool('main', aged(3_412, 14 * MINUTE))],
    title: '3,412 recipients wait; the oldest for 14 minutes.',
    says: 'No pool is stopped: each is tried again when its time comes, or at once by Retry.',
    short: '3,412 wait',
    tone: 'wait',
  },
  'a dead pool with due mail, and others that flow': {
    pools: [pool('main', aged(12, 3_000)), dead(aged(382, 14 * MINUTE))],
    title: 'No upstream of pool eu-west answers: 382 recipients wait.',
    says: `${HOW} The oldest has waited for 14 minutes. Other mail flows: 12 recipients on their way.`,
    short: '394 wait',
    tone: 'bad',
  },
  'a dead pool, and other mail that left since': {
    pools: [pool('main', { ...aged(12, 3_000), sentAt: NOW - 1_000 }), dead(aged(382, 14 * MINUTE))],
    title: 'No upstream of pool eu-west answers: 382 recipients wait; other mail flows.',
    says: `${HOW} The oldest has waited for 14 minutes. 12 recipients more are on their way.`,
    short: '394 wait',
    tone: 'bad',
  },
  'a held workspace, and mail of others that left since': {
    pools: [pool('main', { held: 382, sentAt: NOW - MINUTE })],
    holds: [hold('workspace', 'workspace support is held', 382)],
    title: 'Workspace support is held: 382 recipients; other mail flows.',
    says: 'For 3 hours: “a leaked key”. It leaves when somebody releases it.',
    short: '382 held',
    tone: 'wait',
  },
  'a held workspace, and mail that left only before it was': {
    pools: [pool('main', { held: 3, sentAt: NOW - MINUTE })],
    holds: [hold('workspace', 'workspace support is held', 3, { reason: null, since: NOW - 30_000 })],
    title: 'Workspace support is held: 3 recipients.',
    says: 'For 30 seconds. It leaves when somebody releases it.',
    short: '3 held',
    tone: 'wait',
  },
  'a held domain, and other mail that is late': {
    pools: [pool('main', { ...aged(7, 5 * MINUTE), held: 1, sentAt: NOW - 1_000 })],
    holds: [hold('domain', 'mail to example.com is held', 1, { reason: null })],
    title: 'Mail to example.com is held: 1 recipient.',
    says: 'For 3 hours. It leaves when somebody releases it. 7 recipients more wait; the oldest for 5 minutes.',
    short: '7 wait, 1 held',
    tone: 'wait',
  },
  'a dead pool, and one that took mail long ago': {
    pools: [pool('main', { sentAt: NOW - 9 * MINUTE }), dead(aged(382, 14 * MINUTE))],
    title: 'No upstream of pool eu-west answers: 382 recipients wait.',
    says: `${HOW} The oldest has waited for 14 minutes.`,
    short: '382 wait',
    tone: 'bad',
  },
  'everything held, and mail that left since': {
    pools: [pool('main', { held: 5, sentAt: NOW })],
    holds: [hold('all', 'the whole queue is held', 5, { reason: null })],
    title: 'Everything is held: 5 recipients.',
    says: 'The whole queue is held: 5 recipients (for 3 hours). It leaves when somebody releases it.',
    short: '5 held',
    tone: 'wait',
  },
  'a dead pool, and its mail held': {
    pools: [pool('main'), dead({ held: 382 })],
    holds: [hold('pool', 'pool eu-west is held', 382)],
    title: 'No upstream of pool eu-west answers: 382 recipients are held.',
    says: `${HOW} Pool eu-west is held: 382 recipients (for 3 hours, “a leaked key”).`,
    short: '382 held',
    tone: 'bad',
  },
  'a dead pool that has nothing': {
    pools: [pool('main'), dead()],
    title: 'Nothing waits.',
    says: 'No upstream of pool eu-west answers: nothing waits for it.',
    short: null,
    tone: 'bad',
  },
  'a paused pool that has nothing': {
    pools: [pool('main', { state: 'paused' })],
    title: 'Nothing waits.',
    says: 'The upstreams of pool main are paused: nothing waits for it.',
    short: null,
    tone: 'wait',
  },
  'an installation that has no upstream yet': {
    pools: [pool('main', { state: 'no_upstream' })],
    title: 'Nothing waits.',
    says: 'Pool main has no upstream: nothing waits for it.',
    short: null,
    tone: 'ok',
  },
  'holds that have met nothing': {
    pools: [pool('main', aged(12, 3_000))],
    holds: [
      hold('workspace', 'workspace shop is held', 0),
      hold('domain', 'mail to a.test is held', 0, { reason: null, since: null }),
      hold('email', 'this mail is held', 0),
    ],
    title: 'Mail flows: 12 recipients on their way.',
    says: 'The oldest came 3 seconds ago. Workspace shop is held: nothing has come for it (for 3 hours, “a leaked key”). Mail to a.test is held: nothing has come for it.',
    short: '12 wait',
    tone: 'wait',
  },
  'a hold and nothing else': {
    pools: [pool('main')],
    holds: [hold('workspace', 'workspace shop is held', 0)],
    title: 'Nothing waits.',
    says: 'Workspace shop is held: nothing has come for it (for 3 hours, “a leaked key”).',
    short: null,
    tone: 'wait',
  },
  'a pool that follows a dead one, and has nothing': {
    pools: [dead({ isFollower: true })],
    title: 'Nothing waits.',
    says: 'Mail leaves as it comes in.',
    short: null,
    tone: 'ok',
  },
  'after a restart nobody knows since when, nor what was said': {
    pools: [
      dead({
        ...aged(1, 2 * MINUTE),
        since: null,
        failing: [{ name: 'mta1.test:25', since: null, error: null }],
      }),
    ],
    title: 'No upstream of pool eu-west answers: 1 recipient waits.',
    says: 'Upstream mta1.test:25 has failed. The oldest has waited for 2 minutes.',
    short: '1 waits',
    tone: 'bad',
  },
  'everything is held': {
    pools: [pool('main', { held: 41_000 }), dead({ held: 14 })],
    holds: [hold('all', 'the whole queue is held', 41_014)],
    title: 'Everything is held: 41,014 recipients.',
    says: 'The whole queue is held: 41,014 recipients (for 3 hours, “a leaked key”). No upstream of pool eu-west answers: 14 recipients are held. It leaves when somebody releases it.',
    short: '41,014 held',
    tone: 'bad',
  },
  'everything is held, and nothing has come': {
    pools: [pool('main')],
    holds: [hold('all', 'the whole queue is held', 0)],
    title: 'Everything is held; nothing has come since.',
    says: 'The whole queue is held: nothing has come for it (for 3 hours, “a leaked key”). It leaves when somebody releases it.',
    short: null,
    tone: 'wait',
  },
  'a workspace is held, others flow': {
    pools: [pool('main', { ...aged(2, 1_000), held: 382 })],
    holds: [hold('workspace', 'workspace support is held', 382)],
    title: 'Workspace support is held: 382 recipients.',
    says: 'For 3 hours: “a leaked key”. It leaves when somebody releases it. Other mail flows: 2 recipients on their way.',
    short: '2 wait, 382 held',
    tone: 'wait',
  },
  'a pool is held': {
    pools: [pool('main', { held: 5 })],
    holds: [hold('pool', 'pool main is held', 5, { reason: null, since: null })],
    title: 'Pool main is held: 5 recipients.',
    says: 'It leaves when somebody releases it.',
    short: '5 held',
    tone: 'wait',
  },
  'a domain is held': {
    pools: [pool('main', { held: 1 })],
    holds: [hold('domain', 'mail to example.com is held', 1, { reason: null })],
    title: 'Mail to example.com is held: 1 recipient.',
    says: 'For 3 hours. It leaves when somebody releases it.',
    short: '1 held',
    tone: 'wait',
  },
  'one mail is held': {
    pools: [pool('main', { held: 2 })],
    holds: [hold('email', 'this mail is held', 2, { reason: null, since: null })],
    title: '2 recipients are held, by an order for one mail.',
    says: 'It leaves when somebody releases it.',
    short: '2 held',
    tone: 'wait',
  },
  'no clear answer came': {
    pools: [pool('main', { held: 1 })],
    holds: [hold('ambiguous', '', 1, { id: null, reason: null, since: null })],
    title: '1 recipient is held: no clear answer came, and it may have been sent already.',
    says: 'It leaves when somebody releases it.',
    short: '1 held',
    tone: 'wait',
  },
  'a lot has left': {
    pools: [pool('main', { held: 3 })],
    holds: [hold('exported', '', 3, { id: null, reason: null, since: null })],
    title: '3 recipients are held: they left with an export.',
    says: 'Nothing of it is sent from here: postern queue forget LOT ends it here, postern queue take-back LOT sends it after all.',
    short: '3 held',
    tone: 'wait',
  },
  'a lot has left, and a workspace is held': {
    pools: [pool('main', { held: 8 })],
    holds: [
      hold('workspace', 'workspace support is held', 5, { reason: null }),
      hold('exported', '', 3, { id: null, reason: null, since: null }),
    ],
    title: '8 recipients are held, for 2 reasons.',
    says: 'Workspace support is held: 5 recipients (for 3 hours). 3 recipients are held: they left with an export. Nothing that left with an export is sent from here: postern queue forget LOT ends it here, postern queue take-back LOT sends it after all. The rest leaves when somebody releases it.',
    short: '8 held',
    tone: 'wait',
  },
  'only what has a time of its own': {
    pools: [pool('main', { scheduled: 53 })],
    title: 'Nothing waits.',
    says: 'Mail leaves as it comes in. 53 recipients wait for times of their own.',
    short: null,
    tone: 'ok',
  },
  'a domain asked for a slower pace': {
    pools: [pool('main', aged(7, 5 * MINUTE))],
    slow: [{ domain: 'example.com', poolId: 'pool_main' }],
    title: '7 recipients wait; the oldest for 5 minutes.',
    says: 'No pool is stopped: each is tried again when its time comes, or at once by Retry. The domain example.com asked for a slower pace.',
    short: '7 wait',
    tone: 'wait',
  },
  'two at once: a dead pool, and a workspace held elsewhere': {
    pools: [pool('main', { held: 506 }), dead(aged(138, 14 * MINUTE))],
    holds: [hold('workspace', 'workspace support is held', 506)],
    title: 'No upstream of pool eu-west answers: 138 recipients wait.',
    says: `${HOW} The oldest has waited for 14 minutes. Workspace support is held: 506 recipients (for 3 hours, “a leaked key”).`,
    short: '138 wait, 506 held',
    tone: 'bad',
  },
  'two holds': {
    pools: [pool('main', { held: 506 })],
    holds: [
      hold('workspace', 'workspace support is held', 500, { reason: null }),
      hold('suspended', 'workspace spam is suspended', 6, { reason: null, since: null }),
    ],
    title: '506 recipients are held, for 2 reasons.',
    says: 'Workspace support is held: 500 recipients (for 3 hours). Workspace spam is suspended: 6 recipients. It leaves when somebody releases it.',
    short: '506 held',
    tone: 'wait',
  },
  'no upstream, and one that is paused': {
    pools: [
      pool('new', { ...aged(3, MINUTE), state: 'no_upstream' }),
      pool('old', { ...aged(9, MINUTE), state: 'paused' }),
    ],
    title: 'The upstreams of pool old are paused: 9 recipients wait.',
    says: 'The oldest has waited for 1 minute. Pool new has no upstream: 3 recipients wait.',
    short: '12 wait',
    tone: 'bad',
  },
  'one of two upstreams fails': {
    pools: [dead({ ...aged(4, 1_000), state: 'weak' })],
    title: 'Mail flows: 4 recipients on their way.',
    says: 'The oldest came 1 second ago. Not all upstreams of pool eu-west answer: upstream mta1.test:25 has failed for 12 minutes (connect: ECONNREFUSED).',
    short: '4 wait',
    tone: 'wait',
  },
  'no daemon tells': {
    pools: [pool('main', aged(4, 1_000))],
    isTold: false,
    title: '4 recipients wait; the oldest for 1 second.',
    says: 'No relay answers: nothing is known of its upstreams now.',
    short: '4 wait',
    tone: 'wait',
  },
}

for (const [
  name,
  { title, says, short, tone, pools, holds = [], slow = [], isTold = true },
] of Object.entries(SCENES))
  t.test(name, async (t) => {
    const state = queueState({ pools, holds, slow, isTold }, NOW)
    t.same(
      { title: state.title, says: state.says, short: state.short, tone: state.tone },
      { title, says, short, tone },
    )
    const record = queueStateRecord(state, NOW)
    const sum = (of: 'waiting' | 'held') => record.pools.reduce((all, one) => all + one[of], 0)
    t.same(
      [record.waiting, record.held],
      [sum('waiting'), sum('held')],
      'what waits and what is held are apart',
    )
  })

t.test('a pool by itself tells of its warm-up', async (t) => {
  const resting = pool('warm', { ...aged(24, MINUTE), warmupUntil: NOW + MINUTE })
  const { pools } = queueStateRecord(
    queueState({ pools: [resting], holds: [], slow: [], isTold: true }, NOW),
    NOW,
  )
  t.equal(
    pools[0]?.says,
    '24 recipients wait in pool warm. Pool warm has sent what its warm-up allows today; it goes on at 00:00 UTC.',
  )
})

t.test('words of a server turn no sentence of ours', async (t) => {
  const failing = [{ name: 'mta1.test:25', since: null, error: 'connect: \u202eevil\u2066\nand more' }]
  const { says } = queueState(
    { pools: [dead({ ...aged(1, MINUTE), failing })], holds: [], slow: [], isTold: true },
    NOW,
  )
  t.match(says, 'Upstream mta1.test:25 has failed for 12 minutes (connect: evil and more).')
})
