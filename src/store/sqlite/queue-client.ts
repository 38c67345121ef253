/**
 * NAME      queue-client - the Queue verbs over a line
 * DESCRIPTION
 *   The same in the main thread and in the relay's thread. Writes cross to the
 *   writer; the reads run on a connection of the calling thread, so a large body
 *   never holds up a commit.
 */
import { dirname } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import type { Acceptance, AcceptResult, Queue, RecipientOwner } from '../port.js'
import type { DomainRow } from '../port-domains.js'
import type { KnownPool } from '../port-tenants.js'
import { type Beside, createShelf } from './body/shelf.js'
import { type Db, openReader } from './connect.js'
import { createDomainReads } from './operate/domains.js'
import { createDepthReads } from './read/depth.js'
import { createEmailReads } from './read/emails.js'
import { createMemory } from './read/memory.js'
import { createStatements } from './read/statements.js'
import { createTenantReads } from './read/tenants.js'
import { createLine, type Line } from './thread/line.js'
import { fromClaimedArray, toWire } from './thread/wire.js'

/** The half of Queue that writes. */
export type QueueWrites = Omit<Queue, 'accept' | 'body' | 'nextDue' | 'duePools'> & {
  accept(batch: Acceptance, beside?: Beside): Promise<AcceptResult>
}

export const createQueueWrites = (line: Line): QueueWrites => ({
  accept: (batch, beside) => line.call('accept', toWire(batch, beside)),
  claimKey: (claim) => line.call('claimKey', claim),
  releaseKey: (claim) => line.call('releaseKey', claim),
  claim: async (...args) => (await line.call('claim', ...args)).map(fromClaimedArray),
  attempting: (marks) => line.call('attempting', marks),
  settle: (outcomes) => line.call('settle', outcomes),
  release: (leases, dueAt) => line.call('release', leases, dueAt),
  adjustTimes: (...args) => line.call('adjustTimes', ...args),
  onDue: line.onDue,
  onLeased: line.onLeased,
  ready: line.ready,
})

/** What a thread that got a port from shareSqliteStore can do. */
export interface QueueVerbs extends Queue {
  allPools(): Promise<readonly KnownPool[]>
  allDomains(): Promise<readonly DomainRow[]>
  recipient(recipientId: string): Promise<RecipientOwner | null>
  /** Resolves when the store can no longer keep its promise. */
  readonly broken: Promise<Error>
  /** Waits for calls under way, then lets go of the port. */
  close(): Promise<void>
}

/** Attaches to the writer through a port; call it once, in the thread that owns the port. */
export const connectQueue = (port: MessagePort): QueueVerbs => {
  const line = createLine(port)
  let db: Db | null = null
  const reads = line.file.then((file) => {
    db = openReader(file)
    const sql = createStatements(db)
    return {
      ...createEmailReads(sql),
      ...createDepthReads(sql),
      ...createTenantReads(sql, createMemory(db)),
      ...createDomainReads(sql),
      shelf: createShelf(dirname(file), sql, () => {}),
    }
  })
  return {
    ...createQueueWrites(line),
    body: async (emailId) => (await reads).shelf.body(emailId),
    nextDue: async (poolIds) => (await reads).nextDue(poolIds),
    duePools: async (now) => (await reads).duePools(now),
    allPools: async () => (await reads).allPools(),
    allDomains: async () => (await reads).allDomains(),
    recipient: async (recipientId) => (await reads).recipient(recipientId),
    broken: line.broken,
    async close() {
      await line.idle()
      line.close()
      db?.close()
    },
  }
}
