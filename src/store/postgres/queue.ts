/**
 * NAME      queue - verbs of mail under way
 * DESCRIPTION
 *   Those that do not wait for other verbs of all daemons (write/writer.ts), put together for one session.
 */
import type { Store } from '../port/store.js'
import { createClaim } from './claim/claim.js'
import { createAppointments } from './claim/schedule.js'
import { createTakeStopped } from './claim/stopped.js'
import { timeVerbs } from './claim/times.js'
import type { Readers } from './readers.js'
import { createAccept } from './write/accept.js'
import { createAddEvent } from './write/events.js'
import type { Writer } from './write/writer.js'

const notYet = (): never => {
  throw new Error('this is not done by PostgreSQL yet')
}

/** `told` hears of each error, and throws what callers may see of it. */
export const queueVerbs = (writer: Writer, readers: Readers, told: (error: unknown) => never) => {
  const { places, effects } = writer
  const { fallDue } = createAppointments(createAddEvent(places), effects)
  const takeStopped = createTakeStopped({ fallDue, hold: notYet, settle: notYet })
  const { claim, clockMoved } = createClaim({ writer, readers, takeStopped })
  const { adjustTimes } = timeVerbs(effects, clockMoved)
  const accept = createAccept(writer)
  return {
    accept: (...args) => accept(...args).catch(told),
    claim: (...args) => claim(...args).catch(told),
    adjustTimes: (...args) => writer.write(() => adjustTimes(...args)).catch(told),
  } satisfies Partial<Store>
}

export type QueueVerbs = ReturnType<typeof queueVerbs>
