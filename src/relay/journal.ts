/**
 * NAME      journal - what the relay writes down, many at once: attempts, and their ends
 *   Marks (before MAIL), outcomes and released leases of all connections go to the store in rounds: while one round is
 *   being committed, the next one gathers. A lone mail waits for no other, many share an fsync, and there is no timer.
 *   Within a round outcomes go before marks, so a connection never has two messages whose fate is unwritten.
 *   outcome/ says what an attempt's end means; it is counted, and logged in one line: where it went and what was said
 *   there, so that the queue id of an upstream can be found in the log. The domain of the recipient is named, the
 *   address never, also where the upstream repeats it.
 *   A pool that has had no upstream up for the longest retry wait is claimed from only here: what is past its lifetime
 *   ends, the rest goes back at once. Not so in a paused pool: time stands still there. Nothing ends for as long after
 *   the start or a step of the wall clock, whatever it says.
 * NOTES
 *   When the store can not write (a full disk) outcomes are kept and written later, and every mark is refused meanwhile:
 *   no message is sent whose end could not be told.
 *   What waits here when the wall clock is set moves with it, as it does in the store.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { AttemptMark, Claimed, LeaseRef, Outcome } from '../lifecycle/facts.js'
import { type AttemptEnd, endOfLife, fromAttempt, type RetryPlan, settle } from '../outcome/reply.js'
import type { Queue } from '../store/port/mail.js'
import type { PoolRow } from '../store/port/tenants.js'
import type { RelayLogLine, RelayStats } from './settings.js'

export type JournalQueue = Pick<Queue, 'attempting' | 'settle' | 'release'>

interface Mark {
  readonly mark: AttemptMark
  done(mine: boolean): void
}

interface Ended {
  readonly outcome: Outcome
  /** By how much the clock had been set when it came. */
  readonly set: number
}

interface Release {
  readonly lease: LeaseRef
  readonly dueAt: number
  readonly set: number
}

const RETRY_MS = 1_000

/** As `map`, whose array, once it runs hot, has room for holes, and crosses to another thread key by key. */
const packed = <T, U>(all: readonly T[], to: (one: T) => U): U[] => {
  const made: U[] = []
  for (const one of all) made.push(to(one))
  return made
}

export class Journal {
  readonly #queue: JournalQueue
  readonly #onTrouble: (error: Error) => void
  #outcomes: Ended[] = []
  #marks: Mark[] = []
  #releases: Release[] = []
  #round: Promise<void> | null = null
  #giveUp = false
  /** By how much the clock was set since the start. */
  #set = 0

  constructor(queue: JournalQueue, onTrouble: (error: Error) => void) {
    this.#queue = queue
    this.#onTrouble = onTrouble
  }

  /** Outcomes and releases not yet on disk. */
  get pending(): number {
    return this.#outcomes.length + this.#releases.length
  }

  /** Resolves with false when the message must not be sent. */
  mark(mark: AttemptMark): Promise<boolean> {
    return new Promise((done) => {
      this.#marks.push({ mark, done })
      this.#start()
    })
  }

  settle(outcome: Outcome): void {
    this.#outcomes.push({ outcome, set: this.#set })
    this.#start()
  }

  /** A pace has fractions of a millisecond, and what is stored has none. */
  release(lease: LeaseRef, dueAt: number): void {
    this.#releases.push({ lease, dueAt: Math.ceil(dueAt), set: this.#set })
    this.#start()
  }

  /** The wall clock was set by so much. */
  stepped(by: number): void {
    this.#set += by
  }

  #now({ outcome, set }: Ended): Outcome {
    const by = this.#set - set
    if (by === 0) return outcome
    const { at, retryAt } = outcome
    return { ...outcome, at: at + by, retryAt: retryAt === null ? null : retryAt + by }
  }

  /** Resolves when all is written; gives up at the first failure, because a restart will tell the rest. */
  async flush(): Promise<void> {
    this.#giveUp = true
    while (this.#round !== null) await this.#round
  }

  #start(): void {
    this.#round ??= this.#rounds()
  }

  async #rounds(): Promise<void> {
    // what comes in within the same turn of the loop shares the first round
    await new Promise<void>((resolve) => setImmediate(resolve))
    while (this.#outcomes.length + this.#marks.length + this.#releases.length > 0) {
      const failed = await this.#write()
      if (failed === null) continue
      this.#onTrouble(failed)
      if (this.#giveUp) break
      await pause(RETRY_MS)
    }
    // in the same turn in which nothing was left, or what comes next would find no round to join
    this.#round = null
  }

  async #write(): Promise<Error | null> {
    const outcomes = this.#outcomes
    const marks = this.#marks
    const releases = this.#releases
    this.#outcomes = []
    this.#marks = []
    this.#releases = []
    let failed: Error | null = null
    const failing =
      (again: () => void) =>
      (error: Error): void => {
        failed = error
        again()
      }
    const settled = settle(
      this.#queue,
      packed(outcomes, (one) => this.#now(one)),
      true,
    ).then(
      () => true,
      (error: Error) => {
        failing(() => this.#outcomes.unshift(...outcomes))(error)
        return false
      },
    )
    await Promise.all([
      settled,
      this.#attempting(marks, settled).catch(failing(() => {})),
      this.#release(releases).catch(failing(() => this.#releases.unshift(...releases))),
    ])
    return failed
  }

  /** `settled`: whether the outcomes before them are written; else nobody goes. */
  async #attempting(marks: readonly Mark[], settled: Promise<boolean>): Promise<void> {
    if (marks.length === 0) return
    let mine: readonly boolean[] = []
    try {
      const asked = this.#queue.attempting(packed(marks, ({ mark }) => mark))
      const [isSettled, answers] = await Promise.all([settled, asked])
      if (isSettled) mine = answers
    } finally {
      for (const [i, { done }] of marks.entries()) done(mine[i] === true)
    }
  }

  async #release(releases: readonly Release[]): Promise<void> {
    const byTime = new Map<number, LeaseRef[]>()
    for (const { lease, set, ...release } of releases) {
      const dueAt = release.dueAt + this.#set - set
      const list = byTime.get(dueAt)
      if (list === undefined) byTime.set(dueAt, [lease])
      else list.push(lease)
    }
    await Promise.all([...byTime].map(([dueAt, leases]) => this.#queue.release(leases, dueAt)))
  }
}

type LogFact = (level: RelayLogLine['level'], fact: string, fields: RelayLogLine['fields']) => void

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
const factsOf = (end: AttemptEnd, pool: Pick<PoolRow, 'name'> | undefined): RelayLogLine['fields'] => {
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

/** The upstream has the mail, or may have it. */
export const isTaken = ({ stage, reply }: AttemptEnd): boolean =>
  stage === 'dot' && (reply === null || reply.code < 300)

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

interface ExpiryParts {
  readonly queue: Pick<Queue, 'claim'>
  readonly plan: Pick<RetryPlan, 'retry' | 'lifetime' | 'steadySince'>
  readonly now: () => number
  readonly tick: () => number
  readonly giveBack: (claimed: Claimed) => void
  readonly conclude: (end: AttemptEnd) => void
  readonly stopping: () => boolean
}

interface Standing {
  readonly row: { readonly id: string }
  readonly isUp: boolean
  readonly isPaused: boolean
  readonly endsElsewhere: boolean
  readonly isResting: boolean
}

const AT_ONCE = 100
const LEASE_MS = 3_600_000
const NOBODY = { untried: true, upstreamId: null, host: null, stage: 'connect', reply: null }
const DOWN = 'no upstream was up'
const RESTING = 'the upstreams had been given what their warm-up allows'

export class Expiry {
  readonly #parts: ExpiryParts
  /** Since when a pool is down, on the tick clock. */
  readonly #down = new Map<string, number>()

  constructor(parts: ExpiryParts) {
    this.#parts = parts
  }

  /** To be called often: a pool that was up in between begins anew. */
  look(pools: Iterable<Standing>): void {
    const tick = this.#parts.tick()
    for (const { row, isUp, isPaused, endsElsewhere } of pools) {
      if (isUp || isPaused || endsElsewhere) this.#down.delete(row.id)
      else if (!this.#down.has(row.id)) this.#down.set(row.id, tick)
    }
  }

  async run(pools: readonly Standing[]): Promise<void> {
    this.look(pools)
    const { plan, tick, stopping } = this.#parts
    const before = tick() - Math.max(...plan.retry)
    if (plan.steadySince() > before) return
    for (const { row, isUp, isResting } of pools) {
      const since = this.#down.get(row.id) ?? Number.POSITIVE_INFINITY
      if (isUp || since > before) continue
      while (!stopping() && (await this.#some(row.id, isResting ? RESTING : DOWN))) {}
    }
  }

  /** Resolves with true when there may be more. */
  async #some(poolId: string, error: string): Promise<boolean> {
    const { queue, plan, giveBack, conclude } = this.#parts
    const at = this.#parts.now()
    const began = { at, tick: this.#parts.tick() }
    const claimed = await queue.claim(poolId, AT_ONCE, at + LEASE_MS, at)
    let dead = 0
    for (const one of claimed) {
      if (at < endOfLife(one, plan)) {
        giveBack(one)
        continue
      }
      dead++
      conclude({ claimed: one, at, began, ...NOBODY, error })
    }
    return dead > 0 && dead === claimed.length
  }
}
