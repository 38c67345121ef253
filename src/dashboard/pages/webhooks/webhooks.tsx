/**
 * NAME      webhooks - endpoints that are told of events, and how each does in words
 */
import { eventsLeft, type ShownWebhook, type Webhook } from '../../../resource/webhook.js'
import type { Page } from '../../page.js'
import { ManagedMark } from '../../parts/managed.js'
import { Code, Empty, PageBody } from '../../parts/page-parts.js'
import { State } from '../../parts/status.js'
import { type Column, type List, Pager, Table } from '../../parts/table.js'
import { Address, figure, isolate, spanWords, Time } from '../../parts/text.js'
import { html } from '../../render.js'
import { slugOf, workspacesOf } from '../access/whose.js'
import type { WorkspaceRow } from '../workspaces/workspaces.js'

/** The host and path without the scheme: what people call an endpoint by. */
export const nameOf = ({ endpoint }: Pick<Webhook, 'endpoint'>): string =>
  endpoint.replace(/^https?:\/\//, '').replace(/\?.*$/, '')

export const hostOf = ({ endpoint }: Pick<Webhook, 'endpoint'>): string =>
  nameOf({ endpoint }).replace(/\/.*$/, '')

const LONGEST_NAME = 60

/** For a sentence: several endpoints may share a host, so the end of a long path is what is kept of it. */
const calledIn = ({ endpoint }: Pick<Webhook, 'endpoint'>): string => {
  const name = nameOf({ endpoint }).replace(/\/$/, '')
  if (name.length <= LONGEST_NAME) return isolate(name)
  const host = hostOf({ endpoint })
  return isolate(`${host}/…${name.slice(-Math.max(12, LONGEST_NAME - host.length))}`)
}

export const SHAPES = {
  healthy: ['ok', 'delivered', 'Healthy'],
  refusing: ['wait', 'deferred', 'Refusing'],
  failing: ['bad', 'bounced', 'Failing'],
  disabled: ['', 'canceled', 'Off'],
} as const

/** /v1 calls an endpoint failing only after many failures in a row; somebody who looks wants to know before. */
export const stateOf = ({ health }: Webhook): keyof typeof SHAPES =>
  health.state === 'healthy' && health.failures > 0 ? 'refusing' : health.state

const Health = ({ row }: { readonly row: Webhook }) => {
  const [hue, icon, text] = SHAPES[stateOf(row)]
  return State({ tone: hue === 'ok' ? '' : hue, icon, hue, children: text })
}

const OFF_BECAUSE = {
  requested: 'somebody switched it off',
  gone: 'it answered 410, which means that it is gone',
  failures: 'it took nothing for five days',
} as const

/** What the page of an endpoint is about, in one sentence. `cause` is that of its latest failure. */
export const healthSentence = (row: Webhook, now: number, cause: string | null): string => {
  const { failing_since, failures, last_succeeded_at } = row.health
  const state = stateOf(row)
  const host = calledIn(row)
  const because = cause === null ? '.' : `: ${isolate(cause.replace(/\.$/, ''))}.`
  if (state === 'disabled') return `${host} is off: ${OFF_BECAUSE[row.disabled_reason ?? 'requested']}.`
  if (state === 'failing') {
    const since = failing_since === null ? '' : ` for ${spanWords(now - Date.parse(failing_since))}`
    return `${host} has failed${since}${because}`
  }
  if (state === 'refusing')
    return `${host} refused the last ${failures === 1 ? 'post' : `${failures} posts`}${because}`
  if (last_succeeded_at === null) return `${host} has been told nothing yet.`
  return `${host} takes what it is told.`
}

const LIMIT_MS = 5 * 86_400_000

const events = (n: number, capped = false): string =>
  `${figure(n)}${capped ? ' or more' : ''} ${n === 1 ? 'event' : 'events'}`

export const HealthDetail = ({ row }: { readonly row: ShownWebhook }) => {
  const { health } = row
  const left = eventsLeft(row)
  const late = left?.events ?? null
  const wait = left === null ? 'More than the log still has' : events(left.events, left.capped)
  if (health.state === 'disabled') {
    return (
      <>
        Since <Time at={row.disabled_at} />. {wait} happened since it stopped.
      </>
    )
  }
  if (health.state === 'healthy') {
    return (
      <>
        {late === 0 ? 'Nothing waits for it.' : `${wait} ${late === 1 ? 'waits' : 'wait'} for it.`} Last taken{' '}
        <Time at={health.last_succeeded_at} />.
      </>
    )
  }
  const off =
    health.failing_since === null ? null : new Date(Date.parse(health.failing_since) + LIMIT_MS).toISOString()
  return (
    <>
      {wait} {late === 1 ? 'waits' : 'wait'} for it; none is lost. The next try is{' '}
      <Time at={health.next_try_at} none="due" />. Without one success it is switched off <Time at={off} />.
    </>
  )
}

const eventsIn = ({ events }: Webhook): string => {
  if (events.includes('*')) return 'everything'
  const shown = events.slice(0, 3).map((name) => name.replace(/^email\./, ''))
  return events.length > 3 ? `${shown.join(', ')} and ${events.length - 3} more` : shown.join(', ')
}

const waitingCell = (row: ShownWebhook): string => {
  const left = eventsLeft(row)
  return left === null ? 'more than the log has' : `${figure(left.events)}${left.capped ? ' or more' : ''}`
}

const columns = (workspaces: readonly WorkspaceRow[]): readonly Column<ShownWebhook>[] => [
  {
    head: 'Endpoint',
    kind: 'grow',
    cell: (row) => html`<span class="mono">${Address({ text: nameOf(row) })}</span>${ManagedMark({ row })}`,
  },
  { head: 'Health', cell: (row) => Health({ row }) },
  { head: 'Told of', cell: (row) => html`<span title="${row.events.join(', ')}">${eventsIn(row)}</span>` },
  {
    head: 'Of',
    cell: (row) =>
      `${slugOf(workspaces, row.workspace_id) ?? 'the whole account'}${row.mode === 'test' ? ', test mail' : ''}`,
  },
  { head: 'Waiting', kind: 'num', cell: waitingCell },
  { head: 'Last taken', cell: (row) => Time({ at: row.health.last_succeeded_at }) },
]

const sentence = (rows: readonly Webhook[]): string => {
  const failing = rows.filter(({ health }) => health.state === 'failing')
  const [first] = failing
  if (first !== undefined) {
    return failing.length === 1
      ? `${nameOf(first)} fails.`
      : `${failing.length} of ${rows.length} endpoints fail.`
  }
  const off = rows.filter(({ health }) => health.state === 'disabled').length
  const many = rows.length === 1 ? 'One endpoint' : `${rows.length} endpoints`
  return off === 0 ? `${many}, none fails.` : `${many}, none fails; ${off} ${off === 1 ? 'is' : 'are'} off.`
}

const Teach = () => (
  <Empty title="No webhook yet" make={['/webhooks/new', 'Make a webhook', 'createWebhook']}>
    <p>
      A webhook tells a program of yours what became of each mail: delivered, bounced, complained. Every post
      is signed (Standard Webhooks), and tried again for 76 hours.
    </p>
    <Code text="postern webhook create https://crm.example/hooks/mail --events email.delivered,email.bounced" />
  </Empty>
)

export const webhooksPage: Page = {
  path: '/webhooks',
  async view(visit) {
    const [list, workspaces] = await Promise.all([
      visit.list<List<ShownWebhook>>('/v1/webhooks'),
      workspacesOf(visit),
    ])
    const rows = list.data
    return {
      title: 'Webhooks',
      body: (
        <PageBody
          title={rows.length === 0 ? 'Webhooks' : sentence(rows)}
          says="Endpoints of yours that are told of events."
          make={rows.length > 0 ? ['/webhooks/new', 'Make a webhook', 'createWebhook'] : null}
        >
          {rows.length === 0 ? (
            <Teach />
          ) : (
            <Table
              caption="Webhooks, newest first"
              rows={rows}
              columns={columns(workspaces)}
              href={(row) => visit.link(`/webhooks/${row.id}`)}
            />
          )}
          <Pager list={list} />
        </PageBody>
      ),
    }
  },
}
