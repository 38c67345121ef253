/**
 * NAME      event - one entry of a mail's timeline, and the report that it came of
 */
import type { Reply } from '../mail/reply.js'

export interface Tag {
  readonly name: string
  readonly value: string
}

/** Stores keep their numbers: new ones go to the end. */
export const EVENT_SOURCES = ['api', 'smtp', 'dsn', 'arf', 'operator', 'system'] as const
export type EventSource = (typeof EVENT_SOURCES)[number]

export interface MtaRef {
  readonly poolId: string
  readonly upstreamId: string | null
  readonly host: string | null
}

export interface EventRow {
  readonly id: string
  /** An EventType of a mail; of what was not applied the one that it would have been. */
  readonly type: string
  readonly emailId: string
  readonly recipientId: string | null
  readonly recipient: string | null
  readonly source: EventSource
  readonly occurredAt: number
  readonly createdAt: number
  readonly reply: Reply | null
  readonly mta: MtaRef | null
  readonly attempt: number | null
  /** It changed what is told of the recipient; else it only notes something. */
  readonly change: boolean
  readonly applied: boolean
  readonly reason: string | null
  readonly detail: Readonly<Record<string, string | number | boolean | null>> | null
}

/** The store neither reads nor packs it. */
export interface KeptReport {
  /** The same report of a mail is kept once. */
  readonly name: string
  readonly octets: Uint8Array
}

/** How many reports of one mail are kept: whoever was written to may send as many as he likes. */
export const MAX_REPORTS = 100
