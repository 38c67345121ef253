/**
 * NAME      queue - the queue, its holds and orders, incidents, why something waits, and whether mail flows, as the public sees them
 *   A scope has the same members in a request, in a hold and in the record of an order, so that what was read may be sent. The
 *   state of the queue becomes sentences here alone: pages, command line and API say these and no others. Pure: what was
 *   counted, and what is known of each pool and hold, is given to it. A recipient that is held is never one that waits; one with
 *   a time of its own is neither. What nobody wanted (a pool that can send nothing) comes before what somebody ordered (a hold),
 *   and what is only slow comes last. Operators read what there is to know and which command mends it; the owner of a workspace
 *   reads words that name nothing of others. Words of servers stand without the marks that turn the direction of writing.
 */
import { timeOrNull, toRfc3339 } from '../base/clock.js'
import type { Scope } from '../lifecycle/orders.js'
import type { NotedPutBack, WriterRow } from '../store/port/cluster.js'
import {
  AGE_NAMES,
  type HoldRow,
  type QueueAge,
  type QueueCount,
  type QueueEntry,
  type QueueScope,
} from '../store/port/operations.js'
import type { QueueDepth } from '../store/port/upkeep.js'
import type { KnownIncident } from '../store/port/watch.js'
import { incidentFacts } from '../store/rules/watch.js'

/** `weak`: some of its upstreams fail, and others take mail. */
type PoolState = 'ok' | 'weak' | 'down' | 'paused' | 'no_upstream'

interface FailingUpstream {
  /** Host and port. */
  readonly name: string
  /** Since when it has failed; null where nobody knows. */
  readonly since: number | null
  /** Stage and words of its last failure, where the relay tells. */
  readonly error: string | null
}

export interface PoolHealth {
  readonly state: PoolState
  readonly since: number | null
  readonly failing: readonly FailingUpstream[]
}

export interface PoolFacts extends PoolHealth {
  readonly id: string
  /** It has no upstream of its own, and uses those of another: that one is told. */
  readonly isFollower: boolean
  /** Such as `pool main`; for whoever may not know its name, `another pool`. */
  readonly called: string
  /** Due now or later, or under way; with a time of its own is not in it. */
  readonly waiting: number
  readonly scheduled: number
  readonly held: number
  /** When the oldest that waits was accepted. */
  readonly oldestAt: number | null
  /** Its upstreams have been given what their warm-up allows today: when more may go. */
  readonly warmupUntil: number | null
  /** When one of its upstreams last took mail; null where nobody tells, or where it may have been mail of others. */
  readonly sentAt: number | null
}

/** By what mail is held. `many`: mails that are held one by one. */
export type HeldBy =
  | 'all'
  | 'workspace'
  | 'pool'
  | 'domain'
  | 'email'
  | 'many'
  | 'part'
  | 'suspended'
  | 'ambiguous'
  | 'restored'
  | 'exported'
  | 'other'

export interface HoldFacts {
  /** Of the hold; null where there is none, or there are many. */
  readonly id: string | null
  readonly by: HeldBy
  /** Such as `workspace shop is held`. */
  readonly words: string
  readonly reason: string | null
  readonly since: number | null
  readonly recipients: number
}

interface SlowFacts {
  readonly domain: string
  readonly poolId: string
}

/** Of live mail, or of test mail. */
export interface QueueFacts {
  readonly pools: readonly PoolFacts[]
  readonly holds: readonly HoldFacts[]
  readonly slow: readonly SlowFacts[]
  /** False where no daemon tells of its relay. */
  readonly isTold: boolean
}

const FORMAT = new Intl.NumberFormat('en-US')

const figure = (n: number): string => FORMAT.format(n)

export const recipients = (n: number): string => (n === 1 ? '1 recipient' : `${figure(n)} recipients`)

const UNITS = [
  [60_000, 1_000, 'second'],
  [3_600_000, 60_000, 'minute'],
  [86_400_000, 3_600_000, 'hour'],
  [Number.POSITIVE_INFINITY, 86_400_000, 'day'],
] as const

/** `14 minutes`. */
const longSpan = (ms: number): string => {
  const [, unit, word] = UNITS.find(([below]) => ms < below) ?? UNITS[3]
  const n = Math.max(1, Math.floor(ms / unit))
  return `${n} ${word}${n === 1 ? '' : 's'}`
}

/** With a capital, and an end. */
export const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`

const verb = (n: number, one: string, many: string): string => `${recipients(n)} ${n === 1 ? one : many}`
const wait = (n: number): string => verb(n, 'waits', 'wait')

const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
const LONGEST_WORDS = 160

/** What somebody else wrote, as a part of our sentence. */
const quoted = (text: string): string => {
  const plain = text.replace(TURNS, '').replace(/\s+/g, ' ').trim()
  // a failure to connect says so itself
  const said = plain.replace(/^(\w+): \1 /, '$1 ')
  return said.length > LONGEST_WORDS ? `${said.slice(0, LONGEST_WORDS)}…` : said
}

type Names = Readonly<Record<'workspace' | 'pool', (id: string) => string>>

const isOnly = (scope: Scope, part: keyof Omit<Scope, 'accountId'>): boolean =>
  (['workspaceId', 'poolId', 'domain', 'emailId'] as const).every(
    (name) => (scope[name] !== null) === (name === part),
  )

export const scopeOfHold = (scope: Scope, names: Names): { readonly by: HeldBy; readonly words: string } => {
  const { workspaceId, poolId, domain, emailId } = scope
  const workspace = workspaceId === null ? null : `workspace ${names.workspace(workspaceId)}`
  const pool = poolId === null ? null : names.pool(poolId)
  if (emailId !== null) return { by: 'email', words: 'this mail is held' }
  if (isOnly(scope, 'workspaceId')) return { by: 'workspace', words: `${workspace} is held` }
  if (isOnly(scope, 'poolId')) return { by: 'pool', words: `${pool} is held` }
  if (isOnly(scope, 'domain')) return { by: 'domain', words: `mail to ${domain} is held` }
  const parts = [workspace && `of ${workspace}`, domain && `to ${domain}`, pool && `in ${pool}`].filter(
    Boolean,
  )
  return parts.length === 0
    ? { by: 'all', words: 'the whole queue is held' }
    : { by: 'part', words: `mail ${parts.join(' ')} is held` }
}

export const stoppedWords = (state: PoolState, called: string): string =>
  state === 'no_upstream'
    ? `${called} has no upstream`
    : state === 'paused'
      ? `the upstreams of ${called} are paused`
      : `no upstream of ${called} answers`

const isStopped = ({ state }: Pick<PoolHealth, 'state'>): boolean => state !== 'ok' && state !== 'weak'

const failures = ({ failing, since, state }: PoolHealth, now: number): string | null => {
  const told = failing.slice(0, 2).map((one) => {
    const from = one.since ?? (state === 'down' ? since : null)
    const length = from === null ? '' : ` for ${longSpan(now - from)}`
    return `${one.name} has failed${length}${one.error === null ? '' : ` (${quoted(one.error)})`}`
  })
  const more = failing.length - told.length
  return told.length === 0 ? null : `upstream ${told.join('; ')}${more > 0 ? `; and ${more} more` : ''}`
}

const amounts = ({ waiting, held }: Pick<PoolFacts, 'waiting' | 'held'>): string =>
  waiting > 0 && held > 0
    ? `${wait(waiting)}, ${figure(held)} ${held === 1 ? 'is' : 'are'} held`
    : waiting > 0
      ? wait(waiting)
      : verb(held, 'is held', 'are held')

const stoppedSentence = (pool: PoolFacts): string =>
  `${sentence(stoppedWords(pool.state, pool.called)).slice(0, -1)}: ${
    pool.waiting + pool.held === 0 ? 'nothing waits for it.' : `${amounts(pool)}.`
  }`

/** Of holds that are about no part of the queue. */
const HELD: Readonly<Partial<Record<HeldBy, string>>> = {
  email: ', by an order for one mail',
  many: ', by orders for single mails',
  ambiguous: ': no clear answer came, and they may have been sent already',
  restored: ' since a backup brought them back',
  exported: ': they left with an export',
  other: '',
}

const holdSentence = ({ by, words, recipients: n }: HoldFacts): string => {
  const alone = HELD[by]
  if (alone !== undefined)
    return `${verb(n, 'is held', 'are held')}${n === 1 ? alone.replace('them', 'it').replace('they', 'it') : alone}.`
  return `${sentence(words).slice(0, -1)}: ${n === 0 ? 'nothing has come for it' : recipients(n)}.`
}

const whyHeld = ({ reason, since }: HoldFacts, now: number): string => {
  const parts = [since === null ? null : `for ${longSpan(now - since)}`, reason && `“${quoted(reason)}”`]
  const told = parts.filter(Boolean)
  return told.length === 0 ? '' : ` (${told.join(', ')})`
}

const holdInFull = (hold: HoldFacts, now: number): string =>
  `${holdSentence(hold).slice(0, -1)}${whyHeld(hold, now)}.`

const warmupSentence = ({ called, waiting, warmupUntil }: PoolFacts): string | null =>
  warmupUntil === null || waiting === 0
    ? null
    : `${sentence(called).slice(0, -1)} has sent what its warm-up allows today; it goes on at 00:00 UTC.`

/** A pool by itself: how it does, and what waits in it. */
export const poolSentence = (pool: PoolFacts, now: number): string => {
  const how = failures(pool, now)
  const said = how === null ? null : sentence(how)
  if (isStopped(pool)) return [stoppedSentence(pool), said].filter(Boolean).join(' ')
  const flows =
    pool.waiting + pool.held === 0
      ? `Nothing waits in ${pool.called}.`
      : sentence(`${amounts(pool)} in ${pool.called}`)
  const weak = pool.state === 'weak' ? 'Some of its upstreams take mail.' : null
  return [weak, said, flows, warmupSentence(pool)].filter(Boolean).join(' ')
}

/** Until it is this old, mail is on its way, and does not wait. */
const ON_ITS_WAY_MS = 60_000

const sum = <Row>(rows: readonly Row[], of: (row: Row) => number): number =>
  rows.reduce((all, row) => all + of(row), 0)

const oldestOf = (pools: readonly PoolFacts[]): number | null => {
  const times = pools.flatMap(({ oldestAt, waiting }) => (waiting > 0 && oldestAt !== null ? [oldestAt] : []))
  return times.length === 0 ? null : Math.min(...times)
}

const restWords = (
  pools: readonly PoolFacts[],
  now: number,
  { isFirst = false, isTold = true, isSaid = false } = {},
): string | null => {
  const n = sum(pools, ({ waiting }) => waiting)
  if (n === 0) return null
  const oldestAt = oldestOf(pools)
  const age = oldestAt === null ? 0 : Math.max(0, now - oldestAt)
  const more = isFirst ? '' : ' more'
  if (isSaid) return `${recipients(n)} more ${n === 1 ? 'is on its' : 'are on their'} way.`
  return isTold && age < ON_ITS_WAY_MS
    ? `${isFirst ? 'Mail' : 'Other mail'} flows: ${recipients(n)} on ${n === 1 ? 'its' : 'their'} way.`
    : `${recipients(n)}${more} ${n === 1 ? 'waits, for' : 'wait; the oldest for'} ${longSpan(age)}.`
}

const slowWords = ({ slow }: QueueFacts): string | null =>
  slow.length === 0
    ? null
    : slow.length === 1
      ? `The domain ${slow[0]?.domain} asked for a slower pace.`
      : `${slow.length} recipient domains asked for a slower pace.`

const scheduledWords = (n: number): string | null =>
  n === 0 ? null : `${wait(n)} for ${n === 1 ? 'a time of its own' : 'times of their own'}.`

/** As many things that stand in the way are told one by one. */
const MOST_TOLD = 4

const few = (sentences: readonly string[]): readonly string[] =>
  sentences.length <= MOST_TOLD
    ? sentences
    : [...sentences.slice(0, MOST_TOLD), `And ${sentences.length - MOST_TOLD} more like these.`]

/** Pools that send nothing while something waits in them, then holds that keep something; the worst first. */
const inTheWay = ({ pools, holds }: QueueFacts) => {
  const stopped = pools
    .filter((pool) => isStopped(pool) && pool.waiting + pool.held > 0)
    .sort((a, b) => b.waiting - a.waiting || b.held - a.held)
  const kept = holds
    .filter(({ by, recipients: n }) => n > 0 || by === 'all')
    .sort((a, b) => Number(b.by === 'all') - Number(a.by === 'all') || b.recipients - a.recipients)
  return { stopped, kept, whole: kept.find(({ by }) => by === 'all') ?? null }
}

interface Told {
  readonly title: string
  readonly says: readonly (string | null)[]
}

const UNTOLD = 'No relay answers: nothing is known of its upstreams now.'

/** What has left with a lot is the subject of no order. */
const wayOut = (kept: readonly HoldFacts[]): readonly string[] => {
  const others = kept.filter(({ by }) => by !== 'exported').length
  const isMixed = others > 0 && others < kept.length
  const away =
    `Nothing ${isMixed ? 'that left with an export' : 'of it'} is sent from here: ` +
    'postern queue forget LOT ends it here, postern queue take-back LOT sends it after all.'
  const release = `${isMixed ? 'The rest' : 'It'} leaves when somebody releases it.`
  return [...(others < kept.length ? [away] : []), ...(others > 0 ? [release] : [])]
}

/** Nothing is broken: somebody, or something that happened, keeps mail. */
const heldBack = (facts: QueueFacts, rest: string | null, now: number): Told => {
  const { stopped, kept, whole } = inTheWay(facts)
  const held = sum(facts.pools, (pool) => pool.held)
  const [only, ...others] = kept
  const also = stopped.map(stoppedSentence)
  if (whole === null && only !== undefined && others.length === 0) {
    const why = [
      only.since === null ? null : `For ${longSpan(now - only.since)}`,
      only.reason && `“${quoted(only.reason)}”`,
    ]
    const told = why.filter(Boolean).join(': ')
    return { title: holdSentence(only), says: [told === '' ? null : sentence(told), ...wayOut(kept), rest] }
  }
  const title =
    whole === null
      ? `${verb(held, 'is held', 'are held')}, for ${kept.length} reasons.`
      : held === 0
        ? 'Everything is held; nothing has come since.'
        : `Everything is held: ${recipients(held)}.`
  return {
    title,
    says: [...few([...kept.map((hold) => holdInFull(hold, now)), ...also]), ...wayOut(kept), rest],
  }
}

/** That mail left as lately as this shows that mail flows. */
const LATELY_MS = 5 * 60_000

/**
 * Whether other mail left since the newest thing that stands in the way began, and what is left of it is on its way.
 * What flowed only before that shows nothing: it may have been what is stopped now.
 */
const othersFlow = (facts: QueueFacts, now: number): boolean => {
  const { stopped, kept, whole } = inTheWay(facts)
  if (!facts.isTold || whole !== null) return false
  const rest = facts.pools.filter((pool) => !stopped.includes(pool))
  const began = Math.max(now - LATELY_MS, ...[...stopped, ...kept].map(({ since }) => since ?? 0))
  const oldestAt = oldestOf(rest)
  return (
    rest.some(({ sentAt }) => sentAt !== null && sentAt >= began) &&
    (oldestAt === null || now - oldestAt < ON_ITS_WAY_MS)
  )
}

const troubled = (facts: QueueFacts, now: number): Told => {
  const { stopped, kept, whole } = inTheWay(facts)
  const isSaid = othersFlow(facts, now)
  const rest = restWords(
    facts.pools.filter((pool) => !stopped.includes(pool)),
    now,
    { isSaid },
  )
  const titled = (title: string): string => (isSaid ? `${title.slice(0, -1)}; other mail flows.` : title)
  const [first, ...others] = stopped
  if (whole !== null || first === undefined) {
    const told = heldBack(facts, rest, now)
    return { ...told, title: titled(told.title) }
  }
  const how = failures(first, now)
  const oldestAt = oldestOf(stopped)
  return {
    title: titled(stoppedSentence(first)),
    says: [
      how === null ? null : sentence(how),
      oldestAt === null ? null : `The oldest has waited for ${longSpan(now - oldestAt)}.`,
      ...few([...others.map(stoppedSentence), ...kept.map((hold) => holdInFull(hold, now))]),
      rest,
    ],
  }
}

/** Of one in which nothing does. `isOpen`: nor would it, whatever came. */
const flowing = ({ pools, isTold }: QueueFacts, now: number, isOpen: boolean): Told => {
  const n = sum(pools, ({ waiting }) => waiting)
  if (n === 0) return { title: 'Nothing waits.', says: [isOpen ? 'Mail leaves as it comes in.' : null] }
  const oldestAt = oldestOf(pools)
  const age = oldestAt === null ? 0 : Math.max(0, now - oldestAt)
  const title = restWords(pools, now, { isFirst: true, isTold }) ?? ''
  if (!isTold) return { title, says: [] }
  const says =
    age < ON_ITS_WAY_MS
      ? `The oldest came ${longSpan(age)} ago.`
      : 'No pool is stopped: each is tried again when its time comes, or at once by Retry.'
  return { title, says: [says] }
}

export interface QueueSentence {
  readonly tone: 'ok' | 'wait' | 'bad'
  readonly title: string
  readonly says: string
  /** For the margin: `138 wait, 506 held`; null where there is nothing. */
  readonly short: string | null
  /** Pools that are down, with or without mail. */
  readonly down: number
  readonly waiting: number
  readonly scheduled: number
  readonly held: number
  readonly oldestAt: number | null
  readonly facts: QueueFacts
}

export const queueState = (facts: QueueFacts, now: number): QueueSentence => {
  const { pools } = facts
  const waiting = sum(pools, (pool) => pool.waiting)
  const scheduled = sum(pools, (pool) => pool.scheduled)
  const held = sum(pools, (pool) => pool.held)
  const oldestAt = oldestOf(pools)
  const { stopped, kept } = inTheWay(facts)
  const isTroubled = stopped.length + kept.length > 0
  const own = pools.filter(({ isFollower }) => !isFollower)
  const idle = own.filter((pool) => !stopped.includes(pool) && isStopped(pool))
  const idleDown = idle.filter((pool) => pool.state === 'down').length
  // what comes for them will not leave
  const unmet = facts.holds.filter(
    ({ by, recipients: n }) => n === 0 && by !== 'all' && HELD[by] === undefined,
  )
  const isOpen = idle.length + unmet.length === 0
  const told = isTroubled ? troubled(facts, now) : flowing(facts, now, isOpen)
  const weak = own
    .filter(({ state }) => state === 'weak')
    .map((pool) => `Not all upstreams of ${pool.called} answer: ${failures(pool, now)}.`)
  const closed = [...idle.map(stoppedSentence), ...unmet.map((hold) => holdInFull(hold, now))]
  const more = [
    ...few([...closed, ...weak, ...facts.pools.flatMap((pool) => warmupSentence(pool) ?? [])]),
    slowWords(facts),
    scheduledWords(scheduled),
  ]
  const isPaused = idle.some(({ state }) => state === 'paused')
  const isOld = oldestAt !== null && now - oldestAt >= ON_ITS_WAY_MS
  const words = [
    waiting > 0 ? `${figure(waiting)} ${waiting === 1 ? 'waits' : 'wait'}` : null,
    held > 0 ? `${figure(held)} held` : null,
  ].filter((word) => word !== null)
  const says = [...told.says, ...more, facts.isTold ? null : UNTOLD].filter((one) => one !== null)
  return {
    tone:
      stopped.length + idleDown > 0
        ? 'bad'
        : kept.length + unmet.length + weak.length > 0 || isPaused || isOld || !facts.isTold
          ? 'wait'
          : 'ok',
    title: told.title,
    says: says.join(' '),
    short: words.length === 0 ? null : words.join(', '),
    down: stopped.filter(({ state }) => state === 'down').length + idleDown,
    ...{ waiting, scheduled, held, oldestAt, facts },
  }
}

const poolRecord = (pool: PoolFacts, now: number) => ({
  egress_pool_id: pool.id,
  state: pool.state,
  since: timeOrNull(pool.since),
  waiting: pool.waiting,
  scheduled: pool.scheduled,
  held: pool.held,
  oldest_at: timeOrNull(pool.oldestAt),
  says: poolSentence(pool, now),
  warmup_until: timeOrNull(pool.warmupUntil),
  failing: pool.failing.map(({ name, since, error }) => ({
    upstream: name,
    since: timeOrNull(since),
    error,
  })),
})

const holdRecord = (hold: HoldFacts, now: number) => ({
  hold_id: hold.id,
  by: hold.by,
  since: timeOrNull(hold.since),
  reason: hold.reason,
  recipients: hold.recipients,
  says: holdInFull(hold, now),
})

export const queueStateRecord = ({ facts, oldestAt, ...state }: QueueSentence, now: number) => ({
  ...state,
  oldest_at: timeOrNull(oldestAt),
  pools: facts.pools.map((pool) => poolRecord(pool, now)),
  holds: facts.holds.map((hold) => holdRecord(hold, now)),
})

export type QueueStateRecord = ReturnType<typeof queueStateRecord>

interface ClusterFacts {
  /** By the name that OpenTelemetry has for it. */
  readonly system: string
  readonly writers: readonly WriterRow[]
  readonly putBack: NotedPutBack | null
}

const writer = ({ n, role, epoch, lagMs }: WriterRow) => ({ number: n, role, epoch, lag_ms: lagMs })

/** Which part of an upstream's limits its relay has, where all relays serve the pool. */
const shareOf = (own: readonly WriterRow[], all: readonly WriterRow[]) => {
  const relays = all.filter(({ role }) => role === 'relay')
  const at = relays.findIndex((one) => own.includes(one))
  return at < 0 ? null : { part: at + 1, of: relays.length }
}

export const cluster = ({ system, writers, putBack }: ClusterFacts) => {
  const byDaemon = new Map<string, WriterRow[]>()
  for (const row of writers) byDaemon.set(row.daemonId, [...(byDaemon.get(row.daemonId) ?? []), row])
  const settings = new Set(writers.flatMap((one) => one.settings ?? []))
  return {
    object: 'cluster' as const,
    store: system,
    same_settings: settings.size <= 1,
    put_back: putBack === null ? null : { at: toRfc3339(putBack.at), lost_ms: putBack.lostMs },
    daemons: [...byDaemon].map(([id, own]) => ({
      id,
      host: own[0]?.host ?? '',
      version: own[0]?.version ?? '',
      settings: own[0]?.settings ?? null,
      pools: own.find(({ role }) => role === 'relay')?.pools ?? null,
      share: system === 'sqlite' ? { part: 1, of: 1 } : shareOf(own, writers),
      lag_ms: Math.max(...own.map(({ lagMs }) => lagMs)),
      writers: own.map(writer),
    })),
  }
}

export type ClusterRecord = ReturnType<typeof cluster>

/** What stops more than one mail, until an operator mends it. */
const STOPPING = ['suspended', 'held', 'no_upstream', 'paused', 'login', 'upstreams_down'] as const

/** The first that is true is the one that is told. */
export const WAITING_REASONS = [...STOPPING, 'throttled', 'warmup', 'rate', 'backoff', 'scheduled'] as const
export type WaitingReason = (typeof WAITING_REASONS)[number]

/** The rest goes by itself. */
export const STOPPING_REASONS: readonly WaitingReason[] = STOPPING

export interface Waiting {
  readonly reason: WaitingReason
  /** Names the pool. */
  readonly plain: string
  /** The same for the owner of the workspace: a pool that is not the workspace's own has no name here. */
  readonly short: string
  readonly more: string | null
  /** The command that mends it, if one does. */
  readonly remedy: string | null
  readonly until: number | null
}

/** Of one mail: why each of its recipients waits, and the first of these reasons. */
export interface MailWaiting {
  readonly first: Waiting | null
  /** By recipient id; those that wait for nothing that we know are not there. */
  readonly recipients: ReadonlyMap<string, Waiting>
}

export type ShowWaiting = (waiting: Waiting | null) => {
  readonly reason: string
  readonly detail: string
  readonly until: string | null
} | null

const REMEDY = '; an operator runs: '

/** A reason as it is told in full, in its parts. */
export const partsOfWaiting = (detail: string): { readonly why: string; readonly remedy: string | null } => {
  const at = detail.lastIndexOf(REMEDY)
  if (at < 0) return { why: detail, remedy: null }
  return { why: detail.slice(0, at), remedy: detail.slice(at + REMEDY.length) }
}

/** What others said, an upstream's reply among it, is never taken for our own advice. */
const withoutRemedy = (text: string): string => text.replaceAll(REMEDY, ', an operator runs: ')

const shown = ({ reason, until }: Waiting, parts: readonly (string | null)[]) => ({
  reason,
  detail: parts.filter((part) => part !== null).join('; '),
  until: timeOrNull(until),
})

export const waitingInFull: ShowWaiting = (waiting) =>
  waiting &&
  shown(waiting, [
    waiting.plain,
    waiting.more && withoutRemedy(waiting.more),
    waiting.remedy && `${REMEDY.slice(2)}${waiting.remedy}`,
  ])

export const waitingInShort: ShowWaiting = (waiting) => waiting && shown(waiting, [waiting.short])

export type WaitingRecord = NonNullable<ReturnType<ShowWaiting>>

const scope = ({ workspaceId, poolId, domain, emailId }: QueueScope) => ({
  workspace_id: workspaceId,
  egress_pool_id: poolId,
  domain,
  email_id: emailId,
})

export type Depth = QueueDepth & { readonly held: number }

export const depth = (row: Depth, waiting: Waiting | null, show: ShowWaiting) => ({
  egress_pool_id: row.poolId,
  workspace_id: row.workspaceId,
  due: row.due,
  leased: row.leased,
  waiting: row.waiting,
  held: row.held,
  oldest_due_at: timeOrNull(row.oldestDueAt),
  waiting_for: show(waiting),
})

export const entry = (row: QueueEntry, waiting: Waiting | null, show: ShowWaiting) => ({
  email_id: row.emailId,
  workspace_id: row.workspaceId,
  egress_pool_id: row.poolId,
  address: row.address,
  status: row.status,
  attempts: row.attempts,
  due_at: timeOrNull(row.dueAt),
  held: row.held,
  under_way: row.underWay,
  last_response: row.lastResponse,
  waiting: show(waiting),
})

/** A recipient domain that has a slower pace in a pool now, and the reply that asked for it; times are epoch ms. */
interface Throttle {
  readonly poolId: string
  readonly domain: string
  readonly until: number
  readonly since: number
  readonly atOnce: number
  readonly rule: string
  readonly said: string
}

export const throttle = (row: Throttle, now: number) => ({
  egress_pool_id: row.poolId,
  domain: row.domain,
  at_once: row.atOnce,
  until: row.until > now ? toRfc3339(row.until) : null,
  since: toRfc3339(row.since),
  rule: row.rule,
  last_response: row.said,
})

/** What waits of one pool, workspace or recipient domain, by how long ago it was accepted. */
export const queueAge = (row: QueueAge) => ({
  key: row.key,
  recipients: row.recipients,
  ages: Object.fromEntries(row.ages.map((n, i) => [AGE_NAMES[i] ?? '', n])),
  oldest_at: toRfc3339(row.oldestAt),
  next_due_at: timeOrNull(row.nextDueAt),
  last_response: row.lastResponse,
})

/** `forOperator` false hides what an operator wrote. */
export const hold = (row: HoldRow, forOperator = true) => ({
  id: row.id,
  object: 'hold' as const,
  ...scope(row),
  reason: forOperator || row.owner === 'workspace' ? row.reason : null,
  owner: row.owner,
  created_at: toRfc3339(row.createdAt),
})

const matched = ({ waiting, held, underWay }: QueueCount) => ({ waiting, held, under_way: underWay })

/** A hold that was put there now, and what it met. */
export const placedHold = (row: HoldRow, count: QueueCount, changed: number) => ({
  ...hold(row),
  matched: matched(count),
  changed,
})

interface OrderDone {
  readonly action: 'hold' | 'release' | 'retry' | 'reroute' | 'purge'
  readonly scope: QueueScope
  readonly to: string | null
  readonly count: QueueCount
  readonly changed: number
  readonly dryRun: boolean
}

/** What an order met, and what it changed. */
export const order = (done: OrderDone) => ({
  action: done.action,
  ...scope(done.scope),
  to: done.to,
  matched: matched(done.count),
  changed: done.changed,
  dry_run: done.dryRun,
})

export type Hold = ReturnType<typeof hold>
export type QueueEntryRecord = ReturnType<typeof entry>
export type PoolDepth = ReturnType<typeof depth>
export type Age = ReturnType<typeof queueAge>
export type SlowDomain = ReturnType<typeof throttle>

export const incident = (row: KnownIncident) => ({
  id: row.id,
  object: 'incident' as const,
  workspace_id: row.workspaceId,
  ...incidentFacts(row),
  pending: row.pending,
  decision: row.decision,
  created_at: toRfc3339(row.createdAt),
  decided_at: timeOrNull(row.decidedAt),
})

export const incidentText = (row: Pick<KnownIncident, 'addresses' | 'living' | 'outcomes'>): string =>
  row.living > 0
    ? `${row.addresses} addresses of ${row.outcomes} at the same time, of which ${row.living} took mail before`
    : `${row.addresses} addresses of ${row.outcomes} at the same time`

export type Incident = ReturnType<typeof incident>
