/**
 * NAME      breaker - how much an upstream may be trusted with now
 * DESCRIPTION
 *   Closed, open, half-open, and a ramp. A new or returning upstream starts with few
 *   connections and gains one with each message it takes, so a host that
 *   accepts connections and then stalls can hold only a handful of mails. After
 *   a few failures in a row it is open: nothing is sent until a probe (a
 *   connection without a message) succeeds; then one message at a time until one
 *   has gone through. The pauses between probes double up to a ceiling.
 *   While other connections to the same upstream work, a failed one only stops the ramp for
 *   a while: that is a host saying "enough", not a dead one.
 */
export type BreakerState = 'closed' | 'open' | 'half-open'

const FAILURES_TO_OPEN = 3
const FIRST_LIMIT = 4
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
const PLATEAU_MS = 5_000

export class Breaker {
  state: BreakerState = 'closed'
  #limit = FIRST_LIMIT
  #failures = 0
  #pauses = 0
  #probeAt = 0
  #plateauUntil = 0
  readonly #random: () => number

  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  /** How many connections it may have at once, of the `max` configured. */
  limit(max: number): number {
    if (this.state === 'open') return 0
    return this.state === 'half-open' ? Math.min(1, max) : Math.min(this.#limit, max)
  }

  /** True when an open breaker is due for a probe. */
  wantsProbe(now: number): boolean {
    return this.state === 'open' && now >= this.#probeAt
  }

  /** Somebody says that it works again: it is probed at once, and if that fails, soon after. */
  wake(): void {
    this.#probeAt = 0
    this.#pauses = 0
  }

  /** A probe found it answering. */
  probed(): void {
    if (this.state === 'open') this.state = 'half-open'
  }

  /** It dealt with a message, in whatever sense. */
  succeeded(now: number): void {
    if (this.state === 'half-open') this.#limit = FIRST_LIMIT
    this.state = 'closed'
    this.#failures = 0
    this.#pauses = 0
    if (now >= this.#plateauUntil) this.#limit++
  }

  /** It failed as a host: no connection, no greeting, no TLS, a lost connection. `others` of its connections still work. */
  failed(now: number, others: number): void {
    if (others > 0 && this.state === 'closed') {
      this.#limit = Math.max(1, others)
      this.#plateauUntil = now + PLATEAU_MS
      return
    }
    // attempts that were under way when it opened are no news
    if (this.state === 'open') return
    if (this.state === 'closed' && ++this.#failures < FAILURES_TO_OPEN) return
    this.#open(now)
  }

  /** A probe found it still dead. */
  probeFailed(now: number): void {
    if (this.state === 'open') this.#open(now)
  }

  #open(now: number): void {
    this.state = 'open'
    const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(this.#pauses++, 10), LONGEST_PAUSE_MS)
    this.#probeAt = now + pause * (0.75 + this.#random() / 2)
  }
}
