/**
 * NAME      counters - what is counted, by number
 *   The numbers are stored: a name keeps its number for ever, and new ones go to the end of their part. Recipients are
 *   counted, not mails.
 *   Volumes stand in the span in which a thing happened. What is in `ofAccepted` stands in the span in which the mail
 *   was accepted, however much later it happened, so that a rate has the same recipients above and below its line.
 */
import { CATEGORIES, type Category } from '../mail/report/category.js'

export const FACTS = [
  'accepted',
  'sent',
  'delivered',
  /** Put off for the first time by an upstream, or reported as delayed. */
  'deferred',
  /** Those of the deferred that were asked to come again by greylisting. */
  'greylisted',
  'bounced_hard',
  'bounced_soft',
  'complained',
  /** Not sent, since the address is on a list. */
  'suppressed',
  'canceled',
  /** Taken out of the queue by an operator. */
  'dropped',
] as const
export type Fact = (typeof FACTS)[number]

/** In this order; `unknown` is the last for ever. Others go before BOUNCES ends. */
const BOUNCES: readonly Category[] = [
  'unknown_user',
  'unknown_domain',
  'moved',
  'disabled',
  'suspended',
  'mailbox_full',
  'recipient_rejected',
  'authentication',
  'reputation',
  'rate_limited',
  'relay_denied',
  'sender_rejected',
  'policy',
  'spam',
  'virus',
  'too_big',
  'content',
  'expired',
  'network',
  'loop',
  'system',
  'protocol',
  'security',
  'unknown',
]

const OF_ACCEPTED = 20
const CATEGORY = 40
const SENT_AFTER = 100
const DELIVERED_AFTER = 150

export const volume = (fact: Fact): number => FACTS.indexOf(fact)
export const ofAccepted = (fact: Fact): number => OF_ACCEPTED + FACTS.indexOf(fact)

const isCategory = (text: unknown): text is Category =>
  typeof text === 'string' && Object.hasOwn(CATEGORIES, text)

/** A volume, as the bounces that it is part of. */
export const bouncedAs = (category: unknown): number =>
  CATEGORY + BOUNCES.indexOf(isCategory(category) ? category : 'unknown')

/** Seconds: the bounds of what took so long, the last one open. */
const BOUNDS: readonly number[] = [
  0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5, 7.5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600, 900,
  1_800, 3_600, 7_200, 14_400, 28_800, 86_400, 172_800, 432_000,
]

/** Of accepted mail: how long it took. */
const took = (base: number, ms: number): number => {
  const at = BOUNDS.findIndex((bound) => ms <= bound * 1000)
  return base + (at < 0 ? BOUNDS.length : at)
}
export const sentAfter = (ms: number): number => took(SENT_AFTER, ms)
export const deliveredAfter = (ms: number): number => took(DELIVERED_AFTER, ms)

export type Sums = ReadonlyMap<number, number>

export const sumOf = (rows: Iterable<{ readonly counts: readonly number[] }>): Map<number, number> => {
  const sums = new Map<number, number>()
  for (const { counts } of rows)
    for (let i = 0; i < counts.length; i += 2)
      sums.set(counts[i] as number, (sums.get(counts[i] as number) ?? 0) + (counts[i + 1] as number))
  return sums
}

export const factsOf = (sums: Sums, numberOf: (fact: Fact) => number): Readonly<Record<Fact, number>> =>
  Object.fromEntries(FACTS.map((fact) => [fact, sums.get(numberOf(fact)) ?? 0])) as Record<Fact, number>

export const categoriesOf = (sums: Sums): Readonly<Partial<Record<Category, number>>> =>
  Object.fromEntries(
    BOUNCES.flatMap((category, i) => {
      const n = sums.get(CATEGORY + i) ?? 0
      return n === 0 ? [] : [[category, n]]
    }),
  )

interface Times {
  readonly count: number
  /** Seconds, put between the bounds of the histogram; null without a count. */
  readonly p50: number | null
  readonly p95: number | null
  readonly p99: number | null
}

const percentile = (bins: readonly number[], count: number, share: number): number | null => {
  if (count === 0) return null
  let below = 0
  const wanted = share * count
  for (const [i, n] of bins.entries()) {
    if (n > 0 && below + n >= wanted) {
      const from = i === 0 ? 0 : (BOUNDS[i - 1] as number)
      const to = BOUNDS[i] ?? from
      return Math.round((from + ((to - from) * (wanted - below)) / n) * 1000) / 1000
    }
    below += n
  }
  return null
}

const timesOf = (sums: Sums, base: number): Times => {
  const bins = Array.from({ length: BOUNDS.length + 1 }, (_, i) => sums.get(base + i) ?? 0)
  const count = bins.reduce((all, n) => all + n, 0)
  const of = (share: number): number | null => percentile(bins, count, share)
  return { count, p50: of(0.5), p95: of(0.95), p99: of(0.99) }
}

export const timesToSent = (sums: Sums): Times => timesOf(sums, SENT_AFTER)
export const timesToDelivered = (sums: Sums): Times => timesOf(sums, DELIVERED_AFTER)
