/**
 * NAME      posts - what was posted to an endpoint, and what it answered
 * DESCRIPTION
 *   Answers are text of a stranger, and shown as such. Whoever may not see bodies gets neither them nor what was posted.
 */
import type { Webhook, WebhookAttempt, WebhookEvent } from '../../../record/webhook.js'
import { figure } from '../../parts/figure.js'
import { Verb } from '../../parts/form.js'
import { Choices, Code, Section } from '../../parts/page-parts.js'
import { Pager } from '../../parts/pager.js'
import { State, type Tone } from '../../parts/status.js'
import { type Column, type List, Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import type { Visit } from '../../visit.js'

const SHAPES: Readonly<Record<WebhookEvent['status'], readonly [hue: Tone, icon: string, text: string]>> = {
  success: ['ok', 'delivered', 'taken'],
  pending: ['', 'queued', 'waits'],
  attempting: ['wait', 'deferred', 'tried again'],
  failed: ['bad', 'bounced', 'given up'],
  canceled: ['', 'canceled', 'canceled'],
}

const Answer = ({ row }: { readonly row: WebhookEvent }) => {
  const [hue, icon, text] = SHAPES[row.status]
  const code = row.http_status_code === null ? '' : `${row.http_status_code}, `
  return (
    <State tone={hue === 'ok' ? '' : hue} {...{ icon, hue }}>
      {code}
      {text}
    </State>
  )
}

/** The words of the endpoint, or ours about it. */
const Said = ({ row }: { readonly row: WebhookEvent }) => (
  <>
    {row.cause === null ? null : <span class="say">{row.cause}</span>}
    {row.response === null || row.response === '' ? null : (
      <span class="reply" dir="auto">
        <span class="clamp">{row.response}</span>
      </span>
    )}
  </>
)

const KIND = { event: '', replay: 'replayed', test: 'a test' } as const

/** When it is posted next. While its endpoint fails only the endpoint's own time counts, which stands on top of the page. */
const Next = ({ visit, endpoint, row }: { visit: Visit; endpoint: Webhook; row: WebhookEvent }) => {
  const { state } = endpoint.health
  const at = row.next_attempt_at
  if (at === null || state === 'disabled' || state === 'failing') return null
  return <span class="sub">next {Date.parse(at) <= visit.now ? 'now' : <Time at={at} />}</span>
}

const columns = (visit: Visit, endpoint: Webhook): readonly Column<WebhookEvent>[] => [
  { head: 'Answer', cell: (row) => <Answer row={row} /> },
  {
    head: 'Event',
    cell: (row) => (
      <>
        <a href={`${visit.here({ event: row.id })}#event`}>{row.type}</a>
        <span class="sub">
          {[KIND[row.kind], row.attempts > 1 ? `${row.attempts} tries` : ''].filter(Boolean).join(', ')}
        </span>
      </>
    ),
  },
  { head: 'Said', kind: 'grow', cell: (row) => <Said row={row} /> },
  {
    head: 'Took',
    kind: 'num',
    cell: (row) => (row.duration_ms === null ? '' : `${figure(row.duration_ms)} ms`),
  },
  {
    head: 'When',
    cell: (row) => (
      <>
        <Time at={row.updated_at} />
        <Next {...{ visit, endpoint, row }} />
      </>
    ),
  },
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

interface PostsProps {
  readonly visit: Visit
  readonly endpoint: Webhook
  readonly list: List<WebhookEvent>
}

export const Posts = ({ visit, endpoint, list }: PostsProps) => {
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
      {list.data.length === 0 ? (
        <p class="soft">
          {failed
            ? 'No post failed.'
            : 'Nothing was posted in the last four days. A test event shows whether it would arrive.'}
        </p>
      ) : (
        <Table caption="Posts, newest first" rows={list.data} columns={columns(visit, endpoint)} />
      )}
      <Pager list={list} />
    </Section>
  )
}

export interface ShownPost extends WebhookEvent {
  readonly payload: unknown
}

const requestText = ({ url, request_headers, payload }: ShownPost): string => {
  const head = Object.entries(request_headers ?? {}).map(([name, value]) => `${name}: ${value}`)
  const body = payload === null ? [] : ['', JSON.stringify(payload, null, 2)]
  return [...(url === null ? [] : [`POST ${url}`]), ...head, ...body].join('\n')
}

/** One event: what is posted, and each try with its answer. */
export const PostInFull = ({
  visit,
  post,
  attempts,
}: {
  readonly visit: Visit
  readonly post: ShownPost
  readonly attempts: readonly WebhookAttempt[]
}) => (
  <Section id="event" title={post.type} says={post.id}>
    {visit.can('bodies') ? (
      <Code label="We post" text={requestText(post)} />
    ) : (
      <p class="soft">What is posted, and what was answered, is not shown to your role.</p>
    )}
    {post.response === null || post.response === '' ? null : (
      <Code label={`It answered ${post.http_status_code ?? ''}`} text={post.response} />
    )}
    {attempts.length === 0 ? null : (
      <Table
        caption="Tries, newest first"
        rows={attempts}
        columns={[
          { head: 'Answer', cell: ({ http_status_code: code }) => (code === 0 ? 'none' : code) },
          { head: 'Cause', kind: 'grow', cell: ({ cause }) => cause ?? '' },
          { head: 'Took', kind: 'num', cell: (row) => `${figure(row.duration_ms)} ms` },
          { head: 'When', cell: (row) => Time({ at: row.sent_at }) },
        ]}
      />
    )}
  </Section>
)
