/**
 * NAME      wire - what crosses the threads: mail, flattened, and the calls
 *   Structured clone writes every property name of every object. Mail crosses twice, to the writer and on to the
 *   relay, ten thousand times a second, so it goes as flat arrays; and the bodies of one message share one buffer,
 *   because each buffer costs more than its bytes. Large ones are in files by then.
 */

import type { FaultPoint } from '../../../base/crash.js'
import type { PlainFault } from '../../../base/fault.js'
import type {
  Acceptance,
  AcceptResult,
  Claimed,
  IdempotentAnswer,
  NewEmail,
  NewRecipient,
  SentDsn,
  Settled,
} from '../../../lifecycle/facts.js'
import type { Store, Writes } from '../../port/store.js'
import type { Keep } from '../../port/upkeep.js'
import type { Acting } from '../../rules/audit.js'
import type { CarryWrites } from '../../sql/carry.js'
import { flat } from '../../sql/flat.js'
import { packLists } from '../../sql/mails.js'
import type { Answered } from '../../sql/query.js'
import type { StepVerbs, Swept } from '../../sql/steps.js'
import type { Used } from '../../sql/suppressions.js'
import type { Touch } from '../../sql/tenants.js'

/** One after another, in one array. */
const RECIPIENT = flat<NewRecipient>()(
  [['id', 'address', 'kind', 'suppressed', 'dsn', 'poolId', 'normal']],
  {},
)
export type WireRecipient = ReturnType<typeof RECIPIENT.unpackAt>

export const recipientsIn = (flat: readonly unknown[]): readonly WireRecipient[] => {
  const found: WireRecipient[] = []
  for (let i = 0; i < flat.length; i += RECIPIENT.names.length) found.push(RECIPIENT.unpackAt(flat, i))
  return found
}

export interface WireAcceptance {
  readonly mails: readonly MailArray[]
  readonly idempotency: IdempotentAnswer | null
  readonly dsn: SentDsn | null
  readonly rules: number | null
  readonly now: number
  /** Mails whose bodies are in files already, and come with empty bytes: their sizes by id. */
  readonly beside?: Readonly<Record<string, number>>
}

/** A flatMap takes eighty times as long. */
const recipientsOf = ({ recipients }: NewEmail): readonly unknown[] => {
  const flat: unknown[] = []
  for (const one of recipients) flat.push(...RECIPIENT.pack(one))
  return flat
}

const MAIL = flat<NewEmail>()(
  [
    ['id', 'workspaceId', 'poolId', 'mode', 'source', 'from', 'subject', 'messageId', 'scheduledAt'],
    ['createdAt', 'needsSmtpUtf8', 'envid', 'ret', 'content', 'raw', 'mailFrom', 'requireTls'],
    ['submittedBy', 'extras'],
  ],
  {
    lists: packLists,
    tags: (mail) => mail.tags.flatMap((tag) => [tag.name, tag.value]),
    recipients: (mail) => recipientsOf(mail),
  },
)
type MailArray = ReturnType<typeof MAIL.pack>

export type WireMail = ReturnType<typeof MAIL.unpack>
export const fromMailArray = MAIL.unpack

export const isToOne = ({ recipients }: WireMail): boolean => recipients.length === RECIPIENT.names.length

/** A large text crosses as octets, so that it is made in the writer's thread. */
export const textOf = (content: string | Uint8Array | null): string | null =>
  content instanceof Uint8Array
    ? Buffer.from(content.buffer, content.byteOffset, content.length).toString()
    : content

const NOTHING = new Uint8Array(0)

export const toWire = (batch: Acceptance, beside?: Readonly<Record<string, number>>): WireAcceptance => ({
  mails: batch.mails.map((mail) =>
    MAIL.pack(beside?.[mail.id] === undefined ? mail : { ...mail, raw: NOTHING }),
  ),
  idempotency: batch.idempotency,
  dsn: batch.dsn ?? null,
  rules: batch.rules ?? null,
  now: batch.now,
  ...(beside && { beside }),
})

/**
 * Gives the bodies of all these acceptances one buffer, which is to be handed over
 * with them. A body is copied once in any case: cloning a view would clone
 * everything under it, and small Buffers are views of a pool.
 */
export const packBodies = (acceptances: readonly WireAcceptance[]): ArrayBuffer[] => {
  const mails = acceptances.flatMap((acceptance) => acceptance.mails)
  const rawOf = (mail: MailArray) => mail[MAIL.at.raw] as Uint8Array
  const shared = new Uint8Array(mails.reduce((sum, mail) => sum + rawOf(mail).byteLength, 0))
  let offset = 0
  for (const mail of mails) {
    const raw = rawOf(mail)
    const end = offset + raw.byteLength
    shared.set(raw, offset)
    mail[MAIL.at.raw] = shared.subarray(offset, end)
    offset = end
  }
  return offset === 0 ? [] : [shared.buffer]
}

export const CLAIMED = flat<Claimed>()(
  [
    ['recipientId', 'emailId', 'workspaceId', 'poolId', 'mode', 'address', 'dsn', 'envid', 'ret'],
    ['messageId', 'from', 'needsSmtpUtf8', 'attempts', 'createdAt', 'queuedAt', 'leaseGen', 'size'],
    ['raw', 'ambiguous', 'nullSender', 'requireTls', 'freedAt'],
  ],
  {},
)
export type ClaimedArray = ReturnType<typeof CLAIMED.pack>

// What crosses the threads. Calls go to the writer as [id, verb, arguments], with who acts where somebody does, many
// in one message; their answers come back together, after the commit that they share. Pushes are hints and freshly
// leased mail. A refusal crosses as a plain Fault, any other failure as its message. All of it is structured-clone
// data.

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
export type WriterCall = readonly [
  id: number,
  verb: Verb,
  args: readonly unknown[],
  acting?: Acting | undefined,
]

/** A value, a refusal, or the message of anything else that was thrown. */
export type WriterAnswer =
  | readonly [id: number, kind: 'value', value: unknown]
  | readonly [id: number, kind: 'fault', fault: PlainFault]
  | readonly [id: number, kind: 'error', message: string]

export type Topic = 'due' | 'leased' | 'settled'

export type ToWriter =
  | { readonly kind: 'calls'; readonly calls: readonly WriterCall[] }
  | { readonly kind: 'listen'; readonly topic: Topic; readonly on: boolean }
  | { readonly kind: 'ready'; readonly poolIds: readonly string[] }

export type FromWriter =
  | { readonly kind: 'hello'; readonly file: string }
  | { readonly kind: 'answers'; readonly answers: readonly WriterAnswer[] }
  | { readonly kind: 'due' }
  | { readonly kind: 'leased'; readonly claimed: readonly ClaimedArray[] }
  | { readonly kind: 'settled'; readonly settled: readonly Settled[] }
  | { readonly kind: 'broken'; readonly message: string }

/** Orders from the opener to the thread itself, over its parent port. */
export type Order = { readonly kind: 'connect'; readonly port: MessagePortLike } | { readonly kind: 'close' }
export type WriterNotice =
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
