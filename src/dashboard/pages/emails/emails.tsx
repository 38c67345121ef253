/**
 * NAME      emails - the list of mails, and what is done to many of them
 * DESCRIPTION
 *   Newest first, on the last 7 days unless the URL says otherwise. A cursor that fits no more, because the reader
 *   changed a filter by hand, starts the list again instead of refusing it. An order goes to those that are ticked, one
 *   after the other, or to all that the list finds: then the count comes first, and a job does it.
 */
import { type JobMatched, matchedWords } from '../../../record/email.js'
import { AskError, mistake, type Problem } from '../../ask.js'
import type { Form } from '../../form.js'
import type { Email, EmailRow } from '../../mail/verdict.js'
import { ActionForm, Choice, Field, Hidden, Leave, Send, Submit, useOwnRefusal } from '../../parts/form.js'
import { ButtonLink, Empty, LiveState, PageBody } from '../../parts/page-parts.js'
import { ExportLinks, exported, type List, Pager } from '../../parts/table.js'
import { figure, Time } from '../../parts/text.js'
import type { Done, Page, RawRoute, Refused, View, Visit, WorkspaceName } from '../../visit.js'
import { apiQuery, type Filter, FilterForm, filterOf, isNarrowed, SPANS } from './filter.js'
import { FirstMail, TEST_MAIL } from './first-mail.js'
import { inboxView } from './inbox.js'
import { Mails } from './rows.js'

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

/** The ticks of the table belong to this form. */
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

const toTicked = async (visit: Visit, form: Form): Promise<Done> => {
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

const confirm = async (visit: Visit, form: Form): Promise<Done> => {
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

const BULK_ACTIONS: Readonly<Record<string, (visit: Visit, form: Form) => Promise<Done>>> = {
  bulk: (visit, form) => (form.raw('which') === 'all' ? confirm : toTicked)(visit, form),
  async 'bulk-go'(visit, form) {
    const body = orderOf(visit, form, {})
    const { id } = await visit.ask<{ id: string }>('POST', '/v1/emails/bulk', { body })
    return { to: visit.link(`/jobs/${id}`), notice: 'It goes on by itself; this page may be closed.' }
  },
}

const NOTHING: List<EmailRow> = {
  data: [],
  pagination: {
    ...{ total: 0, total_capped: false, has_next: false, has_prev: false },
    ...{ next_cursor: null, prev_cursor: null },
  },
}

interface Found {
  readonly list: List<EmailRow> & { readonly unknown?: readonly string[] }
  readonly problem: Problem | null
}

const statusOf = (error: unknown): number | null => (error instanceof AskError ? error.problem.status : null)

const findMails = async (visit: Visit, filter: Filter, limit = 50): Promise<Found> => {
  const ask = (cursor: string | null) =>
    visit.ask<List<EmailRow>>('GET', '/v1/emails', { query: { ...apiQuery(visit, filter), limit, cursor } })
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
  rows: readonly EmailRow[],
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

const NotYet = ({
  visit,
  filter,
  list,
}: { readonly visit: Visit; readonly filter: Filter } & Pick<Found, 'list'>) => (
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
): Promise<readonly EmailRow[]> =>
  (await visit.ask<List<EmailRow>>('GET', '/v1/emails', { query: { mode, limit } })).data

const emptyView = async (visit: Visit): Promise<View> => {
  const workspaces = await visit.workspaces()
  const title = visit.scope.mode === 'test' ? 'No test mail yet' : 'No mail yet'
  const says = 'The first mail that comes in appears here. This is one way to send it.'
  return {
    title,
    body: (
      <PageBody {...{ title, says }} actions={<LiveState table="mails" />}>
        <FirstMail {...{ visit, workspaces }} />
      </PageBody>
    ),
  }
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

const view = async (visit: Visit, refused: Refused | null): Promise<View> => {
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

export const emailsPage: Page = {
  path: '/emails',
  view,
  does: { bulk: 'bulkEmails', 'bulk-go': 'bulkEmails', ...TEST_MAIL.does },
  actions: { ...BULK_ACTIONS, ...TEST_MAIL.actions },
}

export const emailsExport: RawRoute = {
  path: '/emails/export',
  answer: (visit) => exported(visit, '/v1/emails', { query: apiQuery(visit, filterOf(visit)) }),
}
