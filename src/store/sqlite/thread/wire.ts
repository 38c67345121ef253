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
  DsnRequest,
  IdempotentAnswer,
  NewEmail,
  SentDsn,
  Settled,
} from '../../../lifecycle/facts.js'
import type { Store, Writes } from '../../port/store.js'
import type { Keep } from '../../port/upkeep.js'
import type { Acting } from '../../rules/audit.js'
import type { CarryWrites } from '../../sql/carry.js'
import { packLists } from '../../sql/mails.js'
import type { Answered } from '../../sql/query.js'
import type { StepVerbs, Swept } from '../../sql/steps.js'
import type { Used } from '../../sql/suppressions.js'
import type { Touch } from '../../sql/tenants.js'

/** id, address, kind, suppressed, notify, orcpt, pool unless the mail's, normal where lists are asked; repeated. */
export const RECIPIENT_FIELDS = 8

const RAW = 17

export interface WireAcceptance {
  readonly mails: readonly MailArray[]
  readonly idempotency: IdempotentAnswer | null
  readonly dsn: SentDsn | null
  readonly rules: number | null
  readonly now: number
  /** Mails whose bodies are in files already, and come with empty bytes: their sizes by id. */
  readonly beside?: Readonly<Record<string, number>>
}

const recipientsOf = (mail: NewEmail): readonly (string | boolean | null)[] => {
  const flat: (string | boolean | null)[] = []
  for (const one of mail.recipients) {
    const { id, address, kind, suppressed, dsn, poolId, normal } = one
    flat.push(id, address, kind, suppressed, dsn?.notify ?? null, dsn?.orcpt ?? null, poolId ?? null)
    flat.push(normal ?? null)
  }
  return flat
}

const toMailArray = (mail: NewEmail) =>
  [
    mail.id,
    mail.workspaceId,
    mail.poolId,
    mail.mode === 'test',
    mail.source,
    mail.from,
    mail.subject,
    mail.messageId,
    mail.scheduledAt,
    mail.createdAt,
    mail.needsSmtpUtf8,
    mail.envid,
    mail.ret,
    mail.content,
    packLists(mail),
    mail.tags.flatMap((tag) => [tag.name, tag.value]),
    recipientsOf(mail),
    mail.raw,
    mail.mailFrom ?? null,
    mail.requireTls ?? false,
    mail.submittedBy ?? null,
  ] as const
type MailArray = ReturnType<typeof toMailArray>

/** A large text crosses as octets, so that it is made in the writer's thread. */
const textOf = (content: string | Uint8Array | null): string | null =>
  content instanceof Uint8Array
    ? Buffer.from(content.buffer, content.byteOffset, content.length).toString()
    : content

export const fromMailArray = (mail: MailArray) => ({
  id: mail[0],
  workspaceId: mail[1],
  poolId: mail[2],
  test: mail[3],
  source: mail[4],
  from: mail[5],
  subject: mail[6],
  messageId: mail[7],
  scheduledAt: mail[8],
  createdAt: mail[9],
  needsSmtpUtf8: mail[10],
  envid: mail[11],
  ret: mail[12],
  content: textOf(mail[13]),
  lists: mail[14],
  tags: mail[15],
  recipients: mail[16],
  raw: mail[RAW],
  mailFrom: mail[18],
  requireTls: mail[19],
  submittedBy: mail[20],
})
export type WireMail = ReturnType<typeof fromMailArray>

const NOTHING = new Uint8Array(0)

export const toWire = (batch: Acceptance, beside?: Readonly<Record<string, number>>): WireAcceptance => ({
  mails: batch.mails.map((mail) =>
    toMailArray(beside?.[mail.id] === undefined ? mail : { ...mail, raw: NOTHING }),
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
  const mails: { [RAW]: Uint8Array }[] = acceptances.flatMap((acceptance) => acceptance.mails)
  const shared = new Uint8Array(mails.reduce((sum, mail) => sum + mail[RAW].byteLength, 0))
  let offset = 0
  for (const mail of mails) {
    const end = offset + mail[RAW].byteLength
    shared.set(mail[RAW], offset)
    mail[RAW] = shared.subarray(offset, end)
    offset = end
  }
  return offset === 0 ? [] : [shared.buffer]
}

/** Claimed in a fixed order. */
export type ClaimedArray = readonly [
  recipientId: string,
  emailId: string,
  workspaceId: string,
  poolId: string,
  test: boolean,
  address: string,
  notify: string | null,
  orcpt: string | null,
  envid: string | null,
  ret: string | null,
  messageId: string,
  from: string,
  needsSmtpUtf8: boolean,
  attempts: number,
  createdAt: number,
  queuedAt: number,
  leaseGen: number,
  size: number,
  raw: Uint8Array | null,
  ambiguous: 'retry' | 'hold',
  nullSender: boolean,
  requireTls: boolean,
  freedAt: number | null,
]

export const RAW_OF_CLAIMED = 18

const dsnOf = (notify: string | null, orcpt: string | null): DsnRequest | null =>
  notify === null && orcpt === null ? null : { notify, orcpt }

export const fromClaimedArray = (one: ClaimedArray): Claimed => ({
  recipientId: one[0],
  emailId: one[1],
  workspaceId: one[2],
  poolId: one[3],
  mode: one[4] ? 'test' : 'live',
  address: one[5],
  dsn: dsnOf(one[6], one[7]),
  envid: one[8],
  ret: one[9],
  messageId: one[10],
  from: one[11],
  needsSmtpUtf8: one[12],
  attempts: one[13],
  createdAt: one[14],
  queuedAt: one[15],
  leaseGen: one[16],
  size: one[17],
  raw: one[RAW_OF_CLAIMED],
  ambiguous: one[19],
  nullSender: one[20],
  requireTls: one[21],
  freedAt: one[22],
})

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
