/**
 * NAME      verbs - every write of the port, by name
 *   Puts the parts of this folder together over one context. Nothing here commits; writer-thread.ts does.
 */
import { systemClock } from '../../../base/clock.js'
import type { Settled } from '../../../lifecycle/facts.js'
import type { EventNotice } from '../../port/log.js'
import { alarmFold, outageWrites } from '../../sql/alarms.js'
import {
  bounced,
  hardBounceWrites,
  type IncidentParts,
  incidentDecisions,
  softBounces,
} from '../../sql/bounces.js'
import { lotWrites } from '../../sql/carry.js'
import { type EraseParts, eraseWrites } from '../../sql/erase.js'
import { identityWrites } from '../../sql/identity.js'
import { jobWrites } from '../../sql/jobs.js'
import { storedId } from '../../sql/log/places.js'
import { orderWrites, type QueueWrites, suspendWrites, updateMoving } from '../../sql/orders.js'
import { type Asking, all, answered, atOnce, first, type Row, run } from '../../sql/query.js'
import { readingWrites } from '../../sql/reading.js'
import { setupWrites } from '../../sql/setup.js'
import { adding, KEY, type StatisticsTable } from '../../sql/statistics.js'
import { createSuppressionEvents, suppressionWrites, windowWrites } from '../../sql/suppressions.js'
import { isThere } from '../../sql/table.js'
import {
  domainReportWrites,
  domainWrites,
  poolWrites,
  ringWrites,
  type TenantParts,
  tenantWrites,
  warmupWrites,
} from '../../sql/tenants.js'
import { endpointWrites, postWrites } from '../../sql/webhooks.js'
import { durabilityFaults } from '../connect.js'
import { createShrinkStep } from '../disk-room.js'
import { createUnindex, type Unindex } from '../search.js'
import { MAIL } from '../statements.js'
import { createSweepStep } from '../sweep.js'
import type { WriterVerbs } from '../thread/wire.js'
import { createAccept, createCarryIn, createDayNotes, createIdempotency } from './accept.js'
import type { WriteContext } from './context.js'
import { createAddEvent, createAddNotice, createPendingDsns } from './events.js'
import {
  createClaim,
  createEndSuppressed,
  createHoldRecipients,
  createLeases,
  createQueueWrites,
  createSchedule,
  createTimes,
  standingHolds,
} from './queue.js'
import { createFold, createSettle } from './settle.js'

// Many rows of statistics, found and written some at a time.

/** A statement for some rows takes less time than one for each. */
const AT_ONCE = 40

const times = (n: number, text: string): string => new Array(n).fill(text).join(', ')

/** For so many rows, made once. */
const textsOf = (make: (n: number) => string) => {
  const texts: string[] = []
  return (n: number): string => {
    texts[n] ??= make(n)
    return texts[n]
  }
}

const findText = textsOf(
  (n) => `SELECT * FROM statistics WHERE (${KEY}) IN (VALUES ${times(n, '(?, ?, ?, ?, ?, ?)')})`,
)
const putText = textsOf(
  (n) => `INSERT INTO statistics (${KEY}, counts) VALUES ${times(n, '(?, ?, ?, ?, ?, ?, ?)')}
   ON CONFLICT (${KEY}) DO UPDATE SET counts = excluded.counts`,
)
const dropText = textsOf(
  (n) => `DELETE FROM statistics WHERE span = ? AND at = ? AND dimension = ? AND workspace = ? AND test = ?
   AND value IN (${times(n, '?')}) RETURNING span, at, value, counts`,
)

function* inParts<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let i = 0; i < rows.length; i += AT_ONCE) yield rows.slice(i, i + AT_ONCE)
}

const STATISTICS: StatisticsTable = {
  *find(keys): Asking<readonly Row[]> {
    const found: Row[] = []
    for (const some of inParts(keys)) found.push(...(yield* all(findText(some.length), ...some.flat())))
    return found
  },
  *put(rows): Asking<void> {
    for (const some of inParts(rows)) yield* run(putText(some.length), ...some.flat())
  },
  *drop(moments, group, values): Asking<readonly Row[]> {
    const gone: Row[] = []
    for (const moment of moments)
      for (const some of inParts(values))
        gone.push(...(yield* all(dropText(some.length), ...moment, ...group, ...some)))
    return gone
  },
}

/** Those of tenants; which pools are paused, and where mail waits, is told here. */
const createTenantWrites = ({ order, names, pauses }: WriteContext) => {
  const parts: TenantParts = {
    places: order,
    poolsChanged: (now) => atOnce(() => pauses.note(now)),
    now: systemClock.now,
  }
  const hasMail = (poolId: string) => {
    const pool = names.pool(poolId)
    return isThere(
      `SELECT 1 WHERE EXISTS (SELECT 1 FROM recipients WHERE pool = ? AND due_at IS NOT NULL)
         OR EXISTS (SELECT 1 FROM recipients WHERE boot IS NOT NULL AND pool = ?)
         OR EXISTS (SELECT 1 FROM recipients WHERE held IS NOT NULL AND pool = ?)`,
      ...[pool, pool, pool],
    )
  }
  return { ...tenantWrites(parts), ...poolWrites({ ...parts, hasMail }) }
}

/** How this database erases. */
const createEraseParts = (
  context: WriteContext,
  { lockMails }: QueueWrites,
  tell: EraseParts['tell'],
  unindex: Pick<Unindex, 'remove'>,
): EraseParts => ({
  ...{ places: context.order, holds: standingHolds(context), tell, lockMails, recipients: 'recipients' },
  *dropBody(body, emailId) {
    const row = yield* first(
      'DELETE FROM bodies WHERE n = ? AND email_id = ? RETURNING beside',
      body,
      emailId,
    )
    return row?.beside === 1
  },
  unindex: (place) => atOnce(() => unindex.remove(place)),
})

/** `alone`: with the lock of the data folder. */
export const createVerbs = (context: WriteContext, alone = false): WriterVerbs => {
  const addEvent = createAddEvent(context)
  const { ask } = context.sql
  const addNotice = createAddNotice(context)
  const noticing = (notice: EventNotice) => atOnce(() => addNotice(notice))
  const noteDay = createDayNotes(context)
  const fold = createFold(context.db)
  const dsns = createPendingDsns(context.db, addEvent)
  const holdRecipients = createHoldRecipients(context, addEvent)
  const leases = createLeases(context, addEvent, alone)
  const schedule = createSchedule(context, addEvent)
  const telling = createSuppressionEvents(noticing)
  const suppressing = suppressionWrites({ places: context.order, tell: telling, now: systemClock.now })
  const lists = answered(suppressing, ask)
  const people = bounced(MAIL)
  const parts: IncidentParts = {
    ...people,
    places: context.order,
    addSuppression: suppressing.addSuppression,
    addNotice: noticing,
  }
  const softBounce = softBounces({ ...people, ...parts })
  const settle = createSettle(context, {
    ...{ addEvent, fold, dsns, now: systemClock.now },
    softBounce: (...args) => ask(softBounce(...args)),
  })
  const unindex = createUnindex(context)
  const queue = createQueueWrites(context, holdRecipients, settle, unindex)
  const holds = standingHolds(context)
  const { addHold, beginHolding, ...ordering } = orderWrites(context.order, queue, holds)
  const decisions = incidentDecisions(parts)
  const tenants = createTenantWrites(context)
  return {
    accept: createAccept(context, addEvent, holdRecipients, dsns, noteDay),
    claim: createClaim(
      context,
      leases,
      schedule.fallDue,
      holdRecipients,
      createEndSuppressed(context.db, settle),
    ),
    settle: (outcomes, quiet = false) => {
      const settled: Settled[] = []
      for (const outcome of outcomes) {
        const one = settle(outcome)
        if (one !== null && !quiet) settled.push(one)
      }
      return settled
    },
    attempting: leases.attempting,
    release: leases.release,
    recover: leases.recover,
    adjustTimes: createTimes(context, leases),
    addNotice: (notice) => {
      const ord = addNotice(notice)
      return ord === null ? null : storedId(ord, notice.accountId)
    },
    reschedule: schedule.reschedule,
    cancel: schedule.cancel,
    sweepStep: createSweepStep(context, settle, telling, unindex, decisions),
    shrinkStep: createShrinkStep(context.db),
    followClock: () => context.order.follow(),
    durability: () => durabilityFaults(context.db),
    ...answered(createCarryIn(context, queue, noteDay, unindex), ask),
    ...answered({ ...lotWrites(context.order, queue), ...ordering }, ask),
    ...answered(suspendWrites(queue, holds, beginHolding), ask),
    ...answered(eraseWrites(createEraseParts(context, queue, telling, unindex)), ask),
    ...answered({ ...endpointWrites(context.order, noticing), ...postWrites(context.order) }, ask),
    ...answered(warmupWrites, ask),
    ...answered(jobWrites(context.order), ask),
    ...answered(setupWrites(context.order), ask),
    ...answered(domainReportWrites(context.order), ask),
    ...answered(ringWrites, ask),
    ...createIdempotency(context),
    ...answered(
      { ...tenants, updateWorkspace: updateMoving(tenants.updateWorkspace, ordering.beginOrder) },
      ask,
    ),
    ...answered(identityWrites(context.order), ask),
    ...answered(domainWrites(context.order, noticing), ask),
    ...lists,
    ...answered({ ...hardBounceWrites(parts), ...decisions, ...outageWrites(parts.addNotice) }, ask),
    ...answered(
      readingWrites({
        addStatistics: adding(STATISTICS),
        addAlarmCounts: alarmFold({ ...parts, addHold }),
        addIndexed: (mails) => atOnce(() => unindex.add(mails)),
      }),
      ask,
    ),
    ...answered(windowWrites(systemClock.now), ask),
  }
}
