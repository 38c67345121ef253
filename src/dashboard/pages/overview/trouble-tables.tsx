/**
 * NAME      trouble-tables - what waits where, and which domains refuse most
 */

import type { MailEvent } from '../../../record/event.js'
import { briefReason, codeWords } from '../../mail/meaning.js'
import { figure } from '../../parts/figure.js'
import { Empty, Reply, Section } from '../../parts/page-parts.js'
import { State } from '../../parts/status.js'
import { type List, Table } from '../../parts/table.js'
import { Time } from '../../parts/time.js'
import type { Visit } from '../../visit.js'
import { type Facts, percent, windowOf } from './figures.js'

export const WaitingByPool = ({ visit, facts }: { readonly visit: Visit; readonly facts: Facts }) => {
  const isDown = ({ state }: { readonly state: string }) => Number(state === 'down')
  const rows = (facts.state?.pools ?? [])
    .filter((one) => one.waiting + one.held > 0 || isDown(one) === 1)
    .sort((a, b) => isDown(b) - isDown(a) || b.waiting + b.held - a.waiting - a.held)
  const nameOf = (id: string) => facts.pools.find((one) => one.id === id)?.name ?? id
  return (
    <Section title="Waiting, by pool" actions={<a href={visit.link('/queue')}>Queue</a>}>
      {rows.length === 0 ? (
        <p class="soft">Nothing waits.</p>
      ) : (
        <Table
          caption="Waiting mail by pool"
          rows={rows}
          href={(row) => visit.link(`/pools/${row.egress_pool_id}`)}
          columns={[
            { head: 'Pool', kind: 'grow', cell: (row) => <bdi>{nameOf(row.egress_pool_id)}</bdi> },
            {
              head: 'Waiting',
              kind: 'num',
              cell: ({ waiting, egress_pool_id }) => (
                <Figure n={waiting} to={visit.link('/queue/entries', { egress_pool_id })} />
              ),
            },
            { head: 'Held', kind: 'num', cell: (row) => figure(row.held) },
            { head: 'Oldest', kind: 'num', cell: (row) => <Time at={row.oldest_at} none="" /> },
            {
              head: 'State',
              kind: 'fit',
              cell: ({ state }) => {
                const [tone, words] = STATES[state]
                return <State {...{ tone }}>{words}</State>
              },
            },
          ]}
        />
      )}
    </Section>
  )
}

const STATES = {
  ok: ['ok', 'Takes mail'],
  weak: ['wait', 'Takes some'],
  down: ['bad', 'Down'],
  paused: ['wait', 'Paused'],
  no_upstream: ['bad', 'No upstream'],
} as const

/** A figure as the link to its mails; none has none. */
const Figure = ({ n, to, title }: { readonly n: number; readonly to: string; readonly title?: string }) =>
  n === 0 ? (
    <span class="faint">0</span>
  ) : (
    <a href={to} title={title}>
      {figure(n)}
    </a>
  )

const MOST = 6

/** The latest replies that refused or put off, one request for all domains. */
export const latestReplies = async (visit: Visit): Promise<ReadonlyMap<string, MailEvent>> => {
  const query = `type=email.bounced&type=email.deferred&limit=100&mode=${visit.scope.mode}`
  const found = await visit.part<List<MailEvent>>(`/v1/events?${query}`)
  const latest = new Map<string, MailEvent>()
  for (const event of 'data' in found ? found.data : []) {
    const domain = event.recipient?.slice(event.recipient.lastIndexOf('@') + 1).toLowerCase()
    if (domain !== undefined && event.smtp !== null && !latest.has(domain)) latest.set(domain, event)
  }
  return latest
}

interface WorstProps {
  readonly visit: Visit
  readonly facts: Facts
  readonly replies: ReadonlyMap<string, MailEvent>
}

const LatestReply = ({ event }: { readonly event: MailEvent | undefined }) => {
  if (!event?.smtp) return null
  const { code, enhanced, text } = event.smtp
  // the words of the list of mails, where a reason is known
  const means = briefReason(event.reason) ?? codeWords(enhanced, event.type === 'email.bounced')
  return (
    <>
      {means === null ? null : <span class="say">{means}</span>}
      <Reply text={`${code} ${enhanced ?? ''} ${text}`.slice(0, 300)} />
    </>
  )
}

const troubledOf = ({ domains }: Facts) =>
  (domains?.groups ?? [])
    .filter(({ key, totals }) => key !== null && totals.bounced.total + totals.deferred > 0)
    .sort((a, b) => b.totals.bounced.total + b.totals.deferred - a.totals.bounced.total - a.totals.deferred)
    .slice(0, MOST)

export const WorstDomains = ({ visit, facts, replies }: WorstProps) => {
  const to = (domain: string | null, status: string) =>
    visit.link('/emails', { domain, status, time: windowOf(visit) })
  return (
    <Section title="Recipient domains with most trouble" says="with their latest reply">
      <Table
        caption="Recipient domains with most trouble"
        rows={troubledOf(facts)}
        columns={[
          {
            head: 'Domain',
            cell: ({ key }) => (
              <a href={visit.link('/emails', { domain: key, time: windowOf(visit) })}>
                <bdi>{key}</bdi>
              </a>
            ),
          },
          { head: 'Accepted', kind: 'num', cell: ({ totals }) => figure(totals.accepted) },
          {
            head: 'Deferred',
            kind: 'num',
            cell: ({ key, totals }) => <Figure n={totals.deferred} to={to(key, 'deferred')} />,
          },
          {
            head: 'Bounced',
            kind: 'num',
            cell: ({ key, totals }) => (
              <Figure
                n={totals.bounced.total}
                to={to(key, 'bounced')}
                title={percent(totals.rates.bounced) ?? ''}
              />
            ),
          },
          {
            head: 'Latest reply',
            kind: 'grow',
            cell: ({ key }) => <LatestReply event={replies.get(key ?? '')} />,
          },
          {
            head: 'When',
            kind: 'num',
            cell: ({ key }) => <Time at={replies.get(key ?? '')?.occurred_at} none="" />,
          },
        ]}
        none={<Empty title="None: no bounce and no deferral in this time" />}
      />
    </Section>
  )
}
