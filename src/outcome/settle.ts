/**
 * NAME      settle - the only way a status changes
 * DESCRIPTION
 *   Whatever was seen about a recipient, a reply, a bounce mail, a lifetime that
 *   ran out, becomes an Outcome here and goes to the store in one verb. The
 *   store folds it by mail/status.ts and writes status and event together, so
 *   nobody can read one without the other. Settling the same outcome twice is
 *   harmless: reports carry a dedupe key, attempts their lease generation.
 */

import type { Outcome, Settled } from '../lifecycle/facts.js'
import type { Queue } from '../store/port/queue.js'

/** Resolves when all is on disk, with what changed, unless that is `quiet`; unknown recipients are left out. */
export const settle = async (
  queue: Pick<Queue, 'settle'>,
  outcomes: readonly Outcome[],
  quiet = false,
): Promise<readonly Settled[]> => (outcomes.length === 0 ? [] : queue.settle(outcomes, quiet))
