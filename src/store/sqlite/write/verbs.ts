/**
 * NAME      verbs - every write of the port, by name
 * DESCRIPTION
 *   Puts the parts of this folder together over one desk. Nothing here commits;
 *   batch.ts does.
 */
import { systemClock } from '../../../base/clock.js'
import type { Settled } from '../../port.js'
import { createCarryIn } from '../carry/in.js'
import { createLots } from '../carry/lots.js'
import { durabilityFaults } from '../connect.js'
import { createEndpointWrites } from '../hooks/endpoints.js'
import { createPostWrites } from '../hooks/posts.js'
import { createIdentityWrites } from '../identity/write.js'
import { createJobWrites } from '../jobs/jobs.js'
import { storedId } from '../log/event-id.js'
import { createDomainWrites } from '../operate/domains.js'
import { createErase } from '../operate/erase.js'
import { createOrders } from '../operate/orders.js'
import { createParking } from '../operate/park.js'
import { createSilence } from '../operate/silence.js'
import { createSuspend } from '../operate/suspend.js'
import { createTimes } from '../operate/times.js'
import { createDayNotes } from '../order/days.js'
import { createOwing } from '../owed/owe.js'
import type { WriterVerbs } from '../protocol.js'
import { createShrinkStep } from '../room/shrink.js'
import { createSearchWrites, createUnindex } from '../search/write.js'
import { createStatisticsWrites } from '../statistics/write.js'
import { createSweepStep } from '../sweep/sweep.js'
import { createAlarmWrites } from '../watch/alarms.js'
import { createIncidentWrites } from '../watch/incidents.js'
import { createOutageWrites } from '../watch/outages.js'
import { createOutcomeCounts } from '../watch/outcome-counts.js'
import { createSoftBounces } from '../watch/soft-bounces.js'
import { createSuppressionEvents } from '../watch/suppressions.js'
import { createAccept } from './accept.js'
import { createClaim } from './claim.js'
import type { Desk } from './desk.js'
import { createAddEvent, createAddNotice } from './events.js'
import { createFold } from './fold.js'
import { createIdempotency } from './idempotency.js'
import { createLeases } from './lease.js'
import { createSuppressionWrites, createWindowWrites } from './ledgers.js'
import { createAppointments } from './schedule.js'
import { createSettle } from './settle.js'
import { createPoolWrites, createTenantWrites } from './tenants.js'

export const createVerbs = (desk: Desk): WriterVerbs => {
  const addEvent = createAddEvent(desk)
  const addNotice = createAddNotice(desk)
  const noteDay = createDayNotes(desk)
  const fold = createFold(desk.db)
  const owing = createOwing(desk.db, addEvent)
  const parking = createParking(desk, addEvent)
  const leases = createLeases(desk, addEvent)
  const appointments = createAppointments(desk, addEvent, fold)
  const counts = createOutcomeCounts(desk.db)
  const listings = createSuppressionEvents(addNotice)
  const lists = createSuppressionWrites(desk, listings, systemClock.now)
  const { addSuppression } = lists
  const softBounce = createSoftBounces(desk, addSuppression)
  const settle = createSettle(desk, { addEvent, fold, owing, counts, softBounce, now: systemClock.now })
  const unindex = createUnindex(desk.db)
  const orders = createOrders(desk, parking, settle, unindex)
  const incidents = createIncidentWrites(desk, { counts, tell: listings, addSuppression, addNotice })
  return {
    accept: createAccept(desk, addEvent, parking, owing, noteDay),
    claim: createClaim(desk, leases, appointments, parking, createSilence(desk.db, settle)),
    settle: (outcomes) => outcomes.map(settle).filter((one): one is Settled => one !== null),
    attempting: leases.attempting,
    release: leases.release,
    recover: leases.recover,
    adjustTimes: createTimes(desk, leases),
    addNotice: (notice) => {
      const ord = addNotice(notice)
      return ord === null ? null : storedId(ord, notice.accountId)
    },
    reschedule: appointments.reschedule,
    cancel: appointments.cancel,
    sweepStep: createSweepStep(desk, settle, listings, unindex, incidents),
    shrinkStep: createShrinkStep(desk.db),
    followClock: () => desk.order.follow(),
    durability: () => durabilityFaults(desk.db),
    carryIn: createCarryIn(desk, parking, noteDay, unindex),
    ...createLots(desk, parking, settle),
    ...orders,
    ...createSuspend(desk, parking),
    ...createErase(desk, listings, unindex),
    ...createEndpointWrites(desk, addNotice),
    ...createPostWrites(desk),
    ...createStatisticsWrites(desk),
    ...createSearchWrites(desk.db),
    ...createJobWrites(desk),
    ...createIdempotency(desk),
    ...createTenantWrites(desk),
    ...createIdentityWrites(desk),
    ...createPoolWrites(desk),
    ...createDomainWrites(desk, addNotice),
    ...lists,
    ...incidents,
    ...createAlarmWrites(desk.db, { addHold: orders.addHold, addNotice }),
    ...createOutageWrites(desk.db, addNotice),
    ...createWindowWrites(desk.db, systemClock.now),
  }
}
