/**
 * NAME      reply - from what happened on an attempt to an outcome, and the way of every outcome to the store
 *   A complete reply decides by its class: 2xx to the final dot is accepted, 4xx is postponed, 5xx rejected. A
 *   connection that failed or died is postponed: it says nothing about the recipient. What is postponed past the
 *   lifetime is expired, with 4.4.7 (RFC 3463, 3.5), and the last retry is placed on the end of the lifetime, so that a
 *   mail never outlives it by a whole backoff step. A clock that was set wrong must not end a mail: the attempt that
 *   ends it began past the lifetime, the longest retry wait after the start or the last step of the clock, and as many
 *   were made as there are retry waits, or none could be for as long.
 *   A peer that says when ("try again in 300 seconds") is given that time, as a floor. Else retries have full jitter
 *   over a configured list of ceilings, of which the last repeats: a thousand mails deferred in one second must not
 *   come back in one second.
 *   When the connection broke after the final dot it is not known whether the mail was taken; a workspace may have it
 *   held then instead of sent again. What was refused is also classified, for the timeline and for suppression.
 *   `settle` is the only way a status changes: the store folds outcomes by mail/status.ts and writes status and event
 *   together. Settling the same outcome twice is harmless: reports carry a dedupe key, attempts their lease generation.
 *   What servers and reports say may be any text, and may be cut anywhere: it is mended there.
 * NOTES
 *   530, 534, 535 and 538 complain about our login, not about the mail. They are postponed, since a mistyped password
 *   must not bounce a day's mail.
 */
import { type Claimed, type Outcome, observed, type Settled } from '../lifecycle/facts.js'
import { wellFormed } from '../mail/encoding.js'
import type { Reply } from '../mail/reply.js'
import { type CategoryRule, classify, suppresses, type Verdict } from '../mail/report/classify.js'
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

const retryDelayMs = (
  attempt: number,
  ceilingsMs: readonly number[],
  random: () => number = Math.random,
  floorMs = 0,
): number => {
  const ceiling = ceilingsMs[Math.min(attempt, ceilingsMs.length) - 1] ?? 60_000
  return Math.round(Math.max(floorMs, random() * ceiling))
}

export interface RetryPlan {
  /** Ceilings of the backoff, in milliseconds. */
  readonly retry: readonly number[]
  /** How long a mail is tried, in milliseconds. */
  readonly lifetime: number
  readonly random?: () => number
  /** When the wall clock was last set, or the start, on the tick clock. */
  readonly steadySince: () => number
  /** A site's own lines before the table that tells hard from soft. */
  readonly rules?: readonly CategoryRule[]
}

/** One attempt to hand one recipient to one upstream, and how it ended. */
export interface AttemptEnd {
  readonly claimed: Claimed
  readonly at: number
  /** When it began, on the wall and on the tick clock. */
  readonly began: { readonly at: number; readonly tick: number }
  /** Nobody could try: its pool has had no member up for the longest retry wait. */
  readonly untried?: boolean
  readonly upstreamId: string | null
  readonly host: string | null
  /** Where the dialogue stood: connect, greeting, tls, auth, mail, rcpt, data, body, dot. */
  readonly stage: string
  /** The complete reply that ended it, or null when there was none. */
  readonly reply: Reply | null
  /** What went wrong when there was no reply to decide by; one line, safe to show. */
  readonly error: string | null
  readonly detail?: Readonly<Record<string, string | number | boolean | null>>
}

/** Refusals of our login, whoever the mail is for. */
export const OUR_LOGIN: ReadonlySet<number> = new Set([530, 534, 535, 538])
/** A 5xx before MAIL refuses us or our TLS, whoever the mail is for. */
const ABOUT_THE_MAIL = new Set(['mail', 'rcpt', 'data', 'body', 'dot'])
const UNIT_MS: Record<string, number> = { s: 1_000, m: 60_000, h: 3_600_000 }
/** What a reply may ask for at most. */
const LONGEST_ASKED_MS = 4 * 3_600_000

/** The longest that a mail can be told to wait. */
export const longestWaitMs = (retry: readonly number[]): number => Math.max(LONGEST_ASKED_MS, ...retry)

const WAIT =
  /\b(?:(?:try|retry|send|come back|wait)\b[^.;\d]{0,40}?|greylist\w*\s+for\s+|deferred\s+for\s+)(\d{1,6})\s*(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?)\b/i

/** How long the text of a reply asks us to wait, in milliseconds; 0 when it does not say. */
export const askedWaitMs = (text: string): number => {
  const found = WAIT.exec(text)
  if (found === null) return 0
  const unit = UNIT_MS[(found[2] ?? 's').charAt(0).toLowerCase()] ?? 1_000
  return Math.min(Number(found[1]) * unit, LONGEST_ASKED_MS)
}

const verdict = (end: AttemptEnd): 'accepted' | 'rejected' | 'postponed' => {
  const { reply } = end
  if (reply === null) return 'postponed'
  if (reply.code >= 200 && reply.code < 300 && end.stage === 'dot') return 'accepted'
  const aboutTheMail = ABOUT_THE_MAIL.has(end.stage) && !OUR_LOGIN.has(reply.code)
  return reply.code >= 500 && aboutTheMail ? 'rejected' : 'postponed'
}

/** When its time is over: its lifetime after it came, and never before a round of retries since it was set free. */
export const endOfLife = (
  { queuedAt, freedAt = null }: Claimed,
  { lifetime, retry }: Pick<RetryPlan, 'lifetime' | 'retry'>,
): number =>
  Math.max(queuedAt + lifetime, freedAt === null ? 0 : freedAt + Math.min(lifetime, Math.max(...retry)))

/** True when a failure may end the life of a mail that is past its lifetime. */
const mayExpire = ({ began, claimed, untried }: AttemptEnd, plan: RetryPlan): boolean =>
  isSteady(began.tick, plan) && (untried === true || claimed.attempts + 1 >= plan.retry.length)

const isSteady = (tick: number, { steadySince, retry }: RetryPlan): boolean =>
  tick - steadySince() >= Math.max(...retry)

const postponed = (base: Outcome, end: AttemptEnd, plan: RetryPlan): Outcome => {
  const { claimed, at, began, reply } = end
  if (end.detail?.ambiguous === true && claimed.ambiguous === 'hold') return { ...base, retryAt: null }
  const over = endOfLife(claimed, plan)
  const text = reply === null ? (end.error ?? 'no reply') : `${reply.code} ${reply.text}`
  const isOver = began.at >= over
  if (isOver && mayExpire(end, plan))
    return {
      ...base,
      seen: 'expired',
      reply: { code: reply?.code ?? 451, enhanced: '4.4.7', text: `Delivery time expired; last: ${text}` },
      reason: 'lifetime',
    }
  // past its lifetime only attempts are missing, and they need not be far apart
  const step = isOver && isSteady(began.tick, plan) ? 1 : claimed.attempts + 1
  const random = plan.random ?? Math.random
  const wait = retryDelayMs(step, plan.retry, random, askedWaitMs(reply?.text ?? ''))
  return { ...base, retryAt: isOver ? at + wait : Math.min(at + wait, over) }
}

/** Why, as far as the upstream said it about this mail. */
const whyOf = (end: AttemptEnd, rules: readonly CategoryRule[] | undefined): Verdict | null =>
  end.reply === null || !ABOUT_THE_MAIL.has(end.stage) ? null : classify(end.reply, rules)

const detailOf = (end: AttemptEnd, why: Verdict | null): NonNullable<Outcome['detail']> => {
  const detail: Record<string, string | number | boolean | null> = { stage: end.stage }
  if (end.error !== null) detail.error = end.error
  if (why !== null) {
    detail.class = why.class
    detail.fault = why.fault
  }
  return Object.assign(detail, end.detail)
}

export const fromAttempt = (end: AttemptEnd, plan: RetryPlan): Outcome => {
  const { claimed } = end
  const seen = verdict(end)
  const why = seen === 'accepted' ? null : whyOf(end, plan.rules)
  const unsaid = end.detail?.ambiguous === true ? 'ambiguous' : 'connection'
  const base = observed({
    recipientId: claimed.recipientId,
    seen,
    at: end.at,
    source: 'smtp',
    leaseGen: claimed.leaseGen,
    attempt: claimed.attempts + 1,
    reply: end.reply,
    mta: { poolId: claimed.poolId, upstreamId: end.upstreamId, host: end.host },
    reason: seen === 'accepted' ? null : (why?.category ?? unsaid),
    detail: detailOf(end, why),
  })
  return seen === 'postponed' ? postponed(base, end, plan) : base
}

/** Codes that speak of the recipient even where they end a whole message (RFC 3463, 3.2). */
const OF_RECIPIENT = /^5\.1\.(?:1|2|3|6|10)$/

/**
 * True when the upstream has said that this address itself is dead: at RCPT, or later with a code that
 * can mean nothing else. What is refused at MAIL, or at the dot in words, may be our account or the content.
 */
export const isDead = ({ seen, detail, reply }: Outcome): boolean =>
  seen === 'rejected' &&
  (detail?.stage === 'rcpt' ||
    ((detail?.stage === 'data' || detail?.stage === 'dot') && OF_RECIPIENT.test(reply?.enhanced ?? ''))) &&
  suppresses({
    action: 'failed',
    class: detail?.class === 'hard' ? 'hard' : 'soft',
    fault: detail?.fault === 'recipient' ? 'recipient' : null,
  })
