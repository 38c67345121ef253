/**
 * NAME      webhook - one endpoint: how it does, what was posted to it, and what can be done with it
 *   Answers are text of a stranger, and shown as such. Whoever may not see bodies gets neither them nor what was posted.
 */
import { tagText } from '../../../mail/query.js'
import type { ShownWebhook, Webhook, WebhookAttempt, WebhookEvent } from '../../../resource/webhook.js'
import { type AskMethod, mistake } from '../../ask.js'
import type { Form } from '../../form.js'
import { Choice, Field, FormMarks, type Options, Submit, Verb } from '../../parts/form.js'
import { ButtonLink, Choices, Code, Crumb, Facts, ManagedNote, Section } from '../../parts/page-parts.js'
import { settingFacts } from '../../parts/setting.js'
import { Icon, State, type Tone } from '../../parts/status.js'
import { col, type ListPage, Pager, Table, type TableColumn } from '../../parts/table.js'
import { Address, figure, Said, Time } from '../../parts/text.js'
import { useVisit } from '../../render.js'
import { does, type FormDone, type SitePage, titled, type Visit } from '../../visit.js'
import { slugOf, workspacesOf } from '../access/whose.js'
import { HistoryOf, historyOf } from '../settings/audit.js'
import type { ShownWorkspace } from '../workspaces/workspaces.js'
import {
  formatName,
  HealthDetail,
  healthSentence,
  hostOf,
  type MadeWebhook,
  nameOf,
  SETTINGS,
  SHAPES,
  secretView,
  stateOf,
} from './webhooks.js'

const POST_SHAPES: Readonly<
  Record<WebhookEvent['status'], readonly [hue: Tone, icon: string, text: string]>
> = {
  success: ['ok', 'delivered', 'taken'],
  pending: ['', 'queued', 'waits'],
  attempting: ['wait', 'deferred', 'tried again'],
  failed: ['bad', 'bounced', 'given up'],
  canceled: ['', 'canceled', 'canceled'],
}

const Answer = ({ row }: { readonly row: WebhookEvent }) => {
  const [hue, icon, text] = POST_SHAPES[row.status]
  const code = row.http_status_code === null ? '' : `${row.http_status_code}, `
  return (
    <State tone={hue === 'ok' ? '' : hue} {...{ icon, hue }}>
      {code}
      {text}
    </State>
  )
}

const PostSaid = ({ row }: { readonly row: WebhookEvent }) => (
  <>
    {row.cause === null ? null : (
      <span class="say">
        <Address text={row.cause} />
      </span>
    )}
    {row.response === null || row.response === '' ? null : (
      <span class="reply" dir="auto">
        <span class="clamp">{row.response}</span>
      </span>
    )}
  </>
)

const Whom = ({ visit, row }: { readonly visit: Visit; readonly row: WebhookEvent }) => {
  if (row.email_id === null) return null
  return (
    <a href={visit.link(`/emails/${row.email_id}`)}>
      {row.recipient === null ? 'its mail' : <Address text={row.recipient} />}
    </a>
  )
}

const KIND = { event: '', replay: 'replayed', test: 'a test' } as const

/** When it is posted next. While its endpoint fails only the endpoint's own time counts, which stands on top of the page. */
const Next = ({ visit, endpoint, row }: { visit: Visit; endpoint: Webhook; row: WebhookEvent }) => {
  const { state } = endpoint.health
  const at = row.next_attempt_at
  if (at === null || state === 'disabled' || state === 'failing') return null
  return <span class="sub">next {Date.parse(at) <= visit.now ? 'now' : <Time at={at} />}</span>
}

const columns = (visit: Visit, endpoint: Webhook): readonly TableColumn<WebhookEvent>[] => [
  col('Answer', (row) => <Answer row={row} />),
  col('Event', (row) => (
    <>
      {visit.may('getWebhookEvent') ? (
        <a href={`${visit.here({ event: row.id })}#event`}>{row.type}</a>
      ) : (
        row.type
      )}
      <span class="sub">
        {[KIND[row.kind], row.attempts > 1 ? `${row.attempts} tries` : ''].filter(Boolean).join(', ')}
      </span>
    </>
  )),
  col('For', 'grow', (row) => <Whom {...{ visit, row }} />),
  col('Said', 'name', (row) => <PostSaid row={row} />),
  col('Took', 'num', (row) => (row.duration_ms === null ? '' : `${figure(row.duration_ms)} ms`)),
  col('When', (row) => (
    <>
      <Time at={row.updated_at} />
      <Next {...{ visit, endpoint, row }} />
    </>
  )),
  {
    does: 'replayWebhookEvent',
    head: '',
    cell: (row) =>
      row.kind === 'test' ? null : (
        <Verb action="again" label="Again" reason="none" tiny about={{ event: row.id }}>
          <p>Posts this event once more, under the same webhook-id.</p>
        </Verb>
      ),
  },
]

const Posts = ({
  visit,
  endpoint,
  list,
}: {
  visit: Visit
  endpoint: Webhook
  list: ListPage<WebhookEvent>
}) => {
  const failed = visit.query('failed') === 'true'
  return (
    <Section
      title="Posts"
      says="kept for four days"
      actions={
        <Choices
          label="Which posts"
          options={[
            { href: visit.here({ failed: null, event: null }), text: 'All', on: !failed },
            { href: visit.here({ failed: 'true', event: null }), text: 'Failed', on: failed },
          ]}
        />
      }
    >
      <Table
        look="many"
        caption="Posts, newest first"
        rows={list.data}
        columns={columns(visit, endpoint)}
        none={
          <p class="soft">
            {failed
              ? 'No post failed.'
              : 'Nothing was posted in the last four days. A test event shows whether it would arrive.'}
          </p>
        }
      />
      <Pager list={list} />
    </Section>
  )
}

interface ShownPost extends WebhookEvent {
  readonly payload: unknown
}

const requestText = ({ url, request_headers, payload }: ShownPost): string => {
  const head = Object.entries(request_headers ?? {}).map(([name, value]) => `${name}: ${value}`)
  const body = payload === null ? [] : ['', JSON.stringify(payload, null, 2)]
  return [...(url === null ? [] : [`POST ${url}`]), ...head, ...body].join('\n')
}

const PostInFull = ({ post, attempts }: { post: ShownPost; attempts: readonly WebhookAttempt[] }) => (
  <Section id="event" title={post.type} says={post.id}>
    <Code label="We post" text={requestText(post)} />
    {post.response === null || post.response === '' ? null : (
      <Code label={`It answered ${post.http_status_code ?? ''}`} text={post.response} />
    )}
    <Table
      caption="Tries, newest first"
      rows={attempts}
      columns={[
        { head: 'Answer', cell: ({ http_status_code: code }) => (code === 0 ? 'none' : code) },
        {
          head: 'Cause',
          kind: 'grow',
          cell: ({ cause }) => (cause === null ? '' : <Address text={cause} />),
        },
        { head: 'Took', kind: 'num', cell: (row) => `${figure(row.duration_ms)} ms` },
        { head: 'When', cell: (row) => Time({ at: row.sent_at }) },
      ]}
      none={null}
    />
  </Section>
)

const HOUR_MS = 3_600_000
const FAILED = 'failed'

const SINCE: Options = [
  [FAILED, 'those that were given up'],
  ['1', 'all of the last hour'],
  ['6', 'all of the last 6 hours'],
  ['24', 'all of the last 24 hours'],
  ['72', 'all of the last 3 days'],
  ['168', 'all of the last 7 days'],
]

const GRACE: Options = [
  ['0', 'no time: at once'],
  ['1h', 'hour'],
  ['24h', '24 hours'],
  ['7d', '7 days'],
]

const FROM: Options = [
  ['', 'from where it stood'],
  ['now', 'from now, and pass over what happened'],
]

const TestButton = () => (
  <form method="post" action={useVisit().here({})}>
    <FormMarks action="test" />
    <Submit main>Send a test event</Submit>
  </form>
)

const Replay = () => (
  <Verb
    action="replay"
    label="Replay"
    reason="none"
    does="Post them again"
    beside={
      <button type="submit" class="b" name="how" value="count">
        Only count them
      </button>
    }
  >
    <p>Posts events again, each under the webhook-id that it had.</p>
    <Choice name="since" label="Which" options={SINCE} />
  </Verb>
)

const Rotate = () => (
  <Verb action="rotate" label="Rotate the secret" reason="none" does="Rotate">
    <p>A new secret is shown once. Until the time is over, each post is signed with both.</p>
    <Choice name="grace" label="The one so far signs for another" value="24h" options={GRACE} />
  </Verb>
)

const Enable = ({ behind }: Pick<ShownWebhook, 'behind'>) => (
  <Verb action="enable" label="Switch on" reason="none">
    <p>
      Since it stopped,{' '}
      {behind === null ? 'more than the log still has' : count(behind.events, behind.capped)} events happened.
    </p>
    <Choice name="from" label="Go on" value={behind === null ? 'now' : ''} options={FROM} />
  </Verb>
)

const Verbs = ({ row }: { readonly row: ShownWebhook }) => {
  const visit = useVisit()
  if (!visit.may('updateWebhook')) return null
  const isOff = row.status === 'disabled'
  return (
    <div class="actions">
      <TestButton />
      {isOff ? <Enable behind={row.behind} /> : <Replay />}
      <Rotate />
      <ButtonLink to={visit.link(`/webhooks/${row.id}/edit`)}>Change</ButtonLink>
      {isOff ? null : (
        <Verb action="disable" label="Switch off" reason="none" harm>
          <p>
            Nothing is posted to {hostOf(row)} until it is switched on; then it goes on from where it stood,
            or from now.
          </p>
        </Verb>
      )}
      <Verb action="delete" label="Delete" reason="none" harm>
        <p>
          {nameOf(row)} is told nothing more, and what is known of its posts is gone. It cannot be undone.
        </p>
        <Field
          name="confirm"
          label={`Type its host to be sure: ${hostOf(row)}`}
          required
          autocomplete="off"
        />
      </Verb>
    </div>
  )
}

const count = (n: number, isCapped: boolean): string => `${n}${isCapped ? ' or more' : ''}`

const pageOf = (visit: Visit): string => visit.link(`/webhooks/${visit.params.id ?? ''}`)

const change = async (visit: Visit, body: object, notice: string): Promise<FormDone> => {
  await asked(visit, 'PATCH', '', body)
  return { to: pageOf(visit), notice }
}

const test = async (visit: Visit): Promise<FormDone> => {
  const post = await asked<WebhookEvent>(visit, 'POST', '/test', {})
  const { http_status_code: code, duration_ms: ms, cause, status } = post
  const said = code === null ? 'No answer came' : `It answered ${code}`
  const after = ms === null ? '' : ` after ${ms} ms`
  const notice =
    status === 'success'
      ? `The test event arrived. ${said}${after}.`
      : `The test event did not arrive. ${said}${after}${cause === null ? '' : `: ${cause}`}`
  return { to: `${visit.link(`/webhooks/${visit.params.id ?? ''}`, { event: post.id })}`, notice }
}

const hoursAgo = ({ now }: Visit, hours: number) => new Date(now - hours * HOUR_MS).toISOString()

const replay = async (visit: Visit, form: Form): Promise<FormDone> => {
  const since = form.text('since') ?? FAILED
  const isDry = form.raw('how') === 'count'
  const which =
    since === FAILED
      ? { failed: true }
      : { since: SINCE.some(([one]) => one === since) ? hoursAgo(visit, Number(since)) : since }
  const asking = asked<{ matched: number; capped: boolean }>(visit, 'POST', '/replay', {
    ...which,
    dry_run: isDry,
  })
  const { matched, capped } = await asking
  const many = `${count(matched, capped)} ${matched === 1 ? 'event' : 'events'}`
  return { to: pageOf(visit), notice: isDry ? `${many} would be posted again.` : `${many} are posted again.` }
}

const rotate = async (visit: Visit, form: Form): Promise<FormDone> => {
  const grace = form.text('grace')
  const body = { grace: grace === '0' ? 0 : grace }
  const made = await asked<MadeWebhook>(visit, 'POST', '/signing-secret/rotate', body)
  const says =
    grace === '0'
      ? 'Copy it now: it is not shown again, and posts are signed with it alone.'
      : 'Copy it now: it is not shown again. For a while each post is signed with the old one, too.'
  return { view: secretView(visit, made, `The secret of ${hostOf(made)} is a new one.`, says) }
}

const verbs: NonNullable<SitePage['actions']> = {
  test: does('testWebhook', test),
  replay: does('replayWebhook', replay),
  again: does('replayWebhookEvent', async (visit, form) => {
    await asked(visit, 'POST', `/events/${encodeURIComponent(form.raw('event'))}/replay`, {})
    return { to: visit.here({ event: null }), notice: 'It is posted again.' }
  }),
  rotate: does('rotateWebhookSecret', rotate),
  enable: does('updateWebhook', (visit, form) =>
    change(visit, { status: 'enabled', from: form.text('from') ?? undefined }, 'It is on again.'),
  ),
  disable: does('updateWebhook', (visit) =>
    change(visit, { status: 'disabled' }, 'It is off: nothing is posted to it.'),
  ),
  delete: does('deleteWebhook', async (visit, form) => {
    const row = await asked<ShownWebhook>(visit, 'GET')
    if (form.text('confirm') !== hostOf(row)) throw mistake('confirm', `must be the host: ${hostOf(row)}`)
    await asked(visit, 'DELETE')
    return { to: visit.link('/webhooks'), notice: `${nameOf(row)} is deleted.` }
  }),
}

/** Of this endpoint, whatever workspace the URL says. */
const asked = <T,>(visit: Visit, method: AskMethod, more = '', body?: object): Promise<T> =>
  visit.ask<T>(method, pathOf(visit, more), { scoped: false, body })

const pathOf = (visit: Visit, more = ''): string =>
  `/v1/webhooks/${encodeURIComponent(visit.params.id ?? '')}${more}`

const WebhookFacts = ({ row, workspaces }: { row: ShownWebhook; workspaces: readonly ShownWorkspace[] }) => (
  <Facts
    facts={[
      [
        'Address',
        <code>
          <Address text={row.endpoint} />
        </code>,
      ],
      row.format === 'standard' ? null : ['In the words of', formatName(row.format)],
      row.public_key === null
        ? null
        : [
            'Public key',
            <code>
              <Address text={row.public_key} />
            </code>,
          ],
      row.has_auth ? ['Login', 'kept, and sent with each post'] : null,
      ['Told of', row.events.includes('*') ? 'everything' : row.events.join(', ')],
      [
        'Of the mail of',
        `${slugOf(workspaces, row.workspace_id) ?? 'the whole account'}${row.mode === 'test' ? ', test mail' : ''}`,
      ],
      row.domains.length === 0 ? null : ['Only from', row.domains.join(', ')],
      row.tags.length === 0 ? null : ['Only tagged', row.tags.map(tagText).join(', ')],
      row.header_names.length === 0 ? null : ['Header fields', row.header_names.join(', ')],
      ...settingFacts(SETTINGS, row),
      row.previous_secret_until === null
        ? null
        : ['The old secret signs until', <Time at={row.previous_secret_until} />],
      ['Made', <Time at={row.created_at} />],
    ]}
  />
)

const eventOf = async (visit: Visit) => {
  const event = visit.query('event')
  if (event === null || !visit.may('getWebhookEvent')) return null
  const path = pathOf(visit, `/events/${encodeURIComponent(event)}`)
  const [post, attempts] = await Promise.all([
    visit.find<ShownPost>(path, { scoped: false }),
    visit.find<{ readonly data: readonly WebhookAttempt[] }>(`${path}/attempts`, { scoped: false }),
  ])
  return post === null ? null : { post, attempts: attempts?.data ?? [] }
}

export const webhookPage: SitePage = {
  path: '/webhooks/{id}',
  async view(visit) {
    const query = { limit: 25, cursor: visit.query('cursor'), failed: visit.query('failed') }
    const [row, list, event, workspaces, history] = await Promise.all([
      asked<ShownWebhook>(visit, 'GET'),
      visit.ask<ListPage<WebhookEvent>>('GET', pathOf(visit, '/events'), { query, scoped: false }),
      eventOf(visit),
      workspacesOf(visit),
      historyOf(visit, { target: visit.params.id ?? '' }),
    ])
    const [tone, icon] = SHAPES[stateOf(row)]
    const cause = list.data.find((post) => post.kind !== 'test' && post.cause !== null)?.cause ?? null
    return titled(
      nameOf(row),
      <>
        <Crumb above={['/webhooks', 'Webhooks']} />
        <header class="verdict">
          <Icon name={icon} tone={tone} />
          <h1>
            <Said text={healthSentence(row, visit.now, cause)} />
          </h1>
          <p>
            <HealthDetail row={row} />
          </p>
          <Verbs row={row} />
        </header>
        <ManagedNote row={row} />
        {event === null ? null : <PostInFull {...event} />}
        <Posts {...{ visit, list }} endpoint={row} />
        <Section title="Facts">
          <WebhookFacts {...{ row, workspaces }} />
        </Section>
        <HistoryOf visit={visit} about={{ target: row.id }} history={history} />
      </>,
    )
  },
  actions: verbs,
}
