/**
 * NAME      port/store - what every store can do, in whole verbs
 * DESCRIPTION
 *   The one contract between the stages and a database. Each verb is complete
 *   and durable by itself: when its promise resolves, its effect is on disk, and
 *   when it rejects, nothing happened. There is no begin and no commit, because a
 *   verb can cross a thread and share an fsync. Its law is test/store/contract.ts.
 * NOTES
 *   Text that is stored is well-formed Unicode without U+0000, and what is looked up by it has at most 254 octets or so
 *   (a Message-ID 600 characters, or it is not found by): some databases keep no other. Whoever takes text from outside
 *   refuses the rest, or mends it (mail/encoding.ts, wellFormed). What a read looks for may be any text.
 *   Times are epoch milliseconds. Row types are plain data (structured clone).
 *   A rejection that is no Fault (comments name those) is a broken store; the daemon stops acknowledging.
 */

import type { Carry } from './carry.js'
import type { Cluster } from './cluster/cluster.js'
import type { ReturnPathRing } from './cluster/return-path.js'
import type { Hooks } from './hooks.js'
import type { Jobs } from './jobs.js'
import type { EmailSearch, Ledger } from './ledger.js'
import type { EventLog } from './log.js'
import type { Operations } from './operations.js'
import type { Queue, Schedule } from './queue.js'
import type { Reading } from './reading.js'
import type { SenderDsns } from './sender-dsns.js'
import type { Statistics } from './statistics.js'
import type { Actor, Audit } from './tenants/audit.js'
import type { Domains } from './tenants/domains.js'
import type { Identity } from './tenants/identity.js'
import type { Incidents } from './tenants/incident.js'
import type { Tenants } from './tenants/tenants.js'
import type { Lifecycle, Upkeep } from './upkeep.js'
import type { Watch } from './watch/watch.js'

/** A part of the store, and the same part as somebody. */
export type Acted<Part> = Part & {
  /** What it changes is written down as this one's, in the same commit; with an `entry` (an `aud_` id), all of it as one order. */
  by(actor: Actor, entry?: string | null): Acted<Part>
}

type Verbs = Queue &
  Ledger &
  EventLog &
  Schedule &
  Tenants &
  Incidents &
  Identity &
  Audit &
  Domains &
  Operations &
  Carry &
  SenderDsns &
  Reading &
  Statistics &
  EmailSearch &
  Jobs &
  Hooks &
  Watch &
  Cluster &
  ReturnPathRing &
  Upkeep &
  Lifecycle

export type Store = Acted<Verbs>
