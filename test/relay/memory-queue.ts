/**
 * NAME      memory-queue - the queue verbs that relay uses, in memory
 * DESCRIPTION
 *   For tests of the worker-side parts alone; the store's own contract is tested
 *   in test/store. Keeps what it was told, in order.
 */

import type { AttemptMark, Claimed, Outcome, Settled } from '../../src/lifecycle/facts.js'
import { nextStatus, type Status } from '../../src/mail/status.js'
import type { RelayQueue } from '../../src/relay/turns/flow-parts.js'
import { eventually } from '../parts/eventually.js'

interface Row {
  claimed: Claimed
  dueAt: number | null
  leased: boolean
  status: Status
}

export class MemoryQueue implements RelayQueue {
  readonly rows = new Map<string, Row>()
  readonly marks: AttemptMark[] = []
  readonly outcomes: Outcome[] = []
  readonly log: string[] = []
  /** Refuses marks, as for a lease that was lost. */
  refuseMarks = false
  /** Refuses those of one recipient. */
  refuse: string | null = null
  /** Everything rejects, as on a full disk. */
  failing = false
  claims = 0
  releases = 0
  #wake: (() => void)[] = []
  #take: ((claimed: readonly Claimed[]) => void) | null = null
  #watchers: (() => void)[] = []

  add(...claimed: readonly Claimed[]): void {
    for (const one of claimed) {
      this.rows.set(one.recipientId, { claimed: one, dueAt: Date.now(), leased: false, status: 'queued' })
    }
    for (const wake of this.#wake) wake()
  }

  /** As freshly accepted mail: leased already. */
  hand(...claimed: readonly Claimed[]): void {
    for (const one of claimed) {
      this.rows.set(one.recipientId, { claimed: one, dueAt: null, leased: true, status: 'queued' })
    }
    this.#take?.(claimed)
  }

  status(recipientId: string): Status | undefined {
    return this.rows.get(recipientId)?.status
  }

  /** Resolves when the condition holds; it is looked at after each change. */
  async until(holds: () => boolean): Promise<void> {
    await eventually(String(holds), holds, { every: 2 })
  }

  /** Resolves when that many outcomes were settled. */
  settled(count: number): Promise<void> {
    return this.until(() => this.outcomes.length >= count)
  }

  #changed(): void {
    for (const watcher of this.#watchers.splice(0)) watcher()
  }

  #guard(): void {
    if (this.failing) throw new Error('disk full')
  }

  async claim(poolId: string, limit: number): Promise<readonly Claimed[]> {
    this.#guard()
    this.claims++
    const now = Date.now()
    const due = [...this.rows.values()].filter(
      (row) => row.claimed.poolId === poolId && !row.leased && row.dueAt !== null && row.dueAt <= now,
    )
    return due.slice(0, limit).map((row) => {
      row.leased = true
      row.claimed = { ...row.claimed, leaseGen: row.claimed.leaseGen + 1 }
      return row.claimed
    })
  }

  async attempting(marks: readonly AttemptMark[]): Promise<readonly boolean[]> {
    this.#guard()
    this.marks.push(...marks)
    for (const mark of marks) this.log.push(`mark ${mark.recipientId}`)
    this.#changed()
    return marks.map(({ recipientId }) => !this.refuseMarks && recipientId !== this.refuse)
  }

  async settle(outcomes: readonly Outcome[]): Promise<readonly Settled[]> {
    this.#guard()
    for (const outcome of outcomes) {
      const row = this.rows.get(outcome.recipientId)
      if (row === undefined) continue
      row.status = nextStatus(row.status, outcome.seen) ?? row.status
      row.leased = false
      row.dueAt = outcome.retryAt
      row.claimed = { ...row.claimed, attempts: outcome.attempt ?? row.claimed.attempts }
      this.log.push(`settle ${outcome.recipientId}`)
      this.outcomes.push(outcome)
    }
    this.#changed()
    return []
  }

  async release(leases: readonly { recipientId: string }[], dueAt: number): Promise<void> {
    this.#guard()
    for (const { recipientId } of leases) {
      const row = this.rows.get(recipientId)
      if (row === undefined) continue
      this.releases++
      row.leased = false
      row.dueAt = dueAt
    }
    this.#changed()
  }

  async body(emailId: string): Promise<Uint8Array | null> {
    const row = [...this.rows.values()].find(({ claimed }) => claimed.emailId === emailId)
    return row?.claimed.raw ?? Buffer.from(`Subject: stored\r\n\r\nbody of ${emailId}\r\n`)
  }

  onDue(wake: () => void): () => void {
    this.#wake.push(wake)
    return () => {
      this.#wake = this.#wake.filter((one) => one !== wake)
    }
  }

  onLeased(take: (claimed: readonly Claimed[]) => void): () => void {
    this.#take = take
    return () => {
      this.#take = null
    }
  }

  ready(): void {}

  async duePools(now: number): Promise<readonly string[]> {
    const due = [...this.rows.values()].filter(
      ({ leased, dueAt }) => !leased && dueAt !== null && dueAt <= now,
    )
    return [...new Set(due.map(({ claimed }) => claimed.poolId))]
  }

  async nextDue(poolIds?: readonly string[]): Promise<number | null> {
    const times = [...this.rows.values()].flatMap(({ dueAt, leased, claimed }) =>
      leased || dueAt === null || poolIds?.includes(claimed.poolId) === false ? [] : [dueAt],
    )
    return times.length === 0 ? null : Math.min(...times)
  }
}
