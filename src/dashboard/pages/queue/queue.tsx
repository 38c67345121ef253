/**
 * NAME      queue - what waits, where, since when, and why
 * DESCRIPTION
 *   The first page of whoever is called at night: the state as a sentence, what is in the way of whole pools, ages,
 *   domains that were slowed down with the reply that did it, and holds. Every button leads to a page that says first
 *   what the order would meet.
 */

import type { Hold, SlowDomain } from '../../../record/queue.js'
import type { Page } from '../../page.js'
import { figure } from '../../parts/figure.js'
import { Select, Word } from '../../parts/filters.js'
import { Hidden, Send } from '../../parts/form.js'
import { Code, Empty, Head, Reply, Section } from '../../parts/page-parts.js'
import { type List, Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import type { Visit } from '../../visit.js'
import { AgesBy, AgesTable } from './ages.js'
import { Troubles } from './blocks.js'
import { Holds } from './holds.js'
import { actLink, VERBS } from './links.js'
import { anyOf, type Places, placesOf } from './places.js'
import type { Ages, Queue } from './state.js'

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

const Slow = ({ visit, queue, places }: { visit: Visit; queue: Queue; places: Places }) => (
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
              {row.domain}
            </a>
          ),
        },
        { head: 'Pool', cell: (row) => places.pool(row.egress_pool_id) },
        { head: 'Pace now', cell: (row) => paceText(row) },
        {
          head: 'Because it said',
          kind: 'grow',
          cell: (row) => <Reply text={row.last_response} />,
        },
        { head: 'Since', kind: 'num', cell: (row) => <Time at={row.since} /> },
      ]}
    />
  </Section>
)

const Part = ({ visit, places }: { visit: Visit; places: Places }) => (
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
    {isEmpty ? null : (
      <a class="b" href={actLink(visit, 'retry')}>
        Retry all now…
      </a>
    )}
    <a class="b harm" href={actLink(visit, 'hold')}>
      Hold…
    </a>
  </>
)

const groupOf = (visit: Visit): Ages['by'] => {
  const by = visit.query('by')
  return by === 'workspace' || by === 'domain' ? by : 'pool'
}

export const queuePage: Page = {
  path: '/queue',
  async view(visit) {
    const by = groupOf(visit)
    const [queue, ages, holds, places] = await Promise.all([
      visit.ask<Queue>('GET', '/v1/queue'),
      visit.ask<Ages>('GET', '/v1/queue/ages', { query: { by, mode: visit.scope.mode } }),
      visit.ask<List<Hold>>('GET', '/v1/holds', { query: { limit: 100 } }),
      placesOf(visit),
    ])
    const state = queue.state[visit.scope.mode] ?? queue.state.live
    const isEmpty = state.waiting + state.held === 0
    const acts = visit.may('retryQueue')
    return {
      title: 'Queue',
      body: (
        <>
          <Head
            title={<span dir="auto">{state.title}</span>}
            says={<span dir="auto">{state.says}</span>}
            actions={acts ? <Acts {...{ visit, isEmpty }} /> : undefined}
          />
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
        </>
      ),
    }
  },
}
