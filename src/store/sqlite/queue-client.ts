/**
 * NAME      queue-client - the Queue verbs over a line
 * DESCRIPTION
 *   The same in the main thread and in the relay's thread. Writes cross to the
 *   writer; the reads run on a connection of the calling thread, so a large body
 *   never holds up a commit.
 */
import { dirname } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import type { Acceptance, AcceptResult } from '../../lifecycle/facts.js'
import type { RecipientOwner } from '../port/ledger.js'
import type { Queue } from '../port/queue.js'
import type { DomainRow } from '../port/tenants/domains.js'
import type { KnownPool } from '../port/tenants/tenants.js'
import { type Beside, createBodyStore } from './body/body-store.js'
import { type Db, openReader } from './connect.js'
import { createDomainReads } from './operate/domains.js'
import { createDepthReads } from './read/depth.js'
import { createEmailReads } from './read/emails.js'
import { createMemory } from './read/memory.js'
import { createStatements } from './read/statements.js'
import { createTenantReads } from './read/tenants.js'
import { fromClaimedArray, toWire } from './thread/wire.js'
import { createWriterClient, type WriterClient } from './thread/writer-client.js'

/** The half of Queue that writes. */
export type QueueWrites = Omit<Queue, 'accept' | 'body' | 'nextDue' | 'duePools'> & {
  accept(batch: Acceptance, beside?: Beside): Promise<AcceptResult>
}

export const createQueueWrites = (client: WriterClient): QueueWrites => ({
  accept: (batch, beside) => client.call('accept', toWire(batch, beside)),
  claimKey: (claim) => client.call('claimKey', claim),
  releaseKey: (claim) => client.call('releaseKey', claim),
  claim: async (...args) => (await client.call('claim', ...args)).map(fromClaimedArray),
  attempting: (marks) => client.call('attempting', marks),
  settle: (outcomes) => client.call('settle', outcomes),
  release: (leases, dueAt) => client.call('release', leases, dueAt),
  adjustTimes: (...args) => client.call('adjustTimes', ...args),
  onDue: client.onDue,
  onLeased: client.onLeased,
  ready: client.ready,
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
  const client = createWriterClient(port)
  let db: Db | null = null
  const reads = client.file.then((file) => {
    db = openReader(file)
    const sql = createStatements(db)
    return {
      ...createEmailReads(sql),
      ...createDepthReads(sql),
      ...createTenantReads(sql, createMemory(db)),
      ...createDomainReads(sql),
      bodyStore: createBodyStore(dirname(file), sql, () => {}),
    }
  })
  return {
    ...createQueueWrites(client),
    body: async (emailId) => (await reads).bodyStore.body(emailId),
    nextDue: async (poolIds) => (await reads).nextDue(poolIds),
    duePools: async (now) => (await reads).duePools(now),
    allPools: async () => (await reads).allPools(),
    allDomains: async () => (await reads).allDomains(),
    recipient: async (recipientId) => (await reads).recipient(recipientId),
    broken: client.broken,
    async close() {
      await client.idle()
      client.close()
      db?.close()
    },
  }
}
