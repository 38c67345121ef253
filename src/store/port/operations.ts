/**
 * NAME      port/operations - the store's verbs for operators: the queue, and mail that moves to another store
 *   Holding, freeing, hurrying, moving and purging what waits, for a workspace, a pool, a recipient domain, one
 *   email, or any mixture of them. A hold stands until it is lifted: it rests what waits now and what comes
 *   later, and it survives restarts. Every change is an event of source `operator` with the reason that was
 *   given. The verbs work in small steps, so that a queue of any depth holds nobody up; cut off in the middle,
 *   the same order finishes the rest.
 *   Mail that moves from one store to another: A mail is carried whole: its record, all its recipients with
 *   their states, its timeline and its bytes, under the ids that it has. What leaves in one go is a lot: from
 *   the mark on, its mails are not sent from here, until the lot is taken back (due here again) or forgotten
 *   (canceled here, reason `moved`), and a lot can only go one of the two ways. Where it goes, a mail that is
 *   known is passed over, so a file may be imported twice, and by two at once. The one that is known and taken
 *   all the same is a mail that left from here and comes back in another store's lot.
 *   A lot's state is written before its mails follow; whoever is cut off in between gives the same order again.
 */

import type { Scope } from '../../lifecycle/orders.js'
import type { Page, Rows } from '../../lifecycle/page.js'
import type { Status } from '../../mail/status.js'
import { plain, type RowOf } from './row.js'
import type { Routing } from './tenants.js'

export type QueueScope = Scope

export interface HoldRow extends QueueScope {
  readonly id: string
  readonly reason: string
  /** Who put it there: whoever runs this installation, or a key of the workspace itself, which may lift only its own. */
  readonly owner: 'operator' | 'workspace'
  readonly createdAt: number
}

/** What is done to recipients that wait; those whose message is on the wire are left alone. */
export type QueueAction = 'release' | 'retry' | 'reroute' | 'purge'

export interface QueueOrder {
  /** `discard`: its workspace was deleted. */
  readonly action: QueueAction | 'discard'
  readonly scope: QueueScope
  /** Pool id; only with `reroute`. */
  readonly to: string | null
  /** Only with `reroute`, in place of `to`: what waits where `from` had sent it goes where `to` sends it. */
  readonly routing?: { readonly from: Routing; readonly to: Routing }
  /** Only with `release`: this hold alone is lifted, and what it keeps is set free. */
  readonly hold?: string | null
  /** It finishes one that was cut off, and that the audit has already. */
  readonly isTold?: boolean
  /** What is for the sandbox is left alone. */
  readonly liveOnly?: boolean
  readonly reason: string
  readonly now: number
}

export interface QueueCount {
  /** With a due time, now or later. */
  readonly waiting: number
  /** At rest by a hold, or because their fate is unknown (`ambiguous`). */
  readonly held: number
  /** Leased to the relay. */
  readonly underWay: number
}

export interface QueueEntry {
  readonly recipientId: string
  readonly emailId: string
  readonly workspaceId: string
  readonly poolId: string
  readonly address: string
  readonly status: Status
  readonly attempts: number
  readonly dueAt: number | null
  /** The hold that keeps it, AMBIGUOUS, or null. */
  readonly held: string | null
  readonly underWay: boolean
  /** Its message may be on the wire. */
  readonly attempting: boolean
  readonly lastResponse: string | null
}

export const QUEUE_STATES = ['waiting', 'under_way', 'held'] as const
export type QueueState = (typeof QUEUE_STATES)[number]

export interface QueueFilter extends QueueScope {
  /** All when it is left out. */
  readonly state?: QueueState | null
  /** Not what is for the sandbox. */
  readonly liveOnly?: boolean
}

/** By what a look at ages groups what it sees. */
export const QUEUE_GROUPS = ['pool', 'workspace', 'domain'] as const
export type QueueGroup = (typeof QUEUE_GROUPS)[number]

/** How long ago a recipient was accepted: below each of these, and longer than all of them. */
export const AGE_EDGES = [60_000, 600_000, 3_600_000, 86_400_000] as const
export const AGE_NAMES = ['under_1m', 'under_10m', 'under_1h', 'under_1d', 'over_1d'] as const

export interface QueueAge {
  /** Id of the pool or workspace, or the recipient domain. */
  readonly key: string
  readonly recipients: number
  /** One for each of AGE_NAMES. */
  readonly ages: readonly number[]
  /** When the oldest of them was accepted. */
  readonly oldestAt: number
  readonly nextDueAt: number | null
  /** What was said to one of them. */
  readonly lastResponse: string | null
  /** When a connection last failed for one of them, and nothing was said since. */
  readonly refusedAt: number | null
}

export interface QueueAges {
  /** Most first. */
  readonly rows: readonly QueueAge[]
  /** Waits for a time of its own, and is in no row. */
  readonly scheduled: number
  /** The same, by key. */
  readonly scheduledOf: Readonly<Record<string, number>>
  /** False where more waits than was looked at. */
  readonly complete: boolean
}

/** An account, or one workspace of it. */
export type QueueOwner = Pick<QueueScope, 'accountId' | 'workspaceId'>

export interface HeldDepth {
  readonly poolId: string
  readonly workspaceId: string
  /** The hold that keeps them, or whatever else stands in `held` of an entry. */
  readonly heldBy: string
  readonly held: number
}

/** `movable`: without what left with a lot, which no order is about. */
export type CountedScope = QueueScope & Pick<QueueOrder, 'liveOnly'> & { readonly movable?: boolean }

export interface Operations {
  /** From now on nothing of this scope is sent. Resolves with how many recipients it put to rest. */
  hold(hold: HoldRow): Promise<number>
  /** All of them, oldest first. */
  holds(accountId: string): Promise<readonly HoldRow[]>
  /** Newest first; of one workspace, when that is named. */
  listHolds(accountId: string, page: Page, workspaceId?: string | null): Promise<Rows<HoldRow>>
  /**
   * Resolves with the number of recipients changed.
   * release  lifts the holds of exactly this scope and sets free what no other hold keeps, ambiguous mail too
   * retry    due now
   * reroute  to another pool, from the next attempt on; test mail stays in its sandbox
   * purge    bounced, or canceled while scheduled
   * What has left with a lot is none of theirs.
   */
  operate(order: QueueOrder): Promise<number>
  queueCount(scope: CountedScope): Promise<QueueCount>
  /** Soonest first, then what is under way, then what is held; `older` goes on in that order. Rows move while it is read. */
  queueEntries(filter: QueueFilter, page: Page): Promise<Rows<QueueEntry>>
  /** Of what waits or is under way, how old it is; looks at about so many recipients and no more. */
  queueAges(
    of: QueueOwner & Pick<QueueFilter, 'liveOnly'> & { readonly testOnly?: boolean },
    by: QueueGroup,
    most: number,
    now: number,
  ): Promise<QueueAges>
  /** What waits of these mails. */
  entriesOf(emailIds: readonly string[]): Promise<readonly QueueEntry[]>
  heldDepth(of?: QueueOwner): Promise<readonly HeldDepth[]>
}

/** In `held` of a recipient in a file: it is the reader's to send. Here its place has the lot's id. */
export const EXPORTED = 'exported'

/** `reason` of mail that was forgotten here. */
export const MOVED = 'moved'

/** What has left from here: being marked, in its file, and how it ended; or what has come here. */
export type LotState = 'marking' | 'exported' | 'taken_back' | 'forgotten' | 'imported'

export const LOT_ROW = {
  id: plain<string>(),
  accountId: plain<string>(),
  /** Where it was written to, or read from. */
  file: plain<string>(),
  state: plain<LotState>(),
  createdAt: plain<number>(),
}
export interface LotRow extends RowOf<typeof LOT_ROW> {}

/** A row as its table has it; the numbers of this database replaced by names. */
export type CarriedFields = Readonly<Record<string, string | number | null>>

export interface CarriedMail {
  readonly id: string
  /** Slug. */
  readonly workspace: string
  /** Name. */
  readonly pool: string
  readonly email: CarriedFields
  readonly recipients: readonly CarriedFields[]
  readonly events: readonly CarriedFields[]
  readonly content: string | null
  /** Null when the body is gone. */
  readonly raw: Uint8Array | null
}

export interface CarryTarget {
  readonly workspaceId: string
  readonly poolId: string
  /** The lot of the file; null in files of Postern 0.1. */
  readonly lot: string | null
}

/** `known`: a mail with this id is here already, and nothing was changed. */
export type CarryResult = 'accepted' | 'known'

export interface Carry {
  /** One that is known is left as it is. */
  addLot(lot: LotRow): Promise<void>
  /** Newest first, with the number of recipients that are still with it. */
  lots(accountId: string): Promise<readonly (LotRow & { readonly recipients: number })[]>
  lot(accountId: string, id: string): Promise<LotRow | null>
  /** Marks the mails of a scope of which nothing is under way or held; recipients marked. Fault resource.conflict unless `marking`. */
  markLot(id: string, scope: QueueScope, reason: string, now: number): Promise<number>
  /** The file is about to get its name; false when the lot was ended meanwhile. */
  closeLot(id: string): Promise<boolean>
  /** The recipients changed, or the state that forbids it. Only what is in its file can be forgotten. */
  endLot(id: string, as: 'taken_back' | 'forgotten', now: number): Promise<number | LotState>
  /** Ids of the mails of a lot, oldest first; after the id of a recipient. */
  exported(
    lot: string,
    after: string,
  ): Promise<{ readonly ids: readonly string[]; readonly next: string | null }>
  carried(emailId: string): Promise<CarriedMail | null>
  /** Which of these mails are here. */
  knownEmails(ids: readonly string[]): Promise<readonly string[]>
  /** Stores it, due when it was due, in this workspace and this pool. */
  carryIn(mail: CarriedMail, to: CarryTarget, now: number): Promise<CarryResult>
}
