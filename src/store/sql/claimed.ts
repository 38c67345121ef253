/**
 * NAME      claimed - what the relay gets of a recipient: read from rows, or of mail that is being accepted
 *   Every name is said, since one is made for each attempt and a spread costs several times as much.
 */
import type { Claimed, DsnRequest, NewEmail } from '../../lifecycle/facts.js'
import { modeOf } from './mails.js'
import type { Row } from './query.js'

/** Columns of `emails` that it wants. */
export const FOR_RELAY = [
  ...['id', 'test', 'envid', 'ret', 'message_id', 'sender', 'utf8', 'created_at', 'size'],
  ...['mail_from', 'require_tls'],
]

/** The same in a SELECT of emails `e`. */
export const RELAYED = FOR_RELAY.map((column) => `e.${column}`).join(', ')

const dsnOf = (notify: unknown, orcpt: unknown): DsnRequest | null =>
  notify === null && orcpt === null ? null : ({ notify, orcpt } as DsnRequest)

const laterOf = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.max(one, other)

type Elsewhere = Pick<Claimed, 'workspaceId' | 'poolId' | 'address' | 'raw'>

/**
 * `row` has the columns of FOR_RELAY, and of its recipient `recipient_id`, `notify`, `orcpt`, `attempts`, `gen`, `freed_at`
 * and `ambiguous`. `since` is when it began to wait, and when its pool was last resumed.
 */
export const toClaimed = (
  row: Row,
  known: Elsewhere,
  [queuedAt, resumedAt]: readonly [number, number | null],
): Claimed => ({
  recipientId: row.recipient_id as string,
  emailId: row.id as string,
  workspaceId: known.workspaceId,
  poolId: known.poolId,
  mode: modeOf(row.test),
  address: known.address,
  dsn: dsnOf(row.notify, row.orcpt),
  envid: row.envid as string | null,
  ret: row.ret as string | null,
  messageId: row.message_id as string,
  from: row.sender as string,
  needsSmtpUtf8: row.utf8 === 1,
  attempts: row.attempts as number,
  createdAt: row.created_at as number,
  queuedAt,
  freedAt: laterOf(resumedAt, row.freed_at as number | null),
  leaseGen: row.gen as number,
  size: row.size as number,
  ambiguous: row.ambiguous as 'retry' | 'hold',
  nullSender: row.mail_from === '',
  requireTls: row.require_tls === 1,
  raw: known.raw,
})

type Mail = Pick<NewEmail, Exclude<keyof NewEmail & keyof Claimed, 'raw'> | 'id' | 'mailFrom'>
type Recipient = Pick<Claimed, 'poolId' | 'address' | 'dsn'> & { readonly id: string }
type Lease = Pick<Claimed, 'size' | 'raw' | 'queuedAt'> & { readonly ambiguous: 'retry' | 'hold' }

/** Of mail that is leased as it is accepted. */
export const firstClaimed = (mail: Mail, recipient: Recipient, lease: Lease): Claimed => ({
  recipientId: recipient.id,
  emailId: mail.id,
  workspaceId: mail.workspaceId,
  poolId: recipient.poolId,
  mode: mail.mode,
  address: recipient.address,
  dsn: recipient.dsn,
  envid: mail.envid,
  ret: mail.ret,
  messageId: mail.messageId,
  from: mail.from,
  needsSmtpUtf8: mail.needsSmtpUtf8,
  attempts: 0,
  createdAt: mail.createdAt,
  queuedAt: lease.queuedAt,
  freedAt: null,
  leaseGen: 1,
  size: lease.size,
  ambiguous: lease.ambiguous,
  nullSender: mail.mailFrom === '',
  requireTls: mail.requireTls === true,
  raw: lease.raw,
})
