/**
 * NAME      event - one event as the public sees it, and its signed mark
 *     The only place that makes the JSON of an event: the timeline of a mail, the list, the stream, the command line
 *     and the body of a webhook all start from it. snake_case, RFC 3339 times; a member that says nothing most of the
 *     time (a reason, a detail) is there only when it does.
 *   NOTES
 *     The log adds what a reader would otherwise ask for: whose it is, and the head of its mail. An event without a
 *     mail has `data` instead, which names its thing. What clients get as the id of an event on the stream and comes
 *     back as `Last-Event-ID`, `after` or `since`: `m1_` and base64url of the store's mark and HMAC-SHA-256 cut to 128
 *     bits. It belongs to an account and to nothing else: no filter, no limit, no endpoint, so every door reads the
 *     marks of every other. What a reader may see his credential says, not his mark.
 *   NOTES
 *     Node's base64 reader forgives stray bits and trailing junk, so a mark counts only when writing it again gives the
 *     same text.
 */
import { toRfc3339 } from '../base/clock.js'
import { keyedHash, sameBytes } from '../base/secret.js'
import type { EventRow } from '../lifecycle/facts.js'
import { domainOf } from '../mail/address.js'
import { providerBehind } from '../mail/mailbox-provider.js'
import { bounceTypesOf } from '../mail/report/category.js'
import type { LogRow } from '../store/port/log.js'

type TimelineRow = Omit<EventRow, 'emailId'> & Pick<LogRow, 'emailId'>

/** Who runs the mailbox that bounced, and what others call this bounce. */
export const bounce = ({
  recipient,
  reply,
  reason,
  detail,
}: Pick<EventRow, 'recipient' | 'reply' | 'reason' | 'detail'>) => ({
  provider:
    recipient === null
      ? null
      : providerBehind({
          domain: domainOf(recipient),
          server: typeof detail?.remote_mta === 'string' ? detail.remote_mta : null,
          text: reply?.text ?? '',
        }),
  provider_types: bounceTypesOf(reason),
})

/** As the timeline of its mail has it. */
export const event = (row: TimelineRow) => ({
  id: row.id,
  object: 'event' as const,
  type: row.type,
  email_id: row.emailId,
  recipient: row.recipient,
  source: row.source,
  occurred_at: toRfc3339(row.occurredAt),
  created_at: toRfc3339(row.createdAt),
  smtp: row.reply,
  mta: row.mta && {
    pool_id: row.mta.poolId,
    host: row.mta.host,
    ...(row.mta.upstreamId !== null && { upstream_id: row.mta.upstreamId }),
  },
  attempt: row.attempt,
  change: row.change,
  applied: row.applied,
  ...(row.reason !== null && { reason: row.reason }),
  ...(row.detail !== null && { detail: row.detail }),
  ...(row.type === 'email.bounced' && { bounce: bounce(row) }),
})

/** As the log has it: the same members, and what saves a second request. */
export const loggedEvent = (row: LogRow) => ({
  ...event(row),
  workspace_id: row.workspaceId,
  mode: row.mode,
  ...(row.mail === null
    ? { data: row.data ?? {} }
    : {
        from: row.mail.from,
        subject: row.mail.subject,
        message_id: row.mail.messageId,
        tags: row.mail.tags,
      }),
})

export type EventRecord = ReturnType<typeof loggedEvent>
export type MailEvent = ReturnType<typeof event>

const PREFIX = 'm1_'
const MAC_LENGTH = 16

export class MarkCodec {
  readonly #key: Uint8Array

  constructor(pepper: Uint8Array) {
    this.#key = keyedHash(pepper, 'event-mark-key')
  }

  #mac(mark: string, accountId: string): Buffer {
    return keyedHash(this.#key, 'mark', mark, accountId).subarray(0, MAC_LENGTH)
  }

  write(mark: string, accountId: string): string {
    return PREFIX + Buffer.concat([Buffer.from(mark), this.#mac(mark, accountId)]).toString('base64url')
  }

  /** What stands in a mark, whoever wrote it: for a client, which can not check it. */
  static placeIn(text: string): string {
    return Buffer.from(text.slice(PREFIX.length), 'base64url').subarray(0, -MAC_LENGTH).toString()
  }

  /** The mark of the store, or null unless this very text was written for this account. */
  read(text: string, accountId: string): string | null {
    const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url')
    if (bytes.length <= MAC_LENGTH || text !== PREFIX + bytes.toString('base64url')) return null
    const mark = bytes.subarray(0, -MAC_LENGTH).toString()
    return sameBytes(bytes.subarray(-MAC_LENGTH), this.#mac(mark, accountId)) ? mark : null
  }
}
