/**
 * NAME      body - what an endpoint is told of an event
 * DESCRIPTION
 *   The JSON of a post. About a mail it has the fields that Resend's has, under
 *   their names, and ours beside them, so that a receiver needs no second request.
 *   `thin` names the mail and tells nothing of it, for those who do not want
 *   subjects and addresses (they hold codes and names) in the logs of a receiver.
 * NOTES
 *   Posts may come late and out of order. `data.sequence` rises within one mail:
 *   of two events about it the one with the greater number is the later one.
 *   The same event always makes the same text, so a retry and a replay are byte for
 *   byte what was posted first, unless the endpoint was changed meanwhile.
 */
import { toRfc3339 } from '../base/clock.js'
import { type EventType, readEventType } from '../mail/event-type.js'
import { bounce, loggedEvent } from '../record/event.js'
import type { EndpointRow, Subscription } from '../store/port/hooks.js'
import type { LogRow } from '../store/port/log.js'

/** The type of the log behind a name that was asked for; null: every type. */
export const loggedType = (asked: Subscription): EventType | null => readEventType(asked)

/** The name under which an endpoint knows a type: ours, unless it asked for another one alone. */
export const postedType = (type: EventType, asked: readonly Subscription[]): string =>
  asked.includes(type) ? type : (asked.find((name) => readEventType(name) === type) ?? type)

/** As Resend sorts bounces, in the words of SES, and as our log has it. */
const bounceOf = (row: LogRow) => {
  const { provider, provider_types } = bounce(row)
  const { type, sub_type } = provider_types.ses
  return {
    message: row.reply?.text ?? row.reason ?? '',
    type,
    subType: sub_type === 'Undetermined' ? 'General' : sub_type,
    provider,
    provider_types,
  }
}

const aboutMail = (row: LogRow, fields: EndpointRow['fields']): Record<string, unknown> => {
  const { mail } = row
  const record = loggedEvent(row)
  const names = {
    email_id: row.emailId,
    ...(mail !== null && { created_at: toRfc3339(mail.createdAt), message_id: mail.messageId }),
    workspace_id: row.workspaceId,
    mode: row.mode,
    sequence: Number.parseInt(row.mark, 10),
  }
  if (fields === 'thin') return names
  return {
    ...names,
    ...(mail !== null && {
      from: mail.from,
      to: mail.to,
      subject: mail.subject,
      tags: Object.fromEntries(mail.tags.map(({ name, value }) => [name, value])),
    }),
    recipient: row.recipient,
    source: row.source,
    attempt: row.attempt,
    smtp: record.smtp,
    mta: record.mta,
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.type === 'email.bounced' && { bounce: bounceOf(row) }),
  }
}

/** The text that is signed and posted. */
export const bodyOf = (row: LogRow, { fields, events }: Pick<EndpointRow, 'fields' | 'events'>): string =>
  JSON.stringify({
    type: postedType(row.type, events),
    timestamp: toRfc3339(row.occurredAt),
    created_at: toRfc3339(row.createdAt),
    data:
      row.emailId === null
        ? { ...row.data, workspace_id: row.workspaceId, mode: row.mode }
        : aboutMail(row, fields),
  })
