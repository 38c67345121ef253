/**
 * NAME      record - a mail that is about to be stored, as a read would show it
 * DESCRIPTION
 *   The answer to a send must be written before the send is stored, because both
 *   are stored together. So the record is worked out here, by the same rules by
 *   which the store sets the first status.
 */
import { aggregate, emptyCounts, type Status } from '../mail/status.js'
import type { EmailRecord, NewEmail, NewRecipient } from '../store/port.js'

const firstStatus = (mail: NewEmail, { suppressed }: NewRecipient): Status =>
  suppressed ? 'bounced' : mail.scheduledAt === null ? 'queued' : 'scheduled'

/** The record of a mail as it is at birth, so that the answer need not be read back. */
export const toRecord = (mail: NewEmail): EmailRecord => {
  const counts = emptyCounts()
  const recipients = mail.recipients.map((recipient) => {
    const status = firstStatus(mail, recipient)
    counts[status]++
    return {
      id: recipient.id,
      address: recipient.address,
      kind: recipient.kind,
      status,
      attempts: 0,
      lastResponse: null,
      reason: recipient.suppressed ? 'suppressed' : null,
      updatedAt: mail.createdAt,
      dueAt: status === 'queued' ? mail.createdAt : status === 'scheduled' ? mail.scheduledAt : null,
    }
  })
  return {
    id: mail.id,
    accountId: mail.accountId,
    workspaceId: mail.workspaceId,
    mode: mail.mode,
    source: mail.source,
    from: mail.from,
    to: mail.to,
    cc: mail.cc,
    bcc: mail.bcc,
    replyTo: mail.replyTo,
    subject: mail.subject,
    tags: mail.tags,
    attachments: mail.attachments,
    messageId: mail.messageId,
    scheduledAt: mail.scheduledAt,
    createdAt: mail.createdAt,
    updatedAt: mail.createdAt,
    status: aggregate(counts),
    counts,
    recipients,
    poolId: mail.poolId,
  }
}
