/**
 * NAME      filter - which mails a list shows, as its URL says it, and the fields that narrow it
 * DESCRIPTION
 *   All of it stands in the URL, so that every view is a link. A list opens on the last 7 days; where a span begins is
 *   rounded, and goes along with a cursor, since a cursor is only good for the very filter that it came from.
 */
import { readTag } from '../../../mail/query.js'
import type { Problem, Query } from '../../ask.js'
import { Filters, Select, Word } from '../../parts/form.js'
import { word } from '../../parts/status.js'
import { exactTime } from '../../parts/text.js'
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

const STATUSES = ['scheduled', 'queued', 'sent', 'deferred', 'delivered', 'bounced', 'canceled'] as const

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

export const isNarrowed = ({ q, status, tag, domain, until }: Filter): boolean =>
  [q, status, tag, domain, until].some((one) => one !== null)

const TERMS: readonly (readonly [term: string, says: string])[] = [
  ['receipt october', 'words of the subject; the last may be a beginning'],
  ['ana@example.com', 'an address, its beginning, or a domain'],
  ['to: from: domain:', 'one of them only'],
  ['subject:"your parcel"', 'words in this order'],
  ['status:bounced reason:mailbox_full', 'what became of it, and why'],
  ['tag:order:118838', 'a tag, by name or by name and value'],
  ['before:2026-11-20 after:2026-11-01', 'days, or times with their zone'],
  ['is:held is:deferred is:complained is:resent has:attachment', 'states'],
  ['message-id:<…> pool:shop-eu', 'where it went'],
  ['key:billing', 'who sent it: a key or credential by id, name, first characters or login'],
  ['id:em_…', 'one mail'],
  ['-status:delivered', 'a minus, or NOT: all but these'],
  ['ana@example.com OR bob@example.com', 'either of them'],
]

const TermsHelp = () => (
  <details class="fold">
    <summary>What can be searched for</summary>
    <dl class="terms">
      {TERMS.map(([term, says]) => (
        <div>
          <dt>
            <code>{term}</code>
          </dt>
          <dd class="soft">{says}</dd>
        </div>
      ))}
    </dl>
  </details>
)

const spanText = (visit: Visit, { time, until }: Filter): string | null => {
  const since = visit.query('since')
  const at = (text: string) => exactTime(Date.parse(text), visit.zone)
  if (until !== null || (since !== null && visit.query('cursor') === null)) {
    const from = since === null ? '' : `from ${at(since)} `
    return `${from}${until === null ? '' : `to ${at(until)}`}`.trim()
  }
  return time === 'all' ? null : SPANS[time].words
}

const Chips = ({ visit, filter }: { readonly visit: Visit; readonly filter: Filter }) => {
  const { q, status, tag, domain } = filter
  const span = spanText(visit, filter)
  const chips: readonly (readonly [text: string, href: string] | null)[] = [
    span === null ? null : [span, visit.here({ time: 'all', since: null, until: null })],
    q === null ? null : [q, visit.here({ q: null })],
    status === null ? null : [word(status), visit.here({ status: null })],
    tag === null ? null : [`tag ${tag}`, visit.here({ tag: null })],
    domain === null ? null : [`to ${domain}`, visit.here({ domain: null })],
  ]
  return (
    <p class="chips">
      {chips.map((chip) =>
        chip === null ? null : (
          <span class="chip">
            <bdi>{chip[0]}</bdi>
            <a href={chip[1]} aria-label={`Without “${chip[0]}”`}>
              ×
            </a>
          </span>
        ),
      )}
    </p>
  )
}

const SUBJECTS: Readonly<Record<string, string>> = {
  q: 'The search',
  tag: 'The tag',
  domain: 'The domain',
  status: 'The status',
}

const Wrong = ({ problem }: { readonly problem: Problem | null }) =>
  problem === null ? null : (
    <p class="wrong" role="alert">
      {problem.errors
        ?.map(({ field, message }) => `${SUBJECTS[field.replace(/^\w+\./, '')] ?? field} ${message}.`)
        .join(' ') ??
        problem.detail ??
        problem.title}
    </p>
  )

/** What terms name that there is not, such as `key:nope`. */
const UNKNOWN: Readonly<Record<string, (name: string) => string>> = {
  key: (name) => `No key or credential is called “${name}”.`,
  pool: (name) => `No pool is called “${name}”.`,
  tag: (name) => `No mail has the tag “${name}”.`,
  reason: (name) => `No mail has “${name}” as its reason.`,
}

const Unknown = ({ terms }: { readonly terms: readonly string[] }) =>
  terms.length === 0 ? null : (
    <p class="wrong" role="status">
      {terms
        .map((term) => readTag(term))
        .map(({ name, value }) => UNKNOWN[name]?.(value ?? '') ?? `There is no ${value}.`)
        .join(' ')}
    </p>
  )

interface Props {
  readonly visit: Visit
  readonly filter: Filter
  readonly unknown: readonly string[]
  readonly problem: Problem | null
}

export const FilterForm = ({ visit, filter, unknown, problem }: Props) => (
  <div class="narrow noprint">
    <Filters
      path="/emails"
      label="Filters"
      keep={{ workspace: visit.scope.workspace, mode: visit.scope.mode }}
    >
      <label>
        Search
        <input
          type="search"
          name="q"
          value={filter.q ?? ''}
          maxLength={256}
          autocomplete="off"
          {...(problem !== null && { 'aria-invalid': true })}
        />
      </label>
      <Select
        name="status"
        label="Status"
        options={[['', 'Any status'], ...STATUSES.map((one) => [one, word(one)] as const)]}
        chosen={filter.status}
      />
      <Select
        name="time"
        label="Time"
        options={Object.entries(SPANS).map(([span, { words }]) => [span, words] as const)}
        chosen={filter.time}
      />
      <Word name="tag" label="Tag" placeholder="name:value" />
      <Word name="domain" label="To domain" placeholder="example.com" />
    </Filters>
    <Wrong problem={problem} />
    <Unknown terms={unknown} />
    <TermsHelp />
    <Chips {...{ visit, filter }} />
  </div>
)
