/**
 * NAME      event - one event as the public sees it
 * DESCRIPTION
 *   The only place that makes the JSON of an event: the timeline of a mail, the
 *   list, the stream, the command line and the body of a webhook all start from it.
 *   snake_case, RFC 3339 times; a member that says nothing most of the time (a
 *   reason, a detail) is there only when it does.
 * NOTES
 *   The log adds what a reader would otherwise ask for: whose it is, and the head of
 *   its mail. An event without a mail has `data` instead, which names its thing.
 */
import { toRfc3339 } from '../base/clock.js'
import type { EventRow } from '../lifecycle/event.js'
import { domainOf } from '../mail/address.js'
import { bounceTypesOf } from '../mail/provider/bounce-type.js'
import { providerBehind } from '../mail/provider/provider.js'
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
