/**
 * NAME      rewound - a database that its operator brought back to an earlier time
 * DESCRIPTION
 *   Nobody else may write meanwhile. The daemons of then are taken for dead as always, once they have not moved for half
 *   a minute; one that moves is alive. When it is cut off, the same again finds less to do.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../../base/clock.js'
import type { Actor } from '../../port/identity.js'
import { type Restored, StoreBusyError } from '../../port/upkeep.js'
import { type Asking, all } from '../../sql/query.js'
import { rewinding, skipPosts } from '../../sql/rewound.js'
import { HEARTBEAT_MS } from '../heartbeat.js'
import { createHints } from '../hints.js'
import { MAIL } from '../mails.js'
import { createQueueWrites } from '../orders.js'
import type { Pooling } from '../servers.js'
import { begin, type Session } from '../session.js'

const OTHERS = 'SELECT boot, heartbeat, owner FROM writers WHERE boot IS NOT NULL AND boot <> ?'

/** Until all others are taken over. */
const untilAlone = async ({ writer, readers }: Session): Promise<void> => {
  const known = new Map<unknown, unknown>()
  for (;;) {
    const others = await readers.read(() => all(OTHERS, writer.boot))
    if (others.length === 0) return
    for (const { boot, heartbeat, owner } of others) {
      if (known.has(boot) && known.get(boot) !== heartbeat)
        throw new StoreBusyError(`a daemon (${String(owner)}) runs on this database: stop all of them first`)
      known.set(boot, heartbeat)
    }
    await sleep(HEARTBEAT_MS)
  }
}

// biome-ignore lint/correctness/useYield: it is not called
const NOTHING_SETTLED = function* (): Asking<readonly []> {
  return []
}

interface Rewinding {
  readonly urls: string
  readonly pooler: Pooling | undefined
  readonly version: string
  readonly actor: Actor
}

export const rewindPostgres = async ({ actor, ...options }: Rewinding): Promise<Restored> => {
  const session = await begin({ ...options, owner: null, role: 'command' }, createHints(), true, () => {})
  try {
    await untilAlone(session)
    const { writer, queue } = session
    const now = systemClock.now()
    await queue.recover('earlier', now)
    const { hold } = createQueueWrites(writer, NOTHING_SETTLED)
    const { holdSome, end } = rewinding({ places: writer.places, waiting: MAIL.waiting, hold })
    let held = 0
    for (let some = -1; some !== 0; held += some) some = await writer.write(() => holdSome(now))
    await writer.write(() => skipPosts(now))
    return await writer.write(() => end({ actor, copy: null, held }, now))
  } finally {
    await session.close()
  }
}
