/**
 * NAME      email - a mail as the wire has it
 * DESCRIPTION
 *   A send answers the accepted record without bodies; a list row leaves out recipients and attachments, too.
 *   Members stand in the order of the contract; one that it does not print (a reason) is there only when it says something.
 */
import { timeOrNull, toRfc3339 } from '../base/clock.js'
import { eventName } from '../mail/status.js'
import type { EmailRecord, EmailRow, LastWords, RecipientRow } from '../store/port/mail.js'
import type { Content } from './content.js'
import type { MailWaiting, ShowWaiting, Waiting } from './waiting.js'

/** Before its time a mail counts as scheduled; a count that most mails never have shows only then. */
const countsOf = ({ scheduled, ...rest }: EmailRow['counts']) =>
  scheduled === 0 ? rest : { scheduled, ...rest }

/** After its id. A spread that comes first makes V8 a hundred times slower with the members after it. */
const heading = (row: EmailRow) => ({
  object: 'email' as const,
  status: row.status,
  last_event: eventName(row.status),
  workspace_id: row.workspaceId,
  mode: row.mode,
  source: row.source,
  from: row.from,
  to: row.to,
  cc: row.cc,
  bcc: row.bcc,
  reply_to: row.replyTo,
  subject: row.subject,
  tags: row.tags,
})

const passage = (row: EmailRow) => ({
  message_id: row.messageId,
  scheduled_at: timeOrNull(row.scheduledAt),
  ...(row.resentFrom != null && { resent_from: row.resentFrom }),
  created_at: toRfc3339(row.createdAt),
  updated_at: toRfc3339(row.updatedAt),
})

export const emailSummary = (row: EmailRow) => ({
  id: row.id,
  ...heading(row),
  ...passage(row),
  counts: countsOf(row.counts),
})

export const listedEmail = (
  row: EmailRow,
  waiting: Waiting | null,
  words: LastWords | undefined,
  show: ShowWaiting,
) => ({
  id: row.id,
  ...heading(row),
  ...passage(row),
  counts: countsOf(row.counts),
  ...(words !== undefined && {
    last_response: words.lastResponse,
    ...(words.reason !== null && { reason: words.reason }),
  }),
  waiting: show(waiting),
})

const recipient = (row: RecipientRow) => ({
  address: row.address,
  kind: row.kind,
  status: row.status,
  attempts: row.attempts,
  last_response: row.lastResponse,
  ...(row.reason !== null && { reason: row.reason }),
  updated_at: toRfc3339(row.updatedAt),
})

export const acceptedRecord = (row: EmailRecord) => ({
  id: row.id,
  ...heading(row),
  attachments: row.attachments,
  ...passage(row),
  recipients: row.recipients.map(recipient),
  counts: countsOf(row.counts),
})

export const emailRecord = (
  row: EmailRecord,
  { html, text, headers, attachments = row.attachments }: Content,
  waiting: MailWaiting,
  show: ShowWaiting,
) => ({
  ...acceptedRecord(row),
  attachments,
  waiting: show(waiting.first),
  recipients: row.recipients.map((one) => ({
    ...recipient(one),
    waiting: show(waiting.recipients.get(one.id) ?? null),
  })),
  html,
  text,
  headers,
})
