/**
 * NAME      own-mail - a mail that we write ourselves, as the store takes it
 * DESCRIPTION
 *   No key or credential submits it, so it is of nobody's rate and no suppression is looked up when it is made.
 */
import { newRecipientId } from '../../base/id.js'
import type { NewEmail, NewRecipient } from '../../lifecycle/facts.js'
import { isAscii } from '../../mail/address.js'
import type { Routing, WorkspaceRow } from '../../store/port/tenants.js'
import { routed } from '../route.js'

interface OwnMail extends Pick<NewEmail, 'id' | 'messageId' | 'from' | 'subject' | 'raw'> {
  readonly workspace: Pick<WorkspaceRow, 'id' | 'accountId'>
  readonly routing: Routing
  readonly recipients: readonly Pick<NewRecipient, 'address' | 'kind' | 'dsn'>[]
  readonly tag: NewEmail['tags'][number]
  readonly now: number
}

export const ownMail = ({ workspace, routing, recipients, tag, now, ...mail }: OwnMail): NewEmail => ({
  ...mail,
  accountId: workspace.accountId,
  workspaceId: workspace.id,
  mode: 'live',
  source: 'system',
  to: recipients.map(({ address }) => address),
  cc: [],
  bcc: [],
  replyTo: [],
  tags: [tag],
  attachments: [],
  scheduledAt: null,
  createdAt: now,
  ...routed(
    routing,
    recipients.map((one) => ({ ...one, id: newRecipientId(now), suppressed: false })),
  ),
  needsSmtpUtf8: !recipients.every(({ address }) => isAscii(address)),
  content: null,
  envid: null,
  ret: null,
})
