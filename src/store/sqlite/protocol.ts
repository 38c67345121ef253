/**
 * NAME      protocol - what crosses the threads
 * DESCRIPTION
 *   Calls go to the writer as [id, verb, arguments], with who acts where somebody
 *   does, many in one message; their
 *   answers come back together, after the commit that they share. Pushes are
 *   hints and freshly leased mail. A refusal crosses as a plain Fault, any other
 *   failure as its message. All of it is structured-clone data.
 */
import type { FaultPoint } from '../../base/crash.js'
import type { PlainFault } from '../../base/fault.js'
import type { AcceptResult, Settled } from '../../lifecycle/facts.js'
import type { Store, Writes } from '../port/store.js'
import type { Keep } from '../port/upkeep.js'
import type { Acting } from '../rules/audit.js'
import type { CarryWrites } from '../sql/carry.js'
import type { Answered } from '../sql/query.js'
import type { StepVerbs, Swept } from '../sql/steps.js'
import type { Used } from '../sql/suppressions.js'
import type { Touch } from '../sql/tenants.js'
import type { ClaimedArray, WireAcceptance } from './thread/wire.js'

/** Verbs of the port in the form in which they cross, and parts of those that take several commits. */
interface Inner {
  accept(batch: WireAcceptance): AcceptResult
  claim(poolId: string, limit: number, leaseUntil: number, now: number): readonly ClaimedArray[]
  touchAll(touched: readonly Touch[]): void
  /** Adds what the daemon has already granted from memory. */
  addUsed(used: readonly Used[]): void
  sweepStep(now: number, keep: Keep): Swept
  /** Gives some of the room that nothing uses back to the system; whether there is more. */
  shrinkStep(): boolean
  durability(): readonly string[]
}

type InnerVerbs = Inner & Answered<CarryWrites> & StepVerbs

export type WriterVerbs = Omit<Writes<Store>, keyof InnerVerbs> & InnerVerbs
export type Verb = keyof WriterVerbs

/** `acting` where somebody does it. */
export type Call = readonly [id: number, verb: Verb, args: readonly unknown[], acting?: Acting | undefined]

/** A value, a refusal, or the message of anything else that was thrown. */
export type Answer =
  | readonly [id: number, kind: 'value', value: unknown]
  | readonly [id: number, kind: 'fault', fault: PlainFault]
  | readonly [id: number, kind: 'error', message: string]

export type Topic = 'due' | 'leased' | 'settled'

export type ToWriter =
  | { readonly kind: 'calls'; readonly calls: readonly Call[] }
  | { readonly kind: 'listen'; readonly topic: Topic; readonly on: boolean }
  | { readonly kind: 'ready'; readonly poolIds: readonly string[] }

export type FromWriter =
  | { readonly kind: 'hello'; readonly file: string }
  | { readonly kind: 'answers'; readonly answers: readonly Answer[] }
  | { readonly kind: 'due' }
  | { readonly kind: 'leased'; readonly claimed: readonly ClaimedArray[] }
  | { readonly kind: 'settled'; readonly settled: readonly Settled[] }
  | { readonly kind: 'broken'; readonly message: string }

/** Orders from the opener to the thread itself, over its parent port. */
export type Order = { readonly kind: 'connect'; readonly port: MessagePortLike } | { readonly kind: 'close' }
export type Notice =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'failed'
      readonly message: string
      readonly newer: boolean
      readonly code: string | null
    }
  /** The store broke: why, before the thread ends. */
  | { readonly kind: 'broken'; readonly message: string }

/** Ports are transferred inside orders; only the ends know their class. */
type MessagePortLike = object

export interface WriterSettings {
  readonly file: string
  /** Only the daemon's writer gives out hot leases. */
  readonly daemon: boolean
  readonly faultPoint: FaultPoint | null
  /** See load-counts.ts. */
  readonly loadCounts: SharedArrayBuffer
  /** Where it tells the rules that stand; see thread/changes.ts. */
  readonly rules: SharedArrayBuffer
  /** Of this Postern; it goes into the database with each migration. */
  readonly version: string
}
