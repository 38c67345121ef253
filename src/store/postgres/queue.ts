/**
 * NAME      queue - verbs of mail under way
 *   Those that do not wait for other verbs of all daemons (writer.ts), put together for one session.
 */
import type { Store } from '../port/store.js'
import { bounced, softBounces } from '../sql/bounces.js'
import { createAccept } from './accept.js'
import { createClaim, createStopped, Floors } from './claim.js'
import { deadInQueue } from './cluster.js'
import { createUnheard, dueVerbs, freeingUnheard, leastDue, scheduleVerbs, timeVerbs } from './due.js'
import { createAddEvent } from './events.js'
import { recovering } from './heartbeat.js'
import { createAttempting, createRelease } from './lease.js'
import type { Leased } from './leased.js'
import { MAIL } from './mails.js'
import { createQueueWrites } from './orders.js'
import type { Readers } from './readers.js'
import { createSettle, settling } from './settle.js'
import { tenantVerbs } from './tenants.js'
import type { PostgresWriter } from './writer.js'

export const QUEUE_VERBS = [
  ...(['accept', 'claim', 'attempting', 'settle', 'release', 'recover', 'adjustTimes'] as const),
  ...(['nextDue', 'duePools'] as const),
] as const

export type QueueVerbs = Pick<Store, (typeof QUEUE_VERBS)[number]>

type AnyVerb = (...args: readonly unknown[]) => Promise<unknown>

/** `told` hears of each error, and throws what callers may see of it. */
const watched = (verbs: QueueVerbs, told: (error: unknown) => never): QueueVerbs =>
  Object.fromEntries(
    Object.entries(verbs).map(([name, verb]) => [
      name,
      (...args: readonly unknown[]) => (verb as AnyVerb)(...args).catch(told),
    ]),
  ) as unknown as QueueVerbs

export const queueVerbs = (
  writer: PostgresWriter,
  readers: Readers,
  leased: Leased,
  told: (error: unknown) => never,
): QueueVerbs => {
  const { places, effects } = writer
  const addEvent = createAddEvent(places)
  const { fallDue } = scheduleVerbs(places, effects)
  const { addSuppression } = tenantVerbs(places)
  const parts = { places, effects, softBounce: softBounces({ ...bounced(MAIL), addSuppression }) }
  const { ofDead, ofNobody } = recovering(places, effects)
  const { settleAll, settleOne } = settling(parts)
  writer.onPutBack(leased.clear)
  const { hold } = createQueueWrites(writer, settleAll)
  const stopped = createStopped({ fallDue, hold, settle: settleOne })
  const floors = new Floors({
    walk: () => readers.read(() => leastDue()),
    dead: () => readers.read(deadInQueue),
  })
  const { claim, clockMoved } = createClaim({ writer, readers, takeStopped: stopped.take, leased, floors })
  const unheard = createUnheard(writer)
  const verbs: QueueVerbs = {
    accept: createAccept(writer, { addEvent, hold: stopped.hold, unheard }),
    claim: freeingUnheard(writer.boot, unheard, claim),
    attempting: createAttempting(writer, leased),
    settle: createSettle(writer, parts, leased),
    release: createRelease(writer),
    recover: (dead, now) => writer.mail(() => (dead === 'earlier' ? ofNobody(now) : ofDead(dead, now))),
    ...timeVerbs(writer, readers, clockMoved),
    ...dueVerbs(readers, floors),
  }
  return watched(verbs, told)
}
