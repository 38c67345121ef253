/**
 * NAME      body - which events an endpoint gets, and what each says
 *     The JSON of a post. About a mail it has the fields that Resend's has, under their names, and ours beside them, so
 *     that a receiver needs no second request.
 *     `thin` names the mail and tells nothing of it, for those who do not want subjects and addresses (they hold codes
 *     and names) in the logs of a receiver.
 *   NOTES
 *     Posts may come late and out of order. `data.sequence` rises within one mail:
 *     of two events about it the one with the greater number is the later one.
 *     The same event always makes the same text, so a retry and a replay are byte for byte what was posted first,
 *     unless the endpoint was changed meanwhile; a format may add a signature to it at each try.
 *   Changes only, of its workspace (or account) and mode, of the types that it asked for. A filter by domain or tag
 *   looks at mails; an event without a mail passes it. What happens to an endpoint itself is told to the others and to
 *   its owners, never to itself: a failing one would fail at the news of it for ever.
 */
import { toRfc3339 } from '../base/clock.js'
import { domainOf, parseAddress } from '../mail/address.js'
import { type EventType, readEventType } from '../mail/event-type.js'
import { bounce, loggedEvent } from '../record/event.js'
import type { EndpointRow, Subscription } from '../store/port/hooks.js'
import type { LogFilter, LogRow } from '../store/port/log.js'
import { FORMATS, typesIn } from './formats.js'

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

/** The text that is posted, but for what a format adds at each try. */
export const bodyOf = (
  row: LogRow,
  { fields, events, format: name }: Pick<EndpointRow, 'fields' | 'events' | 'format'>,
): string => {
  const format = FORMATS[name]
  if (format?.body !== undefined) return JSON.stringify(format.body(row))
  return JSON.stringify({
    type: format?.counterparts[row.type] ?? postedType(row.type, events),
    timestamp: toRfc3339(row.occurredAt),
    created_at: toRfc3339(row.createdAt),
    data:
      row.emailId === null
        ? { ...row.data, workspace_id: row.workspaceId, mode: row.mode }
        : aboutMail(row, fields),
  })
}

/** null: all. */
const typesOf = ({ events, format }: Pick<EndpointRow, 'events' | 'format'>): readonly EventType[] | null => {
  const types = events.map(loggedType)
  const possible = typesIn(format)
  if (types.includes(null)) return possible
  const asked = [...new Set(types.filter((type) => type !== null))]
  return possible === null ? asked : asked.filter((type) => possible.includes(type))
}

/** What of the log can be of interest; `wants` is the last word. */
export const filterOf = (endpoint: EndpointRow): LogFilter => ({
  accountId: endpoint.accountId,
  workspaceId: endpoint.workspaceId,
  accountWide: endpoint.workspaceId === null,
  mode: endpoint.mode,
  types: typesOf(endpoint),
  emailId: null,
  recipient: null,
  change: true,
  createdAfter: null,
  createdBefore: null,
})

const isOwn = ({ type, data }: LogRow, id: string): boolean =>
  type.startsWith('webhook.') && data?.webhook_id === id

const isOfDomain = ({ mail }: LogRow, domains: readonly string[]): boolean => {
  if (domains.length === 0 || mail === null) return true
  const address = parseAddress(mail.from)?.address
  return address !== undefined && domains.includes(domainOf(address).toLowerCase())
}

const isTagged = ({ mail }: LogRow, tags: EndpointRow['tags']): boolean =>
  tags.length === 0 ||
  mail === null ||
  tags.some(({ name, value }) =>
    mail.tags.some((tag) => tag.name === name && (value === null || tag.value === value)),
  )

/** Made once for an endpoint, asked for every event. */
export const createWants = (endpoint: EndpointRow): ((row: LogRow) => boolean) => {
  const { id, accountId, workspaceId, mode, domains, tags } = endpoint
  const types = typesOf(endpoint)
  const known = types === null ? null : new Set<string>(types)
  return (row) =>
    row.change &&
    row.accountId === accountId &&
    row.mode === mode &&
    (workspaceId === null || row.workspaceId === workspaceId) &&
    (known === null || known.has(row.type)) &&
    !isOwn(row, id) &&
    isOfDomain(row, domains) &&
    isTagged(row, tags)
}
