/**
 * NAME      differential-moves - the verbs of the random runs that hold an engine against the model
 * DESCRIPTION
 *   A move is a kind and three numbers, which choose among what the world has by then. What a
 *   verb answers is made of what both engines must say alike: marks and boots are each engine's own.
 */
import { deepStrictEqual } from 'node:assert'
import { newId, newRecipientId } from '../../src/base/id.js'
import type { Claimed, IdempotencyClaim, NewEmail } from '../../src/lifecycle/facts.js'
import type { Page, Rows } from '../../src/lifecycle/page.js'
import { OBSERVATIONS } from '../../src/mail/status.js'
import type { LogFilter, LogRow } from '../../src/store/port/log.js'
import {
  QUEUE_GROUPS,
  QUEUE_STATES,
  type QueueEntry,
  type QueueOrder,
} from '../../src/store/port/operations.js'
import type { Store } from '../../src/store/port/store.js'
import { follow as followLog, HOUR, mailFor, outcome, page, type TestAccount, toOne } from './fixture.js'

export const MOVES = [
  ...(['accept', 'accept', 'accept', 'claim', 'claim', 'claim', 'attempting', 'settle', 'settle'] as const),
  ...(['release', 'reschedule', 'cancel', 'hold', 'operate', 'suppress', 'reroute', 'suspend'] as const),
  ...(['resume', 'sweep', 'wait', 'step', 'start', 'crash', 'key', 'pages', 'log', 'recover'] as const),
  ...(['answer', 'free_key', 'queue', 'queue', 'ages', 'follow', 'follow', 'cut_off'] as const),
] as const

export interface Move {
  readonly kind: (typeof MOVES)[number]
  /** Which of the two handles. */
  readonly by: 0 | 1
  readonly a: number
  readonly b: number
  readonly c: number
}

export type Side = 'engine' | 'model'

export interface World {
  now: number
  readonly accounts: readonly TestAccount[]
  readonly pools: readonly string[]
  readonly mails: string[]
  readonly people: string[]
  readonly leases: Claimed[]
  readonly holds: string[]
  readonly keys: IdempotencyClaim[]
  /** How far the log was followed. */
  readonly marks: Record<Side, string | null>
}

export type Verb<Answer> = (store: Store, side: Side) => Promise<Answer>

const scopeOf = ({ accounts }: World, a: number) => {
  const { accountId, workspace } = accounts[a % accounts.length] as TestAccount
  return {
    accountId,
    workspaceId: a % 3 === 0 ? null : workspace.id,
    poolId: null,
    domain: null,
    emailId: null,
  }
}

const mailOf = (world: World, { a, b, c }: Move): NewEmail => {
  const at = world.accounts[a % world.accounts.length] as TestAccount
  const recipients = Array.from({ length: 1 + (b % 3) }, (_, i) => {
    const address = `${'abcd'[(a + i) % 4]}@${c % 2 ? 'x' : 'y'}.test`
    const more = { id: newRecipientId(), suppressed: (b + i) % 9 === 0 }
    return toOne(address, { ...more, normal: c % 3 === 0 ? undefined : address })
  })
  const mail = mailFor(at, {
    ...{ createdAt: world.now, recipients, poolId: world.pools[c % world.pools.length] as string },
    ...{
      mode: a % 5 === 0 ? 'test' : 'live',
      source: b % 2 ? 'smtp' : 'api',
      mailFrom: b % 2 ? 's@x.test' : null,
    },
    ...(c % 4 === 0 && { scheduledAt: world.now + (b % 5) * HOUR }),
  })
  world.mails.push(mail.id)
  world.people.push(...recipients.map(({ id }) => id))
  return mail
}

/** `isAnswer`: of a request whose key some claim has locked, or had. */
const accept = (world: World, move: Move, isAnswer: boolean): Verb<unknown> => {
  const { now, keys } = world
  const mails = [mailOf(world, move)]
  const claim = isAnswer ? keys[move.b % Math.max(1, keys.length)] : undefined
  const idempotency = claim === undefined ? null : { ...claim, status: 202, body: `${move.c}` }
  return (store) => store.accept({ mails, idempotency, now })
}

const settle = (world: World, { a, b, c }: Move): Verb<unknown> => {
  const lease = world.leases[a % Math.max(1, world.leases.length)]
  const seen = OBSERVATIONS[b % OBSERVATIONS.length] as (typeof OBSERVATIONS)[number]
  const recipientId = lease?.recipientId ?? world.people[a % Math.max(1, world.people.length)] ?? 'none'
  const isOurs = lease !== undefined && ['accepted', 'postponed', 'rejected', 'expired'].includes(seen)
  const one = outcome(recipientId, {
    ...{ seen, at: world.now, source: isOurs ? 'smtp' : 'dsn', trusted: isOurs || c % 7 !== 0 },
    ...(isOurs && { leaseGen: lease.leaseGen, attempt: lease.attempts + 1 }),
    retryAt: seen === 'postponed' && c % 3 !== 0 ? world.now + (c % 6) * HOUR : null,
    deadline: seen === 'dsn-delayed' ? world.now + 5 * HOUR : null,
    dedupe: c % 2 ? `k${a % 5}` : null,
    reply: { code: 450, enhanced: '4.2.1', text: `said ${c}` },
  })
  return (store) => store.settle([one])
}

const ACTIONS = ['release', 'retry', 'reroute', 'purge'] as const

export const orderOf = (world: World, { a, b, c }: Move): QueueOrder => {
  const action = ACTIONS[b % ACTIONS.length] as (typeof ACTIONS)[number]
  const isOne = action === 'release' && c % 2 === 1
  const hold = isOne ? (world.holds[a % Math.max(1, world.holds.length)] ?? null) : null
  const to = world.pools[c % world.pools.length] as string
  return { action, scope: scopeOf(world, a), hold, to, reason: 'y', now: world.now }
}

export const verbOf = (world: World, move: Move): Verb<unknown> => {
  const { now } = world
  const { kind, a, b, c } = move
  const mail = world.mails[a % Math.max(1, world.mails.length)] ?? 'em_none'
  const lease = world.leases[a % Math.max(1, world.leases.length)]
  const at = world.accounts[b % world.accounts.length] as TestAccount
  const viewer = { accountId: at.accountId, workspaceId: null, mode: null }
  const pool = world.pools[c % world.pools.length] as string
  switch (kind) {
    case 'accept':
      return accept(world, move, false)
    case 'answer':
      return accept(world, move, true)
    case 'settle':
      return settle(world, move)
    case 'attempting':
      return async (store) =>
        lease && store.attempting([{ ...lease, attempt: lease.attempts + 1, upstreamId: 'up_1', at: now }])
    case 'release':
      return async (store) => lease && store.release([lease], now + (b % 3) * HOUR)
    case 'reschedule':
      return (store) => store.reschedule(viewer, mail, now + (c % 5) * HOUR, now)
    case 'cancel':
      return (store) => store.cancel(viewer, mail, now)
    case 'hold': {
      const id = newId('hold')
      const scope = {
        ...scopeOf(world, a),
        poolId: b % 2 ? pool : null,
        domain: c % 3 === 0 ? 'x.test' : null,
      }
      world.holds.push(id)
      return (store) => store.hold({ ...scope, id, reason: 'x', owner: 'operator', createdAt: now })
    }
    case 'operate': {
      const order = orderOf(world, move)
      return (store) => store.operate(order)
    }
    case 'suppress': {
      const email = `${'abcd'[a % 4]}@x.test`
      const row = { id: newId('sup'), accountId: at.accountId, list: at.workspace.id, email }
      const more = {
        origin: 'manual',
        sourceId: null,
        reason: null,
        expiresAt: c % 2 ? now + HOUR : null,
      } as const
      return b % 4 === 0
        ? (store) => store.removeSuppression(at.workspace.id, email)
        : async (store) => (await store.addSuppression({ ...row, ...more, createdAt: now })).email
    }
    case 'reroute':
      return (store) => {
        const from = { poolId: at.poolId, routes: [] }
        const moving = { accountId: at.accountId, from, to: { poolId: pool, routes: [] }, now }
        return store.updateWorkspace(at.workspace.id, { poolId: pool }, moving)
      }
    case 'suspend':
      return (store) => store.suspendWorkspace(at.workspace, 'unpaid', now)
    case 'resume':
      return (store) => store.resumeWorkspace(at.workspace.id, now)
    case 'sweep':
      return (store) => store.sweep(now, { bodiesMs: 24 * HOUR, emailsMs: 48 * HOUR })
    case 'step':
      return (store) => store.adjustTimes(now, ((a % 9) - 4) * HOUR || HOUR, 4 * HOUR)
    case 'start':
      return (store) => store.adjustTimes(now, 0, 4 * HOUR)
    case 'key': {
      const claim: IdempotencyClaim = {
        ...{
          workspaceId: at.workspace.id,
          mode: 'live' as const,
          key: `k${a % 3}`,
          fingerprint: `f${b % 2}`,
        },
        ...{ token: `t${world.keys.length}`, now, lockedUntil: now + HOUR },
      }
      world.keys.push(claim)
      return (store) => store.claimKey(claim)
    }
    case 'free_key': {
      const claim = world.keys[a % Math.max(1, world.keys.length)]
      return async (store) => claim && store.releaseKey(claim)
    }
    case 'recover':
      // another store that lives: nothing of it is freed
      return (store) => store.recover('earlier', now)
    case 'log':
      return walkLog(viewer.accountId, 1 + (a % 4))
    case 'pages':
      return walk(viewer.accountId, 1 + (a % 4), b % 2 ? 'older' : 'newer')
    case 'queue':
      return walkQueue(world, move)
    case 'ages':
      return ages(world, move)
    case 'follow':
      return follow(world, move)
    default:
      return async () => null
  }
}

/** Every page of a list, from either end; `told` of each. */
const pagesOf = async <Row>(
  read: (page: Page) => Promise<Rows<Row>>,
  limit: number,
  direction: Page['direction'],
): Promise<readonly Rows<Row>[]> => {
  const pages: Rows<Row>[] = []
  for (let anchor: string | null = null; ; ) {
    const got = await read(page({ limit, direction, anchor, countUpTo: 5 }))
    pages.push(got)
    if (direction === 'older' ? !got.hasOlder : !got.hasNewer) return pages
    anchor = direction === 'older' ? got.older : got.newer
  }
}

const sizesOf = (pages: readonly Rows<unknown>[]) =>
  pages.map(({ rows, hasOlder, hasNewer, total }) => [rows.length, hasOlder, hasNewer, total])

const walk =
  (accountId: string, limit: number, direction: Page['direction']): Verb<unknown> =>
  async (store) => {
    const filter = { accountId, workspaceId: null, mode: null, status: null, to: null, tag: null }
    const all = { ...filter, createdAfter: null, createdBefore: null }
    const pages = await pagesOf((page) => store.emails(all, page), limit, direction)
    return [sizesOf(pages), pages.map(({ rows }) => rows.map(({ id }) => id))]
  }

/** What is under way stands in the order of boots, which are each engine's own. */
const walkQueue =
  (world: World, { a, b, c }: Move): Verb<unknown> =>
  async (store) => {
    const state = [null, ...QUEUE_STATES][b % 4] ?? null
    const poolId = c % 3 === 0 ? (world.pools[a % world.pools.length] as string) : null
    const emailId = c % 7 === 0 ? (world.mails[a % Math.max(1, world.mails.length)] ?? null) : null
    const domain = c % 5 === 0 ? 'x.test' : null
    const filter = { ...scopeOf(world, a), poolId, emailId, domain, state, liveOnly: a % 2 === 0 }
    const direction = c % 2 ? 'older' : 'newer'
    const pages = await pagesOf((page) => store.queueEntries(filter, page), 1 + (a % 4), direction)
    const rows = (direction === 'older' ? [...pages] : [...pages].reverse()).flatMap((one) => one.rows)
    const underWay = rows.filter((one) => one.underWay)
    const first = rows.findIndex((one) => one.underWay)
    const inOrder = (x: QueueEntry, y: QueueEntry): number => (x.recipientId < y.recipientId ? -1 : 1)
    if (first >= 0) rows.splice(first, underWay.length, ...underWay.sort(inOrder))
    return [sizesOf(pages), rows, await store.queueCount(filter)]
  }

/** Which of its answers a group tells, an engine chooses. */
const ages =
  (world: World, { a, b }: Move): Verb<unknown> =>
  async (store) => {
    const of = { ...scopeOf(world, a), liveOnly: a % 2 === 0 }
    const by = QUEUE_GROUPS[b % QUEUE_GROUPS.length] as (typeof QUEUE_GROUPS)[number]
    const got = await store.queueAges(of, by, 1_000, world.now)
    const rows = got.rows.map((row) => ({ ...row, lastResponse: row.lastResponse !== null }))
    return { ...got, rows: rows.sort((x, y) => (x.key < y.key ? -1 : 1)) }
  }

/** What one order tells of many it tells in an order of the engine's own. */
const inAnyOrder = (rows: readonly LogRow[]): readonly string[] =>
  rows.map(({ type, recipientId, change }) => `${type} ${recipientId} ${change}`).sort()

/** The log of the account, a page at a time. */
const walkLog =
  (accountId: string, limit: number): Verb<unknown> =>
  async (store) => {
    const pages = await pagesOf((page) => store.log(wholeLogOf(accountId), page), limit, 'older')
    return [sizesOf(pages), inAnyOrder(pages.flatMap(({ rows }) => rows))]
  }

const wholeLogOf = (accountId: string): LogFilter => ({
  ...{ accountId, workspaceId: null, accountWide: true, createdAfter: null, createdBefore: null },
  ...{ mode: null, types: null, emailId: null, recipient: null, change: null },
})

/** On from where the last one came to, or from the beginning; and again from the mark of one of the rows. */
const follow =
  ({ marks, accounts }: World, { a, b, c }: Move): Verb<unknown> =>
  async (store, side) => {
    const filter = c % 3 === 0 ? null : wholeLogOf(accounts[0]?.accountId ?? '')
    const rest = async (from: string | null, limit: number): Promise<readonly LogRow[] | 'gone'> => {
      const rows: LogRow[] = []
      for (let mark = from; ; ) {
        const got = await followLog(store, filter, mark, limit)
        if (got === 'gone') return got
        rows.push(...got.rows)
        marks[side] = mark = got.mark
        if (got.isEnd) return rows
      }
    }
    const rows = await rest(a % 4 === 0 ? null : marks[side], 1 + (a % 7))
    if (rows === 'gone') return rows
    const at = b % Math.max(1, rows.length)
    const after = rows[at] === undefined ? [] : await rest(rows[at].mark, 1 + (b % 5))
    // in this engine's own order
    deepStrictEqual(after, rows.slice(at + 1))
    return inAnyOrder(rows)
  }
