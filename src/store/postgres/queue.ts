/**
 * NAME      queue - verbs of mail under way
 * DESCRIPTION
 *   Those that do not wait for other verbs of all daemons (write/writer.ts), put together for one session.
 */
import type { Store } from '../port/store.js'
import { bounced, softBounces } from '../sql/bounces.js'
import { createAccept } from './accept/accept.js'
import { createClaim } from './claim/claim.js'
import { dueVerbs, leastDue } from './claim/due.js'
import { Floors } from './claim/floor.js'
import { scheduleVerbs } from './claim/schedule.js'
import { createStopped } from './claim/stopped.js'
import { timeVerbs } from './claim/times.js'
import { createUnheard, freeingUnheard } from './claim/unheard.js'
import { deadInQueue } from './cluster/server-state.js'
import { MAIL } from './mails.js'
import { createQueueWrites } from './operate/queue-writes.js'
import type { Readers } from './readers.js'
import type { Leased } from './settle/leased.js'
import { recovering } from './settle/recover.js'
import { createAddEvent } from './write/events.js'
import { createAttempting, createRelease } from './write/lease.js'
import { createSettle, settling } from './write/settle.js'
import { tenantVerbs } from './write/tenants.js'
import type { Writer } from './write/writer.js'

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
  writer: Writer,
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
