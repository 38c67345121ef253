/**
 * NAME      list - endpoints that are told of events
 */

import type { Webhook } from '../../../record/webhook.js'
import type { Page } from '../../page.js'
import { figure } from '../../parts/figure.js'
import { Code, Empty, Head } from '../../parts/page-parts.js'
import { Pager } from '../../parts/pager.js'
import { type Column, type List, Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import { html } from '../../render/markup.js'
import { slugOf, type WorkspaceName, workspacesOf } from '../access/names.js'
import { Health, nameOf } from './record.js'

const eventsIn = ({ events }: Webhook): string => {
  if (events.includes('*')) return 'everything'
  const shown = events.slice(0, 3).map((name) => name.replace(/^email\./, ''))
  return events.length > 3 ? `${shown.join(', ')} and ${events.length - 3} more` : shown.join(', ')
}

const columns = (workspaces: readonly WorkspaceName[]): readonly Column<Webhook>[] => [
  { head: 'Endpoint', kind: 'grow', cell: (row) => html`<span class="mono">${nameOf(row)}</span>` },
  { head: 'Health', cell: (row) => Health({ row }) },
  { head: 'Told of', cell: (row) => html`<span title="${row.events.join(', ')}">${eventsIn(row)}</span>` },
  {
    head: 'Of',
    cell: (row) =>
      `${slugOf(workspaces, row.workspace_id) ?? 'the whole account'}${row.mode === 'test' ? ', test mail' : ''}`,
  },
  { head: 'Waiting', kind: 'num', cell: (row) => figure(row.waiting) },
  {
    head: 'Last taken',
    cell: (row) => Time({ at: row.health.last_succeeded_at }),
  },
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
      visit.ask<List<Webhook>>('GET', '/v1/webhooks', {
        query: { limit: 100, cursor: visit.query('cursor') },
      }),
      workspacesOf(visit),
    ])
    const rows = list.data
    return {
      title: 'Webhooks',
      body: (
        <>
          <Head
            title={rows.length === 0 ? 'Webhooks' : sentence(rows)}
            says="Endpoints of yours that are told of events."
            make={rows.length > 0 ? ['/webhooks/new', 'Make a webhook', 'createWebhook'] : null}
          />
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
        </>
      ),
    }
  },
}
