/**
 * NAME      match - which events an endpoint is told
 * DESCRIPTION
 *   Changes only, of its workspace (or account) and mode, of the types that it asked
 *   for. A filter by domain or tag looks at mails; an event without a mail passes it.
 *   What happens to an endpoint itself is told to the others and to its owners, never
 *   to itself: a failing one would fail at the news of it for ever.
 */
import { domainOf, parseAddress } from '../mail/address.js'
import type { EventType } from '../mail/event-type.js'
import type { EndpointRow } from '../store/port/hooks.js'
import type { LogFilter, LogRow } from '../store/port/log.js'
import { loggedType } from './body.js'

/** null: all. */
const typesOf = ({ events }: Pick<EndpointRow, 'events'>): readonly EventType[] | null => {
  const types = events.map(loggedType)
  return types.includes(null) ? null : [...new Set(types.filter((type) => type !== null))]
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
