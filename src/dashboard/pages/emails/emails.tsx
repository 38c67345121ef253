/**
 * NAME      emails - the list of mails, the filter that its URL holds, and what is done to many of them
 *   Newest first, on the last 7 days unless the URL says otherwise. Every view is a link. Where a span begins is rounded, and
 *   goes along with a cursor, since a cursor is only good for the filter that it came from; one that fits no more, because the
 *   reader changed a filter by hand, starts the list again. A row is the link of its subject, and says how it ended: of what
 *   bounced or is deferred what it means, then the reply; of what waits why. An order goes to those that are ticked, one after
 *   the other, or to all that the list finds: then the count comes first, and a job does it.
 */
import type { ComponentChildren } from 'preact'
import { readTag } from '../../../mail/query.js'
import { type JobMatched, matchedWords } from '../../../record/email.js'
import { AskError, type AskQuery, mistake, type Problem } from '../../ask.js'
import type { Form } from '../../form.js'
import {
  briefReason,
  briefWaiting,
  type Email,
  type ListedEmail,
  sinceAccepted,
  subjectOf,
} from '../../mail/verdict.js'
import {
  ActionForm,
  Choice,
  Field,
  Filters,
  Hidden,
  Leave,
  Select,
  Send,
  Submit,
  useOwnRefusal,
  Word,
} from '../../parts/form.js'
import { ButtonLink, Empty, LiveState, PageBody } from '../../parts/page-parts.js'
import { Status, word } from '../../parts/status.js'
import { ExportLinks, exported, type ListPage, Pager } from '../../parts/table.js'
import { exactTime, figure, isolate, Said, Time } from '../../parts/text.js'
import { attrs, html } from '../../render.js'
import {
  does,
  type FormDone,
  type RawRoute,
  type RefusedForm,
  type SitePage,
  titled,
  type View,
  type Visit,
  type WorkspaceName,
} from '../../visit.js'
import { FirstMail, TEST_MAIL } from './first-mail.js'
import { inboxView } from './inbox.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** Words, length, and what its beginning is rounded to. */
const SPANS = {
  '1h': { words: 'Last hour', length: HOUR, round: 60_000 },
  '24h': { words: 'Last 24 hours', length: DAY, round: 600_000 },
  '7d': { words: 'Last 7 days', length: 7 * DAY, round: HOUR },
  '30d': { words: 'Last 30 days', length: 30 * DAY, round: HOUR },
  all: { words: 'Any time', length: null, round: HOUR },
} as const
type Span = keyof typeof SPANS

const STATUSES = ['scheduled', 'queued', 'sent', 'deferred', 'delivered', 'bounced', 'canceled'] as const

interface Filter {
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

const filterOf = (visit: Visit): Filter => {
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

const searchText = ({ q, domain }: Filter): string =>
  [q ?? '', domain === null ? '' : `domain:${domain}`].filter((one) => one !== '').join(' ')

const apiQuery = (visit: Visit, filter: Filter): AskQuery => ({
  q: searchText(filter),
  tz: searchText(filter) === '' ? null : visit.zone,
  status: filter.status,
  tag: filter.tag,
  created_after: filter.since,
  created_before: filter.until,
  mode: visit.scope.mode,
})

const isNarrowed = ({ q, status, tag, domain, until }: Filter): boolean =>
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

interface FilterProps {
  readonly visit: Visit
  readonly filter: Filter
  readonly unknown: readonly string[]
  readonly problem: Problem | null
}

const FilterForm = ({ visit, filter, unknown, problem }: FilterProps) => (
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

const countsOf = ({ counts }: ListedEmail): string =>
  Object.entries(counts)
    .filter(([, n]) => n > 0)
    .map(([status, n]) => `${n} ${status}`)
    .join(', ')

const total = ({ counts }: ListedEmail): number => Object.values(counts).reduce((sum, n) => sum + n, 0)

/** Without the address, which the row has already. */
const replyIn = (text: string | null | undefined): string | null =>
  text == null ? null : isolate(text.replace(/<[^<>\s]*@[^<>\s]*>:?\s*/, '').slice(0, 300))

const outcomeOf = (row: ListedEmail): string => {
  const { status, waiting } = row
  const many = total(row) > 1 ? `${countsOf(row)} · ` : ''
  if (status === 'bounced' || status === 'deferred') {
    const more = waiting !== null && waiting.reason !== 'backoff' ? isolate(briefWaiting(waiting)) : null
    const why = [briefReason(row.reason), replyIn(row.last_response), more].filter((one) => one != null)
    return `${many}${why.join(' · ')}`
  }
  if (waiting !== null) return `${many}${isolate(briefWaiting(waiting))}`
  if (many !== '') return countsOf(row)
  return status === 'delivered' || status === 'sent' ? `in ${sinceAccepted(row, row.updated_at)}` : ''
}

const toneOf = ({ status, waiting }: ListedEmail): string | undefined => {
  if (status === 'bounced') return 'bad'
  return status === 'deferred' || (waiting !== null && waiting.reason !== 'scheduled') ? 'wait' : undefined
}

interface MailsProps {
  readonly visit: Visit
  readonly rows: readonly ListedEmail[]
  /** By id; null when only one is shown. */
  readonly workspaces: ReadonlyMap<string, string> | null
  /** The form that its ticks belong to; null without. */
  readonly form: string | null
}

const To = ({ row }: { readonly row: ListedEmail }) => {
  const [first = row.cc[0] ?? row.bcc[0] ?? ''] = row.to
  const others = total(row) - 1
  const more = others > 0 ? html`<span class="more nb">+ ${others}</span>` : null
  return html`<span class="pair" title="${row.to.join(', ').slice(0, 1_000)}"><span class="one" dir="auto">${first}</span>${more}</span>`
}

const Tick = ({ row, form }: { readonly row: ListedEmail; readonly form: string | null }) =>
  form === null
    ? null
    : html`<td role="cell" class="tick"><input type="checkbox" name="id" value="${row.id}" form="${form}" aria-label="Choose ${subjectOf(row)}"/></td>`

const Tag = ({ row: { tags } }: { readonly row: ListedEmail }) => {
  const [tag] = tags
  return tag && html`<span class="tag" dir="auto" title="${tag.name}:${tag.value}">${tag.value}</span>`
}

const Row = ({ visit, row, workspaces, form }: Omit<MailsProps, 'rows'> & { readonly row: ListedEmail }) => {
  const outcome = outcomeOf(row)
  const subject = subjectOf(row)
  const to = visit.link(`/emails/${row.id}`)
  const cell = (name: string, content: ComponentChildren) =>
    html`<td role="cell" class="${name}">${content}</td>`
  const cells = [
    Tick({ row, form }),
    cell('c-st', Status(row)),
    cell('c-to', To({ row })),
    cell('c-subj', html`<a class="one" dir="auto" title="${subject}" href="${to}">${subject}</a>`),
    html`<td role="cell" class="c-out" title="${outcome}"><span class="one">${Said({ text: outcome })}</span></td>`,
    cell('c-tag', Tag({ row })),
    workspaces &&
      cell(
        'c-ws',
        html`<span class="one" dir="auto">${workspaces.get(row.workspace_id) ?? row.workspace_id}</span>`,
      ),
    cell('c-when', Time({ at: row.created_at })),
  ]
  return html`<tr role="row" id="${row.id}"${attrs({ class: toneOf(row) })}>${cells}</tr>`
}

const HEADS = [
  ['c-st', 'Status'],
  ['c-to', 'To'],
  ['c-subj', 'Subject'],
  ['c-out', 'Outcome'],
  ['c-tag', 'Tag'],
  ['c-ws', 'Workspace'],
  ['c-when', 'Accepted'],
] as const

export const Mails = (props: MailsProps) => (
  <table class="t mails" role="table" id="mails" aria-label="Emails, newest first">
    <thead role="rowgroup">
      <tr role="row">
        {props.form === null ? null : (
          <th role="columnheader" scope="col" class="tick">
            <span class="hid">Chosen</span>
          </th>
        )}
        {HEADS.map(([name, head]) =>
          name === 'c-ws' && props.workspaces === null ? null : (
            <th role="columnheader" scope="col" class={name}>
              {head}
            </th>
          ),
        )}
      </tr>
    </thead>
    <tbody role="rowgroup">{props.rows.map((row) => Row({ ...props, row }))}</tbody>
  </table>
)

const BULK_FORM = 'bulk'

const ACTIONS = [
  ['resend', 'Send again'],
  ['retry', 'Try now'],
  ['release', 'Release'],
  ['cancel', 'Cancel (scheduled only)'],
  ['suppress', 'Suppress the recipients'],
] as const

const WHICH = [
  ['ticked', 'those that are ticked'],
  ['all', 'all that this list finds'],
] as const

const wordsOf = (action: string): string => ACTIONS.find(([one]) => one === action)?.[1] ?? action

const BulkBar = () => (
  <details class="fold noprint" open={useOwnRefusal('bulk') !== null}>
    <summary>Do something to many of them</summary>
    <ActionForm action="bulk" id={BULK_FORM} class="bulk">
      <Choice name="action" label="What" options={ACTIONS} />
      <Choice name="which" label="To" options={WHICH} />
      <Field name="reason" label="Reason" required maxLength={200} />
      <Submit>Go on</Submit>
    </ActionForm>
  </details>
)

const orderOf = (visit: Visit, form: Form, more: Readonly<Record<string, unknown>>) => {
  const said = Object.entries(apiQuery(visit, filterOf(visit))).filter(
    ([, value]) => value != null && value !== '',
  )
  const isAll = said.every(([name]) => name === 'mode')
  return {
    ...Object.fromEntries(said),
    ...(isAll && { all: true }),
    ...{ action: form.raw('action'), reason: form.text('reason') },
    ...more,
  }
}

const suppress = async (visit: Visit, path: string, reason: string | null): Promise<void> => {
  const email = await visit.ask<Email>('GET', path, { query: { content: 'false' } })
  const bounced = email.recipients.filter(({ status }) => status === 'bounced')
  const headers = { 'x-workspace-id': email.workspace_id }
  for (const { address } of bounced.length > 0 ? bounced : email.recipients)
    await visit.ask('POST', '/v1/suppressions', { body: { email: address, reason }, headers })
}

const toOne = async (visit: Visit, form: Form, id: string): Promise<void> => {
  const path = `/v1/emails/${encodeURIComponent(id)}`
  const reason = form.text('reason')
  const action = form.raw('action')
  if (action === 'cancel') await visit.ask('POST', `${path}/cancel`)
  else if (action === 'resend') await visit.ask('POST', `${path}/resend`, { body: { to: null } })
  else if (action === 'suppress') await suppress(visit, path, reason)
  else if (action === 'retry' || action === 'release')
    await visit.ask('POST', `/v1/queue/${action}`, {
      body: { scope: { email_id: id }, reason },
      scoped: false,
    })
}

const toTicked = async (visit: Visit, form: Form): Promise<FormDone> => {
  const ids = form.all('id').slice(0, 100)
  if (ids.length === 0) throw mistake('which', 'Tick some rows first, or choose all.')
  const failed: string[] = []
  for (const id of ids) {
    try {
      await toOne(visit, form, id)
    } catch (error) {
      if (!(error instanceof AskError)) throw error
      failed.push(`${id}: ${error.message}`)
    }
  }
  const done = `${wordsOf(form.raw('action'))}: ${ids.length - failed.length} of ${ids.length} done.`
  return { to: visit.here({}), notice: [done, ...failed.slice(0, 3)].join(' ') }
}

interface Preview {
  readonly matched: JobMatched
}

const confirm = async (visit: Visit, form: Form): Promise<FormDone> => {
  const { matched } = await visit.ask<Preview>('POST', '/v1/emails/bulk', {
    body: orderOf(visit, form, { dry_run: true }),
  })
  const count = matchedWords(matched, figure)
  const what = wordsOf(form.raw('action'))
  const body = (
    <PageBody
      title={matched === 1 ? `${what}: 1 mail?` : `${what}: ${count} mails?`}
      says="What comes later is not met. It can be ended on the way; what is done stays done."
    >
      <ActionForm action="bulk-go">
        <Hidden of={{ action: form.raw('action'), reason: form.raw('reason') }} />
        <Send disabled={matched === 0} beside={<Leave to={visit.here({})}>Back to the list</Leave>}>
          Do it
        </Send>
      </ActionForm>
    </PageBody>
  )
  return { view: { title: what, body } }
}

const BULK_ACTIONS: NonNullable<SitePage['actions']> = {
  bulk: does('bulkEmails', (visit, form) => (form.raw('which') === 'all' ? confirm : toTicked)(visit, form)),
  'bulk-go': does('bulkEmails', async (visit, form) => {
    const body = orderOf(visit, form, {})
    const { id } = await visit.ask<{ id: string }>('POST', '/v1/emails/bulk', { body })
    return { to: visit.link(`/jobs/${id}`), notice: 'It goes on by itself; this page may be closed.' }
  }),
}

const NOTHING: ListPage<ListedEmail> = {
  data: [],
  pagination: {
    ...{ total: 0, total_capped: false, has_next: false, has_prev: false },
    ...{ next_cursor: null, prev_cursor: null },
  },
}

interface Found {
  readonly list: ListPage<ListedEmail> & { readonly unknown?: readonly string[] }
  readonly problem: Problem | null
}

const statusOf = (error: unknown): number | null => (error instanceof AskError ? error.problem.status : null)

const findMails = async (visit: Visit, filter: Filter, limit = 50): Promise<Found> => {
  const ask = (cursor: string | null) =>
    visit.ask<ListPage<ListedEmail>>('GET', '/v1/emails', {
      query: { ...apiQuery(visit, filter), limit, cursor },
    })
  const cursor = visit.query('cursor')
  try {
    const list = await ask(cursor).catch((error) => {
      if (cursor !== null && statusOf(error) === 400) return ask(null)
      throw error
    })
    return { list, problem: null }
  } catch (error) {
    if (error instanceof AskError && error.problem.status === 422)
      return { list: NOTHING, problem: error.problem }
    throw error
  }
}

/** Names where mails of several workspaces stand in one list; what is no more has none. */
const workspaceNames = async (
  visit: Visit,
  rows: readonly ListedEmail[],
): Promise<ReadonlyMap<string, string> | null> => {
  if (visit.scope.workspace !== null) return null
  const { data } = await visit.newestWorkspaces()
  if (data.length < 2) return null
  const names = new Map(data.map(({ id, slug }) => [id, slug]))
  const older = new Set(rows.map((row) => row.workspace_id).filter((id) => !names.has(id)))
  const asking = [...older].map((id) => visit.find<WorkspaceName>(`/v1/workspaces/${id}`, { scoped: false }))
  for (const one of await Promise.all(asking)) if (one !== null) names.set(one.id, one.slug)
  return names
}

const howMany = ({ list }: Found): string => {
  const { total, total_capped } = list.pagination
  if (total === null) return ''
  return total === 1 ? '1 mail' : `${figure(total)}${total_capped ? ' mails and more' : ' mails'}`
}

/** How far a search looked that ended before its page was full. */
const Looked = ({ list }: Pick<Found, 'list'>) => {
  const { searched_to } = list.pagination
  return searched_to == null ? null : (
    <span>
      looked back to <Time at={searched_to} exact />; older ones may follow
    </span>
  )
}

const NotYet = ({ visit, filter, list }: { visit: Visit; filter: Filter } & Pick<Found, 'list'>) => (
  <Empty title="None found so far">
    <p>
      <Looked list={list} />
    </p>
    <p>
      <ButtonLink to={visit.here({ cursor: list.pagination.next_cursor, since: filter.since })}>
        Look further back
      </ButtonLink>
    </p>
  </Empty>
)

const NoMail = ({ visit, filter }: { readonly visit: Visit; readonly filter: Filter }) => (
  <Empty
    title={isNarrowed(filter) ? 'No mail is like this' : `No mail: ${SPANS[filter.time].words.toLowerCase()}`}
  >
    <p>
      <a href={visit.here({ time: 'all', since: null, until: null })}>Look at any time</a>
      {isNarrowed(filter) ? (
        <>
          {' '}
          or <a href={visit.link('/emails')}>without filters</a>
        </>
      ) : null}
    </p>
  </Empty>
)

/** The newest of this workspace and mode, or of both modes, whenever they came. */
export const newestMails = async (
  visit: Visit,
  limit: number,
  mode: 'live' | 'test' | null = visit.scope.mode,
): Promise<readonly ListedEmail[]> =>
  (await visit.ask<ListPage<ListedEmail>>('GET', '/v1/emails', { query: { mode, limit } })).data

const emptyView = async (visit: Visit): Promise<View> => {
  const workspaces = await visit.workspaces()
  const title = visit.scope.mode === 'test' ? 'No test mail yet' : 'No mail yet'
  const says = 'The first mail that comes in appears here. This is one way to send it.'
  return titled(
    title,
    <PageBody {...{ title, says }} actions={<LiveState table="mails" />}>
      <FirstMail {...{ visit, workspaces }} />
    </PageBody>,
  )
}

const HeadActions = ({ visit }: { readonly visit: Visit }) => (
  <>
    {visit.query('cursor') === null ? <LiveState table="mails" /> : null}
    {visit.scope.mode === 'test' && visit.may('sendEmail') ? (
      <ButtonLink to={visit.link('/emails/test')}>Send a test mail</ButtonLink>
    ) : null}
  </>
)

/** In dev mode mails are read like post, until somebody narrows the list. */
const isInbox = (visit: Visit, filter: Filter): boolean =>
  visit.isDev && !isNarrowed(filter) && visit.query('view') !== 'table' && visit.query('cursor') === null

const view = async (visit: Visit, refused: RefusedForm | null): Promise<View> => {
  const filter = filterOf(visit)
  void visit.newestWorkspaces().catch(() => null)
  const found = await findMails(visit, filter)
  const { list, problem } = found
  const workspaces = await workspaceNames(visit, list.data)
  const nothing = list.data.length === 0
  const isCut = nothing && list.pagination.searched_to != null
  if (nothing && !isNarrowed(filter) && problem === null && (await newestMails(visit, 1)).length === 0)
    return emptyView(visit)
  if (!nothing && isInbox(visit, filter)) return inboxView(visit, list.data)
  return {
    title: 'Emails',
    ...((problem ?? refused?.problem) && { status: (problem ?? refused?.problem)?.status ?? 422 }),
    body: (
      <PageBody title="Emails" actions={<HeadActions visit={visit} />}>
        <FilterForm {...{ visit, filter, problem }} unknown={list.unknown ?? []} />
        {isCut ? <NotYet {...{ visit, filter, list }} /> : null}
        {nothing && !isCut && problem === null ? <NoMail {...{ visit, filter }} /> : null}
        {nothing ? null : (
          <>
            <Mails
              {...{ visit, workspaces }}
              rows={list.data}
              form={visit.may('bulkEmails') ? BULK_FORM : null}
            />
            {visit.may('bulkEmails') ? <BulkBar /> : null}
            <footer class="foot">
              <span>{howMany(found)}</span>
              <Looked list={list} />
              <ExportLinks path="/emails/export" keep={{ since: filter.since }} />
              <Pager list={list} keep={{ since: filter.since }} />
            </footer>
          </>
        )}
      </PageBody>
    ),
  }
}

export const emailsPage: SitePage = {
  path: '/emails',
  view,
  actions: { ...BULK_ACTIONS, ...TEST_MAIL.actions },
}

export const emailsExport: RawRoute = {
  path: '/emails/export',
  answer: (visit) => exported(visit, '/v1/emails', { query: apiQuery(visit, filterOf(visit)) }),
}
