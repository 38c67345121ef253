/**
 * NAME      filter - which mails a list shows, as its URL says it
 * DESCRIPTION
 *   All of it stands in the URL, so that every view is a link. A list opens on the last 7 days; where a span begins is
 *   rounded, and goes along with a cursor, since a cursor is only good for the very filter that it came from.
 */
import type { Query } from '../../ask.js'
import type { Visit } from '../../visit.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** Words, length, and what its beginning is rounded to. */
export const SPANS = {
  '1h': { words: 'Last hour', length: HOUR, round: 60_000 },
  '24h': { words: 'Last 24 hours', length: DAY, round: 600_000 },
  '7d': { words: 'Last 7 days', length: 7 * DAY, round: HOUR },
  '30d': { words: 'Last 30 days', length: 30 * DAY, round: HOUR },
  all: { words: 'Any time', length: null, round: HOUR },
} as const
type Span = keyof typeof SPANS

export const STATUSES = [
  'scheduled',
  'queued',
  'sent',
  'deferred',
  'delivered',
  'bounced',
  'canceled',
] as const

export interface Filter {
  readonly q: string | null
  readonly status: string | null
  readonly tag: string | null
  readonly domain: string | null
  readonly time: Span
  /** RFC 3339; null for any time. */
  readonly since: string | null
  readonly until: string | null
}

const isSpan = (text: string): text is Span => Object.hasOwn(SPANS, text)

const timeOr = (text: string | null): string | null =>
  text === null || Number.isNaN(Date.parse(text)) ? null : new Date(text).toISOString()

export const filterOf = (visit: Visit): Filter => {
  const asked = visit.query('time') ?? ''
  const time: Span = isSpan(asked) ? asked : '7d'
  const { length, round } = SPANS[time]
  const began =
    length === null ? null : new Date(Math.floor((visit.now - length) / round) * round).toISOString()
  return {
    q: visit.query('q'),
    status: STATUSES.find((status) => status === visit.query('status')) ?? null,
    tag: visit.query('tag'),
    domain: visit.query('domain')?.replace(/[\s"]/g, '') ?? null,
    time,
    since: timeOr(visit.query('since')) ?? began,
    until: timeOr(visit.query('until')),
  }
}

/** The search text with what only a term can say. */
const searchText = ({ q, domain }: Filter): string =>
  [q ?? '', domain === null ? '' : `domain:${domain}`].filter((one) => one !== '').join(' ')

export const apiQuery = (visit: Visit, filter: Filter): Query => ({
  q: searchText(filter),
  tz: searchText(filter) === '' ? null : visit.zone,
  status: filter.status,
  tag: filter.tag,
  created_after: filter.since,
  created_before: filter.until,
  mode: visit.scope.mode,
})

/** Whether more than the usual is asked for. */
export const isNarrowed = ({ q, status, tag, domain, until }: Filter): boolean =>
  [q, status, tag, domain, until].some((one) => one !== null)
