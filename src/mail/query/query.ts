/**
 * NAME      query - what somebody looks for among mails, as a value
 */
import type { Status } from '../status.js'

/** `text` has no name: words of the subject, an address or its start, a domain, a Message-ID. */
const FIELDS = [
  'text',
  'to',
  'from',
  'subject',
  'tag',
  'status',
  'reason',
  'domain',
  'pool',
  'key',
  'message-id',
  'id',
  'is',
  'has',
] as const
export type Field = (typeof FIELDS)[number]

export interface Term {
  readonly field: Field
  readonly value: string
  readonly negated: boolean
  /** Its last word may go on: it was written last, without quotes. */
  readonly open: boolean
}

export const termText = ({ field, value }: Term): string => `${field}:${value}`

export interface Query {
  /** All of them hold. */
  readonly terms: readonly Term[]
  /** Of each of these at least one holds, too. Orders that were stored before there was OR have none. */
  readonly either?: readonly (readonly Term[])[]
  /** Created at this time or later, epoch milliseconds. */
  readonly from: number | null
  /** Created before this time. */
  readonly before: number | null
}

/** What must hold, each a choice of terms. */
export const clausesOf = ({ terms, either = [] }: Query): readonly (readonly Term[])[] => [
  ...terms.map((term) => [term]),
  ...either,
]

export const termsIn = (query: Query): readonly Term[] => clausesOf(query).flat()

/** What of a mail a query asks about. */
export interface Sought {
  readonly id: string
  readonly subject: string
  /** As in the header, with or without a name. */
  readonly from: string
  readonly messageId: string
  readonly tags: readonly { readonly name: string; readonly value: string }[]
  readonly mode: 'live' | 'test'
  readonly status: Status
  readonly poolId: string
  readonly poolName: string
  readonly isResent: boolean
  /** Whether the key or credential that submitted it is called so. */
  readonly isOfKey: (named: string) => boolean
  readonly hasAttachment: boolean
  /** A recipient has reported it as abuse. */
  readonly isComplained: boolean
  readonly recipients: readonly {
    /** In lower case, the domain in A-labels. */
    readonly address: string
    readonly reason: string | null
    readonly isHeld: boolean
    readonly isDeferred: boolean
  }[]
}

const OF_RECIPIENTS: readonly Field[] = ['text', 'to', 'domain', 'reason', 'is']

/** False where it can be judged without knowing the recipients. */
export const needsRecipients = (query: Query): boolean =>
  termsIn(query).some(({ field }) => OF_RECIPIENTS.includes(field))

/** False where it can be judged without knowing who complained. */
export const needsComplaints = (query: Query): boolean =>
  termsIn(query).some(({ field, value }) => field === 'is' && value === 'complained')
