/**
 * NAME      watched-queue - the model's queue, for tests of the relay alone
 * DESCRIPTION
 *   Mail gets in as a test writes it, under way or due; what relay does to it decides
 *   the law. Keeps what it was told, in order, and fails on demand.
 */

import { firstCounts, firstState } from '../../src/lifecycle/accept.js'
import type { AttemptMark, Claimed, LeaseRef, Outcome } from '../../src/lifecycle/facts.js'
import type { Status } from '../../src/mail/status.js'
import type { RelayQueue } from '../../src/relay/flow.js'
import { beginningOf } from '../../src/store/pools.js'
import { createMemory, openMemoryStore } from '../model/open.js'
import { eventually } from '../parts/eventually.js'
import { mailFor, toOne } from '../store/fixture.js'

const ACCOUNT = 'acct_test'
/** One that is larger is not in what a claim answers. */
const LARGE = 65 * 1024

export class WatchedQueue implements RelayQueue {
  readonly #state = createMemory()
  readonly #store = openMemoryStore(this.#state)
  readonly #boot = this.#state.boots
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
  readonly opened = this.#store.open()

  /** All are due in the same moment, as recipients that were accepted together: a claim under way takes all or none. */
  add(...claimed: readonly Claimed[]): void {
    const dueAt = Date.now()
    for (const one of claimed) this.put(one, dueAt)
    for (const wake of this.#wake) wake()
  }

  /** As freshly accepted mail: leased already. */
  hand(...claimed: readonly Claimed[]): void {
    for (const one of claimed) this.put(one, null)
    this.#take?.(claimed)
  }

  /** Nobody is told. `dueAt`: null when it is leased. */
  put(claimed: Claimed, dueAt: number | null): void {
    const { recipientId: id, emailId, workspaceId, poolId, address, dsn, attempts, leaseGen } = claimed
    const { workspaces, mails, recipients } = this.#state
    const { ambiguous = 'retry', nullSender, requireTls, queuedAt, freedAt = null, createdAt } = claimed
    const workspace = { ...beginningOf(ACCOUNT, createdAt).workspace, id: workspaceId, ambiguous }
    workspaces.put(workspaceId, workspace)
    const { mode, messageId, from, envid, ret, needsSmtpUtf8 } = claimed
    const to = [toOne(address, { id, dsn })]
    const { recipients: _, ...mail } = mailFor(
      { accountId: ACCOUNT, workspace, poolId },
      {
        ...{ id: emailId, recipients: to, mode, messageId, from, envid, ret, needsSmtpUtf8, createdAt },
        ...{ mailFrom: nullSender ? '' : null, requireTls: requireTls === true, content: null },
        raw: claimed.raw ?? Buffer.from(`Subject: stored\r\n\r\nbody of ${emailId}\r\n`),
      },
    )
    recipients.put(id, {
      ...{ id, emailId, workspaceId, poolId, address, kind: 'to', dsn, queuedAt, updatedAt: createdAt },
      ...firstState('queued', dueAt ?? 0, dueAt === null ? this.#boot : null),
      ...{ attempts, leaseGen, leaseUntil: dueAt === null ? Number.MAX_SAFE_INTEGER : null },
      ...{ attemptUpstream: null, attemptAt: null, heldAt: freedAt, heldDue: null },
    })
    const all = recipients.where((row) => row.emailId === emailId).map(() => ({ suppressed: false }))
    const size = claimed.raw === null ? LARGE : claimed.size
    const counts = firstCounts(all, null)
    mails.put(emailId, { ...mail, content: null, counts, status: 'queued', updatedAt: createdAt, size })
  }

  drop(recipientId: string): void {
    this.#state.recipients.delete(recipientId)
  }

  status(recipientId: string): Status | undefined {
    return this.#state.recipients.get(recipientId)?.status
  }

  /** Resolves when the condition holds. */
  async until(holds: () => boolean): Promise<void> {
    await eventually(String(holds), holds, { every: 2 })
  }

  /** Resolves when that many outcomes were settled. */
  settled(count: number): Promise<void> {
    return this.until(() => this.outcomes.length >= count)
  }

  async #working() {
    if (this.failing) throw new Error('disk full')
    await this.opened
    return this.#store
  }

  async claim(...args: Parameters<RelayQueue['claim']>): Promise<readonly Claimed[]> {
    const store = await this.#working()
    this.claims++
    return store.claim(...args)
  }

  async attempting(marks: readonly AttemptMark[]): Promise<readonly boolean[]> {
    const store = await this.#working()
    this.marks.push(...marks)
    for (const { recipientId } of marks) this.log.push(`mark ${recipientId}`)
    const isRefused = ({ recipientId }: AttemptMark) => this.refuseMarks || recipientId === this.refuse
    const begun = await store.attempting(marks.filter((mark) => !isRefused(mark)))
    const answers = begun.values()
    return marks.map((mark) => !isRefused(mark) && answers.next().value === true)
  }

  async settle(outcomes: readonly Outcome[]) {
    const settled = await (await this.#working()).settle(outcomes)
    const known = outcomes.filter(({ recipientId }) => this.status(recipientId) !== undefined)
    for (const { recipientId } of known) this.log.push(`settle ${recipientId}`)
    this.outcomes.push(...known)
    return settled
  }

  async release(leases: readonly LeaseRef[], dueAt: number): Promise<void> {
    await (await this.#working()).release(leases, dueAt)
    this.releases += leases.filter(({ recipientId }) => this.status(recipientId) !== undefined).length
  }

  onDue(wake: () => void): () => void {
    this.#wake.push(wake)
    const quiet = this.#store.onDue(wake)
    return () => {
      quiet()
      this.#wake = this.#wake.filter((one) => one !== wake)
    }
  }

  onLeased(take: (claimed: readonly Claimed[]) => void): () => void {
    this.#take = take
    return () => {
      this.#take = null
    }
  }

  ready = this.#store.ready
  body = this.#store.body
  duePools = this.#store.duePools
  nextDue = this.#store.nextDue
}
