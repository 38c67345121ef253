/**
 * NAME      outcomes - an attempt's end, counted and logged
 * DESCRIPTION
 *   Asks outcome/ what the end means, counts it, and logs one line per attempt:
 *   where it went and what was said there, so that the queue id of an upstream can
 *   be found in the log. The domain of the recipient is named, the address never,
 *   also where the upstream repeats it.
 */

import type { Outcome } from '../lifecycle/facts.js'
import { type AttemptEnd, fromAttempt, type RetryPlan } from '../outcome/reply.js'
import type { PoolRow } from '../store/port/tenants.js'
import type { LogLine, RelayStats } from './settings.js'

type LogFact = (level: LogLine['level'], fact: string, fields: LogLine['fields']) => void

const MOST_TEXT = 300
const ADDRESS = /[^\s<>"'(),:;]+@(?=[\w[])/g
/** Shorter names are also words, or letters inside of them. */
const SHORTEST_NAME = 3

/** What an upstream said, without the mailbox that it speaks of. */
export const withoutAddresses = (text: string, address: string): string => {
  const local = address.slice(0, address.lastIndexOf('@')).toLowerCase()
  let safe = text.replace(ADDRESS, '…@')
  if (local.length >= SHORTEST_NAME) {
    for (
      let at = safe.toLowerCase().indexOf(local);
      at !== -1;
      at = safe.toLowerCase().indexOf(local, at + 1)
    )
      safe = `${safe.slice(0, at)}…${safe.slice(at + local.length)}`
  }
  return safe.slice(0, MOST_TEXT)
}

/** Where an attempt was made, and what came of it. */
const factsOf = (end: AttemptEnd, pool: Pick<PoolRow, 'name'> | undefined): LogLine['fields'] => {
  const { claimed, reply, error, detail } = end
  const text = reply?.text ?? null
  return {
    email: claimed.emailId,
    recipient: claimed.recipientId,
    domain: claimed.address.slice(claimed.address.lastIndexOf('@') + 1),
    attempt: claimed.attempts + 1,
    pool: claimed.poolId,
    pool_name: pool?.name ?? null,
    upstream: end.upstreamId,
    host: end.host,
    port: typeof detail?.port === 'number' ? detail.port : null,
    stage: end.stage,
    ms: typeof detail?.ms === 'number' ? detail.ms : null,
    code: reply?.code ?? null,
    enhanced: reply?.enhanced ?? null,
    reply: text === null ? null : withoutAddresses(text, claimed.address),
    error: error === null ? null : withoutAddresses(error, claimed.address),
  }
}

/** Counts an attempt, logs it where that is wanted, and gives the outcome to write down. */
export const recorded = (
  end: AttemptEnd,
  plan: RetryPlan,
  stats: RelayStats,
  pool: Pick<PoolRow, 'name'> | undefined,
  log: LogFact | null,
): Outcome => {
  const outcome = fromAttempt(end, plan)
  const { seen, retryAt } = outcome
  if (seen === 'accepted' || seen === 'postponed' || seen === 'rejected' || seen === 'expired') stats[seen]++
  if (end.detail?.ambiguous === true) stats.ambiguous++
  if (log !== null) {
    const retry_s = retryAt === null ? null : Math.max(0, Math.round((retryAt - end.at) / 1_000))
    log('info', 'attempted', { ...factsOf(end, pool), seen, retry_s })
  }
  return outcome
}

/**
 * A member failed before the content was sent. What the record keeps of it; logged here unless it is the
 * end of the attempt, which is logged as that.
 */
export const moved = (
  end: AttemptEnd,
  pool: Pick<PoolRow, 'name'> | undefined,
  log: LogFact | null,
): string => {
  const facts = factsOf(end, pool)
  log?.('info', 'attempt moved on', facts)
  const { host, port, stage, code, reply, error, ms } = facts
  const said = reply === null ? error : `${code} ${reply}`
  return `${host}:${port} at ${stage}: ${said} (${ms} ms)`
}
