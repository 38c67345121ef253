/**
 * NAME      entries - each recipient that waits, soonest first, and why
 */
import type { Entry } from '../../../record/queue.js'
import { sentence } from '../../../record/queue-state.js'
import { briefWaiting } from '../../mail/verdict.js'
import type { Page } from '../../page.js'
import { Filters, Select, Word } from '../../parts/form.js'
import { ButtonLink, Choices, Empty, PageBody, Reply } from '../../parts/page-parts.js'
import { Status } from '../../parts/status.js'
import { type Column, type List, Table } from '../../parts/table.js'
import { Address, Time } from '../../parts/text.js'
import { html } from '../../render.js'
import type { Visit } from '../../visit.js'
import { actLink, anyOf, type Places, placesOf } from './holds.js'

const STATES = [
  [null, 'All'],
  ['waiting', 'Waiting'],
  ['under_way', 'Under way'],
  ['held', 'Held'],
] as const

const next = (row: Entry, visit: Visit) => {
  if (row.under_way) return 'under way'
  if (row.due_at === null) return html`<span class="st wait">held</span>`
  return Date.parse(row.due_at) <= visit.now ? 'now' : Time({ at: row.due_at })
}

const columns = (visit: Visit, places: Places): readonly Column<Entry>[] => [
  { head: 'Recipient', cell: (row) => Address({ text: row.address, isTight: true }) },
  { head: 'Status', cell: (row) => Status(row) },
  {
    head: 'Why it waits',
    kind: 'grow',
    cell: ({ waiting, last_response: text }) => {
      const why = waiting && html`<span class="say" dir="auto">${sentence(briefWaiting(waiting))}</span>`
      return html`${why}${Reply({ text, clamp: true })}`
    },
  },
  { head: 'Tries', kind: 'num', cell: (row) => row.attempts },
  { head: 'Next', cell: (row) => next(row, visit) },
  {
    head: 'Pool',
    kind: 'opt',
    cell: (row) => {
      const whose = html`<span class="sub">${places.workspace(row.workspace_id)}</span>`
      return html`${places.pool(row.egress_pool_id)}${visit.scope.workspace === null && whose}`
    },
  },
  {
    does: 'retryQueue',
    head: '',
    kind: 'act',
    cell: ({ under_way, due_at, email_id }) => {
      if (under_way) return null
      const [verb, does] = due_at === null ? (['release', 'Release'] as const) : (['retry', 'Retry'] as const)
      return html`<a class="b tiny" href="${actLink(visit, verb, { email_id })}">${does}</a>`
    },
  },
]

const EntryFilters = ({ visit, places }: { readonly visit: Visit; readonly places: Places }) => (
  <div class="filters">
    <Choices
      label="State"
      options={STATES.map(([state, text]) => ({
        href: visit.here({ state }),
        text,
        on: state === visit.query('state'),
      }))}
    />
    <Filters path="/queue/entries" keep={{ workspace: visit.scope.workspace, state: visit.query('state') }}>
      <Select
        name="egress_pool_id"
        label="Pool"
        options={anyOf(places.pools)}
        chosen={visit.query('egress_pool_id')}
      />
      <Word name="domain" label="Domain" placeholder="example.com" />
    </Filters>
  </div>
)

/** There is no way back in a list that moves, but to its front. */
const Onward = ({ visit, list }: { readonly visit: Visit; readonly list: List<Entry> }) => {
  const { has_next, has_prev, next_cursor } = list.pagination
  return (
    <nav class="pager" aria-label="Pages of the list">
      {has_prev ? <ButtonLink to={visit.here({ cursor: null })}>From the front</ButtonLink> : null}
      {has_next && next_cursor !== null ? (
        <a class="b" rel="next" href={visit.here({ cursor: next_cursor })}>
          Due later
        </a>
      ) : null}
    </nav>
  )
}

export const entriesPage: Page = {
  path: '/queue/entries',
  async view(visit) {
    const [list, places] = await Promise.all([
      visit.ask<List<Entry>>('GET', '/v1/queue/entries', {
        query: {
          mode: visit.scope.mode,
          egress_pool_id: visit.query('egress_pool_id'),
          domain: visit.query('domain'),
          state: visit.query('state'),
          cursor: visit.query('cursor'),
          limit: 50,
        },
      }),
      placesOf(visit),
    ])
    return {
      title: 'What waits',
      body: (
        <PageBody
          crumb={['/queue', 'Queue', 'one by one']}
          title="What waits, soonest first"
          says="Then what is under way, then what is held. Rows move while the queue works."
        >
          <EntryFilters {...{ visit, places }} />
          <Table
            look="many"
            caption="Recipients that wait, soonest first"
            rows={list.data}
            href={(row) => visit.link(`/emails/${row.email_id}`)}
            columns={columns(visit, places)}
            none={<Empty title="Nothing here waits" says="Nothing of this part of the queue waits now." />}
          />
          <Onward {...{ visit, list }} />
        </PageBody>
      ),
    }
  },
}
