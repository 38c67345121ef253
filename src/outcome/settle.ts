/**
 * NAME      settle - the only way a status changes
 * DESCRIPTION
 *   Whatever was seen about a recipient, a reply, a bounce mail, a lifetime that
 *   ran out, becomes an Outcome here and goes to the store in one verb. The
 *   store folds it by mail/status.ts and writes status and event together, so
 *   nobody can read one without the other. Settling the same outcome twice is
 *   harmless: reports carry a dedupe key, attempts their lease generation.
 *   What servers and reports say may be any text, and may be cut anywhere: it is mended here.
 */

import type { Outcome, Settled } from '../lifecycle/facts.js'
import { wellFormed } from '../mail/encoding.js'
import type { Queue } from '../store/port/mail.js'

const isWellFormed = (value: unknown): boolean => typeof value !== 'string' || wellFormed(value) === value

const mended = (outcome: Outcome): Outcome => {
  const { reply, mta, reason, dedupe, detail } = outcome
  const said = [reply?.text, reply?.enhanced, mta?.host, reason, dedupe]
  if (said.every(isWellFormed) && (detail === null || Object.values(detail).every(isWellFormed)))
    return outcome
  const texts = JSON.stringify({ reply, mta, reason, dedupe, detail }, (_, value) =>
    typeof value === 'string' ? wellFormed(value) : value,
  )
  return { ...outcome, ...(JSON.parse(texts) as Partial<Outcome>) }
}

/** Resolves when all is on disk, with what changed, unless that is `quiet`; unknown recipients are left out. */
export const settle = async (
  queue: Pick<Queue, 'settle'>,
  outcomes: readonly Outcome[],
  quiet = false,
): Promise<readonly Settled[]> => (outcomes.length === 0 ? [] : queue.settle(outcomes.map(mended), quiet))
