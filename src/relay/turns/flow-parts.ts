/**
 * NAME      flow-parts - what the flow of mail is built from
 */

import type { GiveWay } from '../../base/time/give-way.js'
import type { AttemptEnd } from '../../outcome/reply.js'
import type { Refusal } from '../../outcome/suppress.js'
import type { Queue } from '../../store/port/mail.js'
import type { Surroundings } from '../attempt.js'
import type { Journal } from '../journal.js'
import type { Pools } from '../pools.js'
import type { LogLine, RelaySettings } from '../settings.js'

export type RelayQueue = Pick<
  Queue,
  | 'claim'
  | 'attempting'
  | 'settle'
  | 'release'
  | 'body'
  | 'onDue'
  | 'onLeased'
  | 'ready'
  | 'nextDue'
  | 'duePools'
>

export interface FlowParts {
  readonly queue: RelayQueue
  readonly pools: Pools
  readonly journal: Journal
  /** Hears of live mail. */
  readonly way: GiveWay
  readonly settings: Pick<RelaySettings, 'retry' | 'lifetime' | 'poll' | 'drain'> &
    Partial<Pick<RelaySettings, 'rules' | 'quiet'>>
  readonly around: Omit<Surroundings, 'queue' | 'journal' | 'stopping' | 'stopped'>
  readonly random: () => number
  /** When the wall clock was last set, or the start, on the tick clock. */
  readonly steadySince: () => number
  /** An upstream said that this address is dead. */
  readonly dead: (recipientId: string, refusal: Refusal) => void
  readonly attempted?: ((ends: readonly AttemptEnd[]) => void) | undefined
  /** Mail came for a pool that is not known here: it may be new. */
  readonly unknownPool: () => void
  readonly log: (level: LogLine['level'], fact: string, fields: LogLine['fields']) => void
}
