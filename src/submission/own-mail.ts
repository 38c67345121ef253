/**
 * NAME      own-mail - mails that we write ourselves: invitations and links
 * DESCRIPTION
 *   No key or credential submits it, so it is of nobody's rate and no suppression is looked up when it is
 *   made.
 *     Through the pool of a workspace, from its default sender, tagged `invitation` with the id of the link; not counted as
 *     a send. The link is in the octets of this mail and nowhere else: its content is not kept beside them, whoever reads
 *     mail is shown neither its source nor a report about it (`isInvitation`), and an upstream is asked to return no body.
 *   NOTES
 *     Who runs the upstreams can read what goes through them, and members may change these. So the link of an owner is not
 *     mailed: whoever mails one could be making an owner of somebody else.
 */

import type { Clock } from '../base/clock.js'
import { Fault, type FieldError, invalid } from '../base/fault.js'
import { newId, newRecipientId } from '../base/id.js'
import type { Config } from '../config/config.js'
import type { NewEmail, NewRecipient } from '../lifecycle/facts.js'
import { isAscii, parseAddress } from '../mail/address.js'
import { composeMessage } from '../mail/compose.js'
import type { LinkRow } from '../store/port/identity.js'
import type { Queue } from '../store/port/mail.js'
import type { KnownPool, Routing, Tenants, WorkspaceRow } from '../store/port/tenants.js'
import type { createLink } from '../tenant/people.js'
import { routed } from './route.js'

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

export const defaultWorkspace = async (
  store: Pick<Tenants, 'workspaces'>,
  accountId: string,
): Promise<WorkspaceRow | null> => {
  const page = { limit: 100, direction: 'newer', anchor: null, countUpTo: 0 } as const
  return (await store.workspaces(accountId, page)).rows.find(({ isDefault }) => isDefault) ?? null
}

const TAG = 'invitation'

/** Whether a mail has a link in it that lets somebody in. */
const isInvitation = ({
  source,
  tags,
}: {
  readonly source: string
  readonly tags: readonly { readonly name: string }[]
}): boolean => source === 'system' && tags.some(({ name }) => name === TAG)

/** Throws resource.conflict for such a mail. */
export const demandReadable = (record: Parameters<typeof isInvitation>[0]): void => {
  if (!isInvitation(record)) return
  const detail = 'it has the link of an invitation in it, which is for its recipient alone'
  throw new Fault('resource.conflict', { reason: 'invitation', detail })
}

interface InvitationMailParts {
  readonly store: Pick<Queue, 'accept'> & Pick<Tenants, 'workspace' | 'pool'>
  readonly config: Pick<Config, 'hostname' | 'default_from'>
  readonly clock: Clock
  readonly baseUrl: string
}

interface Wish {
  readonly accountId: string
  /** Whose pool and sender, by id or slug. */
  readonly workspace: string
  readonly email: string | null | undefined
  readonly role: string
  /** Makes the link, once all else is well. */
  readonly make: () => ReturnType<typeof createLink>
  readonly urlOf: (row: LinkRow, token: string) => string
  /** Takes back what was made, where its mail could not be stored. */
  readonly unmake: (row: LinkRow) => Promise<unknown>
}

const hasUpstream = async (
  { store }: InvitationMailParts,
  { accountId, poolId }: WorkspaceRow,
): Promise<boolean> => {
  const own = await store.pool(accountId, poolId)
  const used: KnownPool | null = own?.follows == null ? own : await store.pool(accountId, own.follows)
  return used !== null && used.upstreams.length > 0
}

const wrong = (field: string, kind: FieldError['kind'], message: string): FieldError => ({
  field: `body.${field}`,
  kind,
  message,
})

/** The workspace, and the sender that it has; throws what keeps the mail from leaving. */
const senderOf = async (parts: InvitationMailParts, { accountId, email, role, ...wish }: Wish) => {
  const errors: FieldError[] = []
  if (email == null) errors.push(wrong('email', 'missing', 'is needed where the link is mailed'))
  if (role === 'owner')
    errors.push(
      wrong('role', 'forbidden', 'the link of an owner is not mailed: hand it on by a way that you trust'),
    )
  const workspace = await parts.store.workspace(accountId, wish.workspace)
  if (workspace === null) throw new Fault('workspace.not_found')
  if (workspace.suspendedAt !== null) throw new Fault('workspace.suspended')
  const from = workspace.defaultFrom ?? parts.config.default_from
  const sender = from === null ? null : parseAddress(from)
  if (sender === null)
    errors.push(wrong('workspace_id', 'forbidden', 'has no default sender: set one, or default_from'))
  if (!(await hasUpstream(parts, workspace)))
    errors.push(wrong('workspace_id', 'forbidden', 'its pool has no upstream, so the mail would not leave'))
  if (errors.length > 0 || sender === null || from === null) throw invalid(errors)
  return { workspace, sender, from }
}

const textOf = (row: LinkRow, url: string, baseUrl: string): string =>
  [
    `You are invited to the pages of Postern at ${baseUrl}, as ${row.role}.`,
    '',
    'Open this link, and press the button there. It lets one person in, once,',
    `until ${new Date(row.expiresAt).toISOString().slice(0, 16).replace('T', ' ')} UTC:`,
    '',
    url,
    '',
    'Whoever holds the link may use it: do not hand it on. If you did not expect',
    'this, do nothing, and nobody gets in.',
    '',
  ].join('\n')

/** Makes the link and mails it: both, or neither. */
export const mailInvitation = async (
  parts: InvitationMailParts,
  wish: Wish,
): Promise<{ readonly row: LinkRow; readonly email: NewEmail }> => {
  const { store, config, clock, baseUrl } = parts
  const { workspace, sender, from } = await senderOf(parts, wish)
  const { row, token } = await wish.make()
  try {
    const now = clock.now()
    const id = newId('em', now)
    const messageId = `<${id}@${config.hostname}>`
    const subject = `You are invited to Postern at ${new URL(baseUrl).host}`
    const address = row.email ?? ''
    const raw = await composeMessage({
      ...{ messageId, date: now, from: sender, to: [{ address, name: null }], cc: [], replyTo: [], subject },
      ...{ attachments: [], html: null, text: textOf(row, wish.urlOf(row, token), baseUrl) },
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
    const own = ownMail({
      ...{ id, messageId, workspace, now, routing: workspace, from, subject, raw },
      recipients: [{ address, kind: 'to', dsn: null }],
      tag: { name: TAG, value: row.id },
    })
    const email = { ...own, ret: 'HDRS' }
    await store.accept({ mails: [email], idempotency: null, now })
    return { row, email }
  } catch (error) {
    await wish.unmake(row)
    throw error
  }
}
