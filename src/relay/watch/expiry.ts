/**
 * NAME      expiry - mails that come to the end of their time while nothing can be sent
 * DESCRIPTION
 *   A pool with no upstream that is up is claimed from only here: what is past
 *   its lifetime ends, the rest goes back at once.
 */
import type { AttemptEnd } from '../../outcome/reply.js'
import type { Claimed, Queue } from '../../store/port.js'

export interface ExpiryParts {
  readonly queue: Pick<Queue, 'claim'>
  readonly now: () => number
  readonly lifetime: number
  readonly lease: number
  readonly giveBack: (claimed: Claimed) => void
  readonly conclude: (end: AttemptEnd) => void
}

const AT_ONCE = 100

/** Resolves with true when there may be more. */
export const expireSome = async (parts: ExpiryParts, poolId: string): Promise<boolean> => {
  const { queue, lifetime, lease, giveBack, conclude } = parts
  const at = parts.now()
  const claimed = await queue.claim(poolId, AT_ONCE, at + lease, at)
  let dead = 0
  for (const one of claimed) {
    if (at < one.queuedAt + lifetime) {
      giveBack(one)
      continue
    }
    dead++
    const nobody = {
      upstreamId: null,
      host: null,
      stage: 'connect',
      reply: null,
      error: 'no upstream was up',
    }
    conclude({ claimed: one, at, ...nobody })
  }
  return dead > 0 && dead === claimed.length
}
