/**
 * NAME      operations - what is done to the queue by whoever runs it
 */

import { observed } from '../../src/lifecycle/facts.js'
import { covers, effectOf, isAway, mayHold, moved, stateOf } from '../../src/lifecycle/orders.js'
import { adjustTimes } from '../../src/lifecycle/schedule.js'
import { domainOf } from '../../src/mail/address.js'
import {
  AGE_EDGES,
  type Operations,
  QUEUE_STATES,
  type QueueAge,
  type QueueEntry,
  type QueueOrder,
  type QueueScope,
} from '../../src/store/port/operations.js'
import { poolFor, type Tenants } from '../../src/store/port/tenants.js'
import type { QueueDepth, TimeVerbs } from '../../src/store/port/upkeep.js'
import { type Key, pageOfQueue } from './page.js'
import type { Plain } from './plain.js'
import type { QueueParts } from './queue.js'
import { pausesOf } from './recipients.js'
import { anyWorkspace, type Recipient, workspaceOrd } from './state.js'
import { listed, notePauses } from './tenants.js'

const queued = (one: Recipient) => ({
  ...one,
  isLeased: one.boot !== null,
  isAttempting: one.boot !== null && one.attempting !== null,
})

/** Its place in the list: what waits, what is under way, what is held. */
const keyOf = ({ boot, dueAt, held, id }: Recipient): Key =>
  boot !== null ? [1, boot, id] : dueAt !== null ? [0, dueAt, id] : [2, held ?? '', id]

const ageOf = (key: string, rows: readonly Recipient[], now: number): QueueAge => {
  const due = rows.flatMap(({ dueAt }) => dueAt ?? [])
  const younger = [...AGE_EDGES, Number.POSITIVE_INFINITY].map(
    (edge) => rows.filter(({ queuedAt }) => queuedAt > now - edge).length,
  )
  const said = rows.filter(({ lastResponse }) => lastResponse !== null)
  const refused = rows.flatMap(({ reason, updatedAt }) => (reason === 'connection' ? [updatedAt] : []))
  const soonest = said.sort((a, b) => (a.dueAt ?? 9e12) - (b.dueAt ?? 9e12))[0]
  return {
    ...{ key, recipients: rows.length, ages: younger.map((n, i) => n - (younger[i - 1] ?? 0)) },
    oldestAt: Math.min(...rows.map(({ queuedAt }) => queuedAt)),
    nextDueAt: due.length === 0 ? null : Math.min(...due),
    lastResponse: soonest?.lastResponse ?? null,
    refusedAt: refused.length === 0 ? null : Math.max(...refused),
  }
}

export const createOperations = ({ state, effects, people }: QueueParts) => {
  const { recipients, holds, workspaces, pools } = state
  const accountOf = (one: Recipient): string => people.mailOf(one).accountId
  /** What waits of a scope, in the order of the queue. */
  const inScope = (scope: QueueScope): Recipient[] =>
    recipients
      .where(
        (one) =>
          stateOf(queued(one)) !== null &&
          covers(scope, { ...one, accountId: accountOf(one), address: one.address.toLowerCase() }),
      )
      .sort(
        (a, b) =>
          pools.ordOf(a.poolId) - pools.ordOf(b.poolId) ||
          workspaceOrd(state, a.workspaceId) - workspaceOrd(state, b.workspaceId) ||
          (a.dueAt ?? 0) - (b.dueAt ?? 0) ||
          (a.id < b.id ? -1 : 1),
      )
  const isStanding = (held: string | null): boolean =>
    held !== null && (holds.get(held) !== null || anyWorkspace(state, held)?.suspendedAt != null)

  const end = (one: Recipient, { action, reason, now }: QueueOrder): boolean => {
    const base = { recipientId: one.id, at: now, source: 'operator' } as const
    const outcome =
      action === 'purge'
        ? observed({ ...base, seen: 'purged', reason, detail: { action: 'purged' } })
        : observed({
            ...{ ...base, seen: 'discarded', reason: 'workspace_deleted' },
            detail: { action: 'workspace_deleted', note: reason },
          })
    return people.settle(outcome)?.applied ?? false
  }

  const move = (one: Recipient, to: string, { reason, now }: QueueOrder, unlease: boolean): void => {
    const at = one.held === null ? now : (one.heldAt ?? now)
    const queuedAt = moved(pausesOf(state, one.poolId), pausesOf(state, to), one.queuedAt, at)
    const waits = one.status === 'queued' || one.status === 'deferred'
    recipients.change(one.id, {
      ...{ poolId: to, queuedAt },
      ...(unlease && { boot: null, leaseUntil: null, leaseGen: one.leaseGen + 1, dueAt: waits ? now : null }),
    })
    state.mails.change(one.emailId, { poolId: to })
    const more = { from_pool: one.poolId, to_pool: to }
    people.note(one, { action: 'rerouted', did: 'rerouted', reason, now, more })
  }

  const apply = (one: Recipient, order: QueueOrder): boolean => {
    const { action, now, reason, routing, hold = null, liveOnly = false } = order
    const to = routing ? poolFor(routing.to, one.address) : order.to
    const from = routing ? poolFor(routing.from, one.address) : null
    const facts = {
      ...queued(one),
      isSandbox: pools.get(one.poolId)?.kind === 'sandbox',
      isHoldStanding: isStanding(one.held),
      isNewer: false,
    }
    const terms = { action, now, hold, liveOnly, ...(to !== null && { route: { from, to } }) }
    const effect = effectOf(facts, terms)
    if (effect === null || effect === 'hold') return false
    if (effect === 'end') return end(one, order)
    if (effect === 'free') people.free(one, { action: 'released', did: 'released', reason, now })
    else if (effect === 'due') {
      recipients.change(one.id, { dueAt: now })
      people.note(one, { action: 'retried', did: 'retried', reason, now })
    } else move(one, to ?? '', order, effect === 'move_unleased')
    effects.due = true
    return true
  }

  const operate = (order: QueueOrder): number => {
    const { scope, hold = null } = order
    if (order.action === 'release')
      for (const row of holds.where((one) => one.accountId === scope.accountId)) {
        const isSame =
          row.workspaceId === scope.workspaceId &&
          row.poolId === scope.poolId &&
          row.domain === scope.domain &&
          row.emailId === scope.emailId
        if (hold === null ? isSame : row.id === hold) holds.delete(row.id)
      }
    // of a hold that is lifted alone, what it keeps is found wherever it is of the mail
    const meant = hold === null ? scope : { ...scope, emailId: null }
    const { length } = inScope(meant).filter((one) => apply(recipients.get(one.id) as Recipient, order))
    effects.changed += length
    return length
  }

  const rest = (
    scope: QueueScope,
    hold: { readonly id: string; readonly reason: string },
    now: number,
  ): number => {
    const resting = inScope(scope).filter((one) => mayHold(queued(one)))
    for (const one of resting) people.hold(one, hold, now)
    effects.changed += resting.length
    return resting.length
  }

  const entry = (one: Recipient): QueueEntry => {
    const { id: recipientId, emailId, workspaceId, poolId, address, status, attempts, dueAt, held } = one
    const { isLeased: underWay, isAttempting: attempting } = queued(one)
    return {
      ...{ recipientId, emailId, workspaceId, poolId, address, status, attempts, dueAt, held },
      ...{ underWay, attempting, lastResponse: one.lastResponse },
    }
  }

  const operations: Pick<
    Plain<Operations>,
    | 'hold'
    | 'holds'
    | 'listHolds'
    | 'operate'
    | 'queueCount'
    | 'queueEntries'
    | 'queueAges'
    | 'entriesOf'
    | 'heldDepth'
  > = {
    hold(row) {
      holds.add(row.id, row)
      return rest(row, row, row.createdAt)
    },
    holds: (accountId) => holds.where((row) => row.accountId === accountId),
    listHolds: (accountId, page, workspaceId = null) =>
      listed(
        holds,
        (row) => row.accountId === accountId && (workspaceId === null || row.workspaceId === workspaceId),
        page,
      ),
    operate,
    queueCount(scope) {
      const isHidden = (one: Recipient) =>
        scope.liveOnly === true && pools.get(one.poolId)?.kind === 'sandbox'
      const entries = inScope(scope).filter((one) => !isHidden(one) && !(scope.movable && isAway(one.held)))
      const underWay = entries.filter((one) => one.boot !== null).length
      const waiting = entries.filter((one) => one.boot === null && one.dueAt !== null).length
      return { waiting, held: entries.length - waiting - underWay, underWay }
    },
    queueEntries(filter, page) {
      const shown = inScope(filter).filter(
        (one) =>
          (filter.state == null || filter.state === QUEUE_STATES[keyOf(one)[0]]) &&
          (filter.liveOnly !== true || pools.get(one.poolId)?.kind !== 'sandbox'),
      )
      const found = pageOfQueue(shown, page, keyOf)
      return { ...found, rows: found.rows.map(entry) }
    },
    queueAges(filter, by, most, now) {
      const seen = inScope({ ...filter, poolId: null, domain: null, emailId: null }).filter(
        (one) =>
          keyOf(one)[0] < 2 &&
          ((filter.liveOnly !== true && filter.testOnly !== true) ||
            (pools.get(one.poolId)?.kind === 'sandbox') === (filter.testOnly === true)),
      )
      const waiting = seen.filter((one) => one.status !== 'scheduled')
      const scheduled = seen.filter((one) => one.status === 'scheduled')
      const nameOf = (one: Recipient): string =>
        by === 'domain' ? domainOf(one.address.toLowerCase()) : by === 'pool' ? one.poolId : one.workspaceId
      const rows = [...new Set(waiting.map(nameOf))].map((key) =>
        ageOf(
          key,
          waiting.filter((one) => nameOf(one) === key),
          now,
        ),
      )
      return {
        rows: rows.sort((a, b) => b.recipients - a.recipients || a.oldestAt - b.oldestAt),
        scheduled: scheduled.length,
        scheduledOf: Object.fromEntries(
          [...new Set(scheduled.map(nameOf))].map((key) => [
            key,
            scheduled.filter((one) => nameOf(one) === key).length,
          ]),
        ),
        complete: seen.length <= most,
      }
    },
    entriesOf: (emailIds) =>
      emailIds.flatMap((id) =>
        recipients.where((one) => one.emailId === id && stateOf(queued(one)) !== null).map(entry),
      ),
    heldDepth: (of) =>
      pairs(recipients.where((one) => one.held !== null && isOf(one, of))).flatMap(([pair, rows]) =>
        [...new Set(rows.flatMap(({ held }) => held ?? []))].sort().map((heldBy) => ({
          ...pair,
          heldBy,
          held: rows.filter(({ held }) => held === heldBy).length,
        })),
      ),
  }

  const isOf = (one: Recipient, of?: Parameters<Operations['heldDepth']>[0]): boolean =>
    of === undefined ||
    (accountOf(one) === of.accountId && (of.workspaceId === null || of.workspaceId === one.workspaceId))

  const pairs = (rows: readonly Recipient[]) => {
    const found = new Map<string, Recipient[]>()
    const placeOf = (one: Recipient): string =>
      [pools.ordOf(one.poolId), workspaces.ordOf(one.workspaceId)]
        .map((n) => String(n).padStart(17, '0'))
        .join()
    for (const one of rows) found.set(placeOf(one), [...(found.get(placeOf(one)) ?? []), one])
    return [...found]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, group]) => {
        const { poolId, workspaceId } = group[0] as Recipient
        return [{ poolId, workspaceId }, group] as const
      })
  }

  const depth = (of?: Parameters<Operations['heldDepth']>[0]): QueueDepth[] => {
    const now = state.clock.now()
    return pairs(recipients.where((one) => (one.dueAt !== null || one.boot !== null) && isOf(one, of))).map(
      ([pair, rows]) => {
        const times = rows.flatMap((one) => one.dueAt ?? [])
        return {
          ...pair,
          due: times.filter((at) => at <= now).length,
          leased: rows.filter((one) => one.boot !== null).length,
          waiting: times.filter((at) => at > now).length,
          oldestDueAt: times.length === 0 ? null : Math.min(...times),
        }
      },
    )
  }

  const times: Plain<TimeVerbs> = {
    adjustTimes(now, by, longestWait) {
      let shifted = 0
      for (const one of recipients.where(() => true)) {
        const { isLeased, ...after } = adjustTimes(
          { ...one, isLeased: one.boot !== null },
          { now, by, longestWait },
        )
        if (JSON.stringify(after) !== JSON.stringify(one)) shifted++
        recipients.change(one.id, after)
      }
      for (const row of state.pauses.where(() => by !== 0))
        state.pauses.change(row.id, { from: row.from + by, to: row.to === null ? null : row.to + by })
      if (shifted > 0) effects.due = true
      return shifted
    },
  }

  const updateWorkspace: Plain<Tenants>['updateWorkspace'] = (id, change, moving) => {
    const row = workspaces.get(id)
    const isTaken = (other: { id: string; accountId: string; slug: string }): boolean =>
      other.accountId === row?.accountId && other.id !== id && other.slug === change.slug
    if (workspaces.where(isTaken).length > 0) return 'not_unique'
    workspaces.change(id, change)
    if (change.poolId !== undefined) notePauses(state, state.clock.now())
    if (moving !== undefined) {
      const { accountId, from, to, now } = moving
      const scope = { accountId, workspaceId: id, poolId: null, domain: null, emailId: null }
      const reason = 'the workspace has another pool'
      operate({ action: 'reroute', scope, to: null, routing: { from, to }, reason, now })
    }
    return 'done'
  }

  const suspending: Pick<Plain<Tenants>, 'updateWorkspace' | 'suspendWorkspace' | 'resumeWorkspace'> = {
    updateWorkspace,
    suspendWorkspace({ id, accountId }, reason, now) {
      const suspendedAt = workspaces.get(id)?.suspendedAt ?? now
      workspaces.change(id, { suspendedAt, suspendedReason: reason })
      const scope = { accountId, workspaceId: id, poolId: null, domain: null, emailId: null }
      return rest(scope, { id, reason: reason ?? 'the workspace is suspended' }, now)
    },
    resumeWorkspace(id, now) {
      if (workspaces.get(id)?.suspendedAt == null) return 0
      workspaces.change(id, { suspendedAt: null, suspendedReason: null })
      const resting = recipients.where((one) => one.held === id)
      const reason = 'the workspace is no longer suspended'
      for (const one of resting) people.free(one, { action: 'resumed', did: 'released', reason, now })
      effects.changed += resting.length
      return resting.length
    },
  }
  return { ...operations, ...suspending, ...times, depth, inScope }
}
