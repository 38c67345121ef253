/**
 * NAME      one - an endpoint: how it does, and what it was told
 */
import { tagText } from '../../../mail/query/tag.js'
import type { WebhookAttempt, WebhookEvent } from '../../../record/webhook.js'
import type { Page } from '../../page.js'
import { Said } from '../../parts/isolate.js'
import { Crumb, Facts, Section } from '../../parts/page-parts.js'
import { Icon } from '../../parts/status.js'
import type { List } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import type { Visit } from '../../visit.js'
import { slugOf, type WorkspaceName, workspacesOf } from '../access/names.js'
import { HistoryOf, historyOf } from '../settings/history.js'
import { PostInFull, Posts, type ShownPost } from './posts.js'
import { HealthDetail, healthSentence, nameOf, SHAPES, type ShownWebhook, stateOf } from './record.js'
import { Verbs, verbs } from './verbs.js'

const pathOf = (visit: Visit, more = ''): string =>
  `/v1/webhooks/${encodeURIComponent(visit.params.id ?? '')}${more}`

const WebhookFacts = ({ row, workspaces }: { row: ShownWebhook; workspaces: readonly WorkspaceName[] }) => (
  <Facts
    facts={[
      ['Address', <code>{row.endpoint}</code>],
      ['Told of', row.events.includes('*') ? 'everything' : row.events.join(', ')],
      [
        'Of the mail of',
        `${slugOf(workspaces, row.workspace_id) ?? 'the whole account'}${row.mode === 'test' ? ', test mail' : ''}`,
      ],
      row.domains.length === 0 ? null : ['Only from', row.domains.join(', ')],
      row.tags.length === 0 ? null : ['Only tagged', row.tags.map(tagText).join(', ')],
      row.header_names.length === 0 ? null : ['Header fields', row.header_names.join(', ')],
      ['Posted', row.fields === 'thin' ? 'without subject, addresses and tags' : 'all fields'],
      ['At the same time', `${row.max_in_flight}`],
      row.previous_secret_until === null
        ? null
        : ['The old secret signs until', <Time at={row.previous_secret_until} />],
      ['Made', <Time at={row.created_at} />],
    ]}
  />
)

/** One event in full, when the URL names it. */
const eventOf = async (visit: Visit) => {
  const event = visit.query('event')
  if (event === null) return null
  const path = pathOf(visit, `/events/${encodeURIComponent(event)}`)
  const [post, attempts] = await Promise.all([
    visit.find<ShownPost>(path, { scoped: false }),
    visit.find<{ readonly data: readonly WebhookAttempt[] }>(`${path}/attempts`, { scoped: false }),
  ])
  return post === null ? null : { post, attempts: attempts?.data ?? [] }
}

export const webhookPage: Page = {
  path: '/webhooks/{id}',
  async view(visit) {
    const query = { limit: 25, cursor: visit.query('cursor'), failed: visit.query('failed') }
    const [row, list, event, workspaces, history] = await Promise.all([
      visit.ask<ShownWebhook>('GET', pathOf(visit), { scoped: false }),
      visit.ask<List<WebhookEvent>>('GET', pathOf(visit, '/events'), { query, scoped: false }),
      eventOf(visit),
      workspacesOf(visit),
      historyOf(visit, { target: visit.params.id ?? '' }),
    ])
    const [tone, icon] = SHAPES[stateOf(row)]
    const cause = list.data.find((post) => post.kind !== 'test' && post.cause !== null)?.cause ?? null
    return {
      title: nameOf(row),
      body: (
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
          {event === null ? null : <PostInFull visit={visit} {...event} />}
          <Posts {...{ visit, list }} endpoint={row} />
          <Section title="Facts">
            <WebhookFacts {...{ row, workspaces }} />
          </Section>
          <HistoryOf visit={visit} about={{ target: row.id }} history={history} />
        </>
      ),
    }
  },
  does: {
    test: 'testWebhook',
    replay: 'replayWebhook',
    again: 'replayWebhookEvent',
    rotate: 'rotateWebhookSecret',
    enable: 'updateWebhook',
    disable: 'updateWebhook',
    delete: 'deleteWebhook',
  },
  actions: verbs,
}
