/**
 * NAME      queue - what waits, where, since when, and why; and each recipient that waits, soonest first
 *   The first page in an alarm at night: the state as a sentence, what is in the way of whole pools, ages, domains that
 *   were slowed down with the reply that did it, and holds. A field of the ages is the darker the more of the mail it
 *   holds. Every button leads to a page that says first what the order would meet.
 */
import {
  type Age,
  type Hold,
  type PoolDepth,
  type QueueEntryRecord,
  type QueueStateRecord,
  type SlowDomain,
  sentence,
} from '../../../record/queue.js'
import { briefWaiting } from '../../mail/verdict.js'
import { Filters, Hidden, Select, Send, Word } from '../../parts/form.js'
import {
  ButtonLink,
  Choices,
  Code,
  Empty,
  HarmLink,
  PageBody,
  Reply,
  Section,
  TinyLink,
} from '../../parts/page-parts.js'
import { Status } from '../../parts/status.js'
import { col, type ListPage, Table, type TableColumn } from '../../parts/table.js'
import { Address, figure, Time } from '../../parts/text.js'
import { html } from '../../render.js'
import { type SitePage, titled, type Visit } from '../../visit.js'
import { actLink, anyOf, Holds, type PlaceNames, placesOf, Troubles, VERBS } from './holds.js'

interface Queue {
  readonly state: { readonly live: QueueStateRecord; readonly test?: QueueStateRecord }
  readonly data: readonly PoolDepth[]
  readonly throttled: readonly SlowDomain[]
}

interface Ages {
  readonly by: 'pool' | 'workspace' | 'domain'
  readonly complete: boolean
  readonly scheduled: number
  readonly data: readonly Age[]
}

const EDGES = [
  ['under_1m', 'under 1 min'],
  ['under_10m', '1 to 10 min'],
  ['under_1h', '10 to 60 min'],
  ['under_1d', '1 to 24 h'],
  ['over_1d', 'over 1 day'],
] as const

const HEADS = { pool: 'Pool', workspace: 'Workspace', domain: 'Recipient domain' } as const

const heat = (n: number, most: number): string =>
  n === 0 ? 'num none' : `num heat-${Math.max(1, Math.ceil((4 * n) / most))}`

const scopeOf = (by: Ages['by'], key: string) =>
  by === 'pool' ? { egress_pool_id: key } : by === 'workspace' ? { workspace_id: key } : { domain: key }

const whyText = (by: Ages['by'], row: Age, queue: Queue): string | null => {
  const found = queue.data.find(
    (one) =>
      one.waiting_for !== null &&
      ((by === 'pool' && one.egress_pool_id === row.key) ||
        (by === 'workspace' && one.workspace_id === row.key)),
  )
  return found?.waiting_for == null ? null : (found.waiting_for.detail.split('; ')[0] ?? null)
}

const AgesBy = ({ visit, by }: { readonly visit: Visit; readonly by: Ages['by'] }) => (
  <Choices
    label="Group by"
    options={(['pool', 'workspace', 'domain'] as const).map((one) => ({
      href: visit.here({ by: one === 'pool' ? null : one }),
      text: HEADS[one],
      on: one === by,
    }))}
  />
)

interface AgesProps {
  readonly visit: Visit
  readonly ages: Ages
  readonly queue: Queue
  readonly places: PlaceNames
}

const Row = ({ row, most, ...props }: AgesProps & { readonly row: Age; readonly most: number }) => {
  const { visit, ages, queue, places } = props
  const { by } = ages
  const name = by === 'pool' ? places.pool(row.key) : by === 'workspace' ? places.workspace(row.key) : row.key
  const why = whyText(by, row, queue)
  const scope = scopeOf(by, row.key)
  const list =
    by === 'workspace'
      ? visit.link('/queue/entries', { workspace: name })
      : visit.link('/queue/entries', scope)
  return (
    <tr role="row">
      <th role="rowheader" scope="row">
        <a href={list}>{by === 'domain' ? <Address text={name} /> : name}</a>
        {why === null ? null : <span class="sub">{why}</span>}
        <Reply text={row.last_response} clamp />
      </th>
      {EDGES.map(([key, label]) => (
        <td role="cell" class={heat(row.ages[key] ?? 0, most)} data-l={label}>
          {row.ages[key] === 0 ? <span class="faint">0</span> : figure(row.ages[key] ?? 0)}
        </td>
      ))}
      <td role="cell" class="num" data-l="Oldest">
        <Time at={row.oldest_at} />
      </td>
      <td role="cell" class="num" data-l="Next due">
        {row.next_due_at !== null && Date.parse(row.next_due_at) <= visit.now ? (
          'now'
        ) : (
          <Time at={row.next_due_at} none="under way" />
        )}
      </td>
      {visit.may('retryQueue') ? (
        <td role="cell" class="act">
          <div class="actions">
            <TinyLink to={actLink(visit, 'retry', scope)}>Retry</TinyLink>
            <TinyLink to={actLink(visit, 'hold', scope)}>Hold</TinyLink>
          </div>
        </td>
      ) : null}
    </tr>
  )
}

const AgesTable = (props: AgesProps) => {
  const { visit, ages } = props
  const most = Math.max(1, ...ages.data.flatMap((row) => Object.values(row.ages)))
  return (
    <>
      <table class="t many ages" role="table">
        <caption class="hid">Waiting by {HEADS[ages.by].toLowerCase()} and age</caption>
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader" scope="col">
              {HEADS[ages.by]}
            </th>
            {[...EDGES.map(([, label]) => label), 'Oldest', 'Next due'].map((label) => (
              <th role="columnheader" scope="col" class="num">
                {label}
              </th>
            ))}
            {visit.may('retryQueue') ? (
              <th role="columnheader" scope="col" class="act">
                <span class="hid">Actions</span>
              </th>
            ) : null}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {ages.data.map((row) => (
            <Row {...props} row={row} most={most} />
          ))}
        </tbody>
      </table>
      {ages.complete ? null : (
        <p class="soft">
          More waits than was looked at for this table: it shows about 10,000 recipients. The figures on top
          are whole.
        </p>
      )}
    </>
  )
}

const VERB_TEXT = {
  retry: 'Retry at once',
  hold: 'Hold',
  release: 'Release',
  reroute: 'Move to another pool',
  purge: 'Give up',
} as const

const paceText = ({ at_once, until }: SlowDomain) =>
  until === null ? (
    `${figure(at_once)} at once`
  ) : (
    <>
      paused, goes on <Time at={until} />
    </>
  )

const Slow = ({ visit, queue, places }: { visit: Visit; queue: Queue; places: PlaceNames }) => (
  <Section
    title="Slowed down"
    says="domains that asked for a slower pace and keep mail waiting; mail that is taken speeds them up again"
  >
    <Table
      caption="Recipient domains with a slower pace"
      rows={queue.throttled}
      columns={[
        {
          head: 'Recipient domain',
          cell: (row) => (
            <a
              href={visit.link('/queue/entries', { egress_pool_id: row.egress_pool_id, domain: row.domain })}
            >
              <Address text={row.domain} />
            </a>
          ),
        },
        { head: 'Pool', cell: (row) => places.pool(row.egress_pool_id) },
        { head: 'Pace now', cell: (row) => paceText(row) },
        { head: 'Because it said', kind: 'grow', cell: (row) => <Reply text={row.last_response} /> },
        { head: 'Since', kind: 'num', cell: (row) => <Time at={row.since} /> },
      ]}
    />
  </Section>
)

const Part = ({ visit, places }: { visit: Visit; places: PlaceNames }) => (
  <details class="fold">
    <summary>Act on a part of the queue</summary>
    <form class="form" action="/queue/order">
      <Hidden of={{ workspace: visit.scope.workspace }} />
      <div class="row">
        <Select
          name="verb"
          label="What to do"
          options={VERBS.map((verb) => [verb, VERB_TEXT[verb]] as const)}
        />
        <Select name="egress_pool_id" label="Pool" options={anyOf(places.pools)} />
        <Select name="workspace_id" label="Workspace" options={anyOf(places.workspaces)} />
      </div>
      <div class="row">
        <Word name="domain" label="Recipient domain" placeholder="example.com" />
        <Word name="email_id" label="One mail, by id" placeholder="em_…" />
      </div>
      <Send plain>See what it matches</Send>
    </form>
  </details>
)

const Nothing = () => (
  <Empty title="Where mail would wait">
    <p>
      Mail waits here when an upstream is down or slow, when a domain puts it off, or when somebody holds it.
      The command line shows the same:
    </p>
    <Code text="postern queue top" />
  </Empty>
)

const Acts = ({ visit, isEmpty }: { readonly visit: Visit; readonly isEmpty: boolean }) => (
  <>
    {isEmpty ? null : <ButtonLink to={actLink(visit, 'retry')}>Retry all now…</ButtonLink>}
    <HarmLink to={actLink(visit, 'hold')}>Hold…</HarmLink>
  </>
)

const groupOf = (visit: Visit): Ages['by'] => {
  const by = visit.query('by')
  return by === 'workspace' || by === 'domain' ? by : 'pool'
}

const queuePage: SitePage = {
  path: '/queue',
  async view(visit) {
    const by = groupOf(visit)
    const [queue, ages, holds, places] = await Promise.all([
      visit.ask<Queue>('GET', '/v1/queue'),
      visit.ask<Ages>('GET', '/v1/queue/ages', { query: { by, mode: visit.scope.mode } }),
      visit.ask<ListPage<Hold>>('GET', '/v1/holds', { query: { limit: 100 } }),
      placesOf(visit),
    ])
    const state = queue.state[visit.scope.mode] ?? queue.state.live
    const isEmpty = state.waiting + state.held === 0
    const acts = visit.may('retryQueue')
    return titled(
      'Queue',
      <PageBody
        title={<span dir="auto">{state.title}</span>}
        says={<span dir="auto">{state.says}</span>}
        actions={acts ? <Acts {...{ visit, isEmpty }} /> : undefined}
      >
        <Troubles {...{ visit, state }} withHolds={false} />
        {ages.data.length === 0 ? null : (
          <Section
            title="How long they have waited"
            says="recipients, by the time since they were accepted"
            actions={<AgesBy visit={visit} by={by} />}
          >
            <AgesTable {...{ visit, ages, queue, places }} />
          </Section>
        )}
        {queue.throttled.length === 0 ? null : <Slow {...{ visit, queue, places }} />}
        <Holds {...{ visit, places, holds: holds.data, state }} />
        {isEmpty && holds.data.length === 0 ? <Nothing /> : null}
        <Section title="One by one">
          <p>
            <a href={visit.link('/queue/entries')}>Each recipient that waits, soonest first, and why</a>
          </p>
          {acts ? <Part {...{ visit, places }} /> : null}
        </Section>
      </PageBody>,
    )
  },
}

const STATES = [
  [null, 'All'],
  ['waiting', 'Waiting'],
  ['under_way', 'Under way'],
  ['held', 'Held'],
] as const

const next = (row: QueueEntryRecord, visit: Visit) => {
  if (row.under_way) return 'under way'
  if (row.due_at === null) return html`<span class="st wait">held</span>`
  return Date.parse(row.due_at) <= visit.now ? 'now' : Time({ at: row.due_at })
}

const columns = (visit: Visit, places: PlaceNames): readonly TableColumn<QueueEntryRecord>[] => [
  col('Recipient', (row) => Address({ text: row.address, isTight: true })),
  col('Status', (row) => Status(row)),
  col('Why it waits', 'grow', ({ waiting, last_response: text }) => {
    const why = waiting && html`<span class="say" dir="auto">${sentence(briefWaiting(waiting))}</span>`
    return html`${why}${Reply({ text, clamp: true })}`
  }),
  col('Tries', 'num', (row) => row.attempts),
  col('Next', (row) => next(row, visit)),
  col('Pool', 'opt', (row) => {
    const whose = html`<span class="sub">${places.workspace(row.workspace_id)}</span>`
    return html`${places.pool(row.egress_pool_id)}${visit.scope.workspace === null && whose}`
  }),
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

const EntryFilters = ({ visit, places }: { readonly visit: Visit; readonly places: PlaceNames }) => (
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
const Onward = ({ visit, list }: { readonly visit: Visit; readonly list: ListPage<QueueEntryRecord> }) => {
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

const entriesPage: SitePage = {
  path: '/queue/entries',
  async view(visit) {
    const [list, places] = await Promise.all([
      visit.ask<ListPage<QueueEntryRecord>>('GET', '/v1/queue/entries', {
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
    return titled(
      'What waits',
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
      </PageBody>,
    )
  },
}

export const queuePages: readonly SitePage[] = [queuePage, entriesPage]
