/**
 * NAME      overview - is mail flowing, and if not, where does it wait
 *   The state in a sentence, what is wrong below it, and then the figures that prove it: each a link to the mails that
 *   it counts, each chart with its table. Before the first mail it says what to do next.
 */
import type { MailEvent } from '../../record/event.js'
import { type Hold, type Incident, type QueueStateRecord, recipients } from '../../record/queue.js'
import type { Webhook } from '../../resource/webhook.js'
import type { StatisticsRecord } from '../../statistics/record.js'
import { AskError, type AskQuery, type Problem } from '../ask.js'
import { briefReason, codeWords, type ListedEmail } from '../mail/verdict.js'
import { Lines, type Strip, Strips } from '../parts/charts.js'
import {
  Choices,
  Empty,
  Head,
  LiveState,
  Note,
  PageBody,
  Refreshed,
  Reply,
  Section,
} from '../parts/page-parts.js'
import { State } from '../parts/status.js'
import { ExportLinks, exported, type ListPage, Table } from '../parts/table.js'
import { Address, figure, spanWords, Time } from '../parts/text.js'
import { type RawRoute, type SitePage, titled, type View, type Visit } from '../visit.js'
import { Mails, newestMails } from './emails/emails.js'
import { FirstMail, TEST_MAIL } from './emails/first-mail.js'
import type { Pool } from './pools/upstream.js'
import { areNoted, Few, holdsOver, standingHolds, Troubles } from './queue/holds.js'
import { IncidentNote, openIncidents } from './suppressions/suppressions.js'
import { AlarmNote, type ShownWorkspace } from './workspaces/workspaces.js'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const WINDOWS = {
  '1h': { words: '1 h', length: HOUR, interval: 'minute', each: 'minute' },
  '24h': { words: '24 h', length: DAY, interval: 'hour', each: 'hour' },
  '7d': { words: '7 d', length: 7 * DAY, interval: 'hour', each: 'hour' },
  '30d': { words: '30 d', length: 30 * DAY, interval: 'day', each: 'day' },
} as const
type Window = keyof typeof WINDOWS

const windowOf = (visit: Visit): Window => {
  const asked = visit.query('time') ?? '24h'
  return Object.hasOwn(WINDOWS, asked) ? (asked as Window) : '24h'
}

export interface OverviewFacts {
  readonly statistics: StatisticsRecord
  /** By recipient domain; null where it was refused. */
  readonly domains: StatisticsRecord | null
  readonly pools: readonly Pool[]
  readonly webhooks: readonly Webhook[]
  readonly workspaces: readonly ShownWorkspace[]
  readonly incidents: readonly Incident[]
  /** Asked for where there are alarms. */
  readonly holds: readonly Hold[]
  /** Null where it cannot be said. */
  readonly state: QueueStateRecord | null
}

const dataOf = <T,>(answer: ListPage<T> | { readonly data: readonly T[] } | Problem): readonly T[] =>
  'data' in answer ? answer.data : []

const noneIfRefused = (error: unknown): readonly never[] => {
  if (error instanceof AskError) return []
  throw error
}

export const statisticsQuery = (visit: Visit): AskQuery => {
  const { length, interval } = WINDOWS[windowOf(visit)]
  const from = new Date(visit.now - length).toISOString()
  return { mode: visit.scope.mode, tz: visit.zone, from, interval }
}

const askScene = async (visit: Visit): Promise<OverviewFacts> => {
  const query = statisticsQuery(visit)
  const few = { query: { limit: 100 } }
  // alarms and incidents are of live mail, and would be read as of what is looked at
  const isLive = visit.scope.mode === 'live'
  const [statistics, domains, pools, webhooks, workspaces, state, incidents] = await Promise.all([
    visit.ask<StatisticsRecord>('GET', '/v1/statistics', { query }),
    visit.part<StatisticsRecord>('/v1/statistics', {
      query: { ...query, interval: 'day', group_by: 'recipient_domain', limit: 50 },
    }),
    visit.part<ListPage<Pool>>('/v1/egress-pools', few),
    visit.part<ListPage<Webhook>>('/v1/webhooks', few),
    isLive ? visit.workspaces<ShownWorkspace>().catch(noneIfRefused) : [],
    visit.queueState(),
    isLive ? openIncidents(visit) : [],
  ])
  const isAlarmed = workspaces.some(({ alarmed }) => alarmed.length > 0)
  return {
    holds: isAlarmed ? await standingHolds(visit) : [],
    ...{ statistics, workspaces, incidents, state, pools: dataOf(pools) },
    domains: 'groups' in domains ? domains : null,
    webhooks: dataOf(webhooks).filter(({ mode }) => mode === visit.scope.mode),
  }
}

export const percent = (share: number | null | undefined): string | null =>
  share == null ? null : `${(share * 100).toFixed(1)} %`

/** Below it, and above the other, nobody says that all is well. */
const WELL = { delivered: 0.9, bounced: 0.05 }

const isWell = ({ statistics, workspaces, webhooks, incidents }: OverviewFacts): boolean => {
  const { delivered, bounced } = statistics.totals.rates
  if (workspaces.some(({ alarmed }) => alarmed.length > 0)) return false
  if (incidents.length > 0) return false
  if (webhooks.some(({ health }) => health.state === 'failing')) return false
  return (delivered ?? 0) >= WELL.delivered && (bounced ?? 0) < WELL.bounced
}

/** The state of the queue first; where mail flows, what became of it. */
export const sentence = (visit: Visit, facts: OverviewFacts, first: readonly ListedEmail[] = []): string => {
  const { statistics, state } = facts
  if (state !== null && state.tone !== 'ok') return state.title
  const { rates } = statistics.totals
  const { words: time, length } = WINDOWS[windowOf(visit)]
  // statistics come a moment later than the first mails
  const fresh = first.filter(({ created_at }) => Date.parse(created_at) >= visit.now - length)
  const seen = fresh.flatMap(({ counts }) => Object.values(counts)).reduce((sum, n) => sum + n, 0)
  const accepted = Math.max(statistics.totals.accepted, seen)
  if (accepted === 0) return `Nothing was sent in ${time}.`
  const [delivered, bounced] = [percent(rates.delivered), percent(rates.bounced)]
  const all = `${recipients(accepted)} in ${time}`
  if (state !== null && isWell(facts)) return `All is well: ${all}, ${delivered} delivered.`
  return delivered === null ? `${all}.` : `${all}: ${delivered} delivered, ${bounced} bounced.`
}

const WaitingByPool = ({ visit, facts }: { readonly visit: Visit; readonly facts: OverviewFacts }) => {
  const isDown = ({ state }: { readonly state: string }) => Number(state === 'down')
  const rows = (facts.state?.pools ?? [])
    .filter((one) => one.waiting + one.held > 0 || isDown(one) === 1)
    .sort((a, b) => isDown(b) - isDown(a) || b.waiting + b.held - a.waiting - a.held)
  const nameOf = (id: string) => facts.pools.find((one) => one.id === id)?.name ?? id
  return (
    <Section title="Waiting, by pool" actions={<a href={visit.link('/queue')}>Queue</a>}>
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
        none={<p class="soft">Nothing waits.</p>}
      />
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
const latestReplies = async (visit: Visit): Promise<ReadonlyMap<string, MailEvent>> => {
  const query = `type=email.bounced&type=email.deferred&limit=100&mode=${visit.scope.mode}`
  const found = await visit.part<ListPage<MailEvent>>(`/v1/events?${query}`)
  const latest = new Map<string, MailEvent>()
  for (const event of 'data' in found ? found.data : []) {
    const domain = event.recipient?.slice(event.recipient.lastIndexOf('@') + 1).toLowerCase()
    if (domain !== undefined && event.smtp !== null && !latest.has(domain)) latest.set(domain, event)
  }
  return latest
}

interface WorstProps {
  readonly visit: Visit
  readonly facts: OverviewFacts
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

const troubledOf = ({ domains }: OverviewFacts) =>
  (domains?.groups ?? [])
    .filter(({ key, totals }) => key !== null && totals.bounced.total + totals.deferred > 0)
    .sort((a, b) => b.totals.bounced.total + b.totals.deferred - a.totals.bounced.total - a.totals.deferred)
    .slice(0, MOST)

const WorstDomains = ({ visit, facts, replies }: WorstProps) => {
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
                <Address text={key ?? ''} />
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

interface Props {
  readonly visit: Visit
  readonly facts: OverviewFacts
}

const Unready = ({ visit, facts }: Props) => (
  <>
    {facts.webhooks
      .filter(({ health }) => health.state === 'failing')
      .map(({ id, endpoint, health }) => (
        <Note tone="wait" icon="alarm">
          <p>
            <strong>
              The webhook <bdi>{endpoint}</bdi> fails
            </strong>{' '}
            since <Time at={health.failing_since} />. <a href={visit.link(`/webhooks/${id}`)}>Its attempts</a>
          </p>
        </Note>
      ))}
    {facts.pools
      .filter(({ kind, follows, members }) => kind === 'relay' && follows === null && members.length === 0)
      .filter(
        ({ id }) =>
          !facts.state?.pools.some((row) => row.egress_pool_id === id && row.waiting + row.held > 0),
      )
      .filter(() => visit.scope.mode === 'live' && !visit.isDev)
      .map(({ id, name }) => (
        <Note tone="wait" icon="held">
          <p>
            The pool <bdi>{name}</bdi> has no upstream, so its mail waits.{' '}
            <a href={visit.link(`/pools/${id}`)}>Add one</a>
          </p>
        </Note>
      ))}
  </>
)

const Alarms = ({ visit, facts }: Props) => (
  <>
    <Few
      notes={facts.workspaces
        .filter(({ alarmed }) => alarmed.length > 0)
        .map((row) => {
          const over = holdsOver(facts.holds, { pool: row.egress_pool_id, workspace: row.id })
          return <AlarmNote {...{ visit, row }} isHeld={over.length > 0} />
        })}
    />
    {facts.incidents.map((incident) => (
      <IncidentNote {...{ incident }}>
        <p>
          <a href={visit.link('/suppressions', { workspace: incident.workspace_id })}>Decide</a>
        </p>
      </IncidentNote>
    ))}
    <Unready {...{ visit, facts }} />
  </>
)

/** Mails that an upstream has; a status names only how far they are now. */
const handedOn = (visit: Visit): string =>
  visit.link('/emails', {
    q: '-status:scheduled -status:queued -status:deferred -status:canceled -status:bounced',
    time: windowOf(visit),
  })

const stripsOf = (visit: Visit, { statistics }: OverviewFacts): readonly Strip[] => {
  const { totals, data } = statistics
  const to = (status: string | null) => visit.link('/emails', { status, time: windowOf(visit) })
  const strip = (
    name: string,
    status: 'delivered' | 'deferred' | 'bounced' | null,
    value: (figures: typeof totals) => number,
    look: Pick<Strip, 'tone' | 'icon'> = {},
  ): Strip => {
    const share = status === null ? null : percent(totals.rates[status])
    return {
      ...{ name, total: value(totals), href: to(status), values: data.map(value) },
      ...look,
      ...(share !== null && { rate: share }),
    }
  }
  return [
    strip('Accepted', null, ({ accepted }) => accepted),
    { ...strip('Sent', null, ({ sent }) => sent), icon: 'sent', href: handedOn(visit) },
    strip('Delivered', 'delivered', ({ delivered }) => delivered, { tone: 'ok', icon: 'delivered' }),
    strip('Deferred', 'deferred', ({ deferred }) => deferred, { tone: 'wait', icon: 'deferred' }),
    strip('Bounced', 'bounced', ({ bounced }) => bounced.total, { tone: 'bad', icon: 'bounced' }),
  ]
}

const Charts = ({ visit, facts }: Props) => {
  const { data, to } = facts.statistics
  const times = data.map(({ at }) => at)
  const { each } = WINDOWS[windowOf(visit)]
  return (
    <Section
      title="Recipients"
      says={`per ${each}; each strip has its own scale, its peak stands at the right`}
      actions={<ExportLinks path="/statistics/export" />}
    >
      <Strips {...{ times }} until={to} strips={stripsOf(visit, facts)} caption={`Per ${each}`} id="volume" />
    </Section>
  )
}

const Latency = ({ facts }: Props) => {
  const { data, to } = facts.statistics
  const of = (pick: (figures: (typeof data)[number]) => number | null) => data.map(pick)
  return (
    <Section title="Time from accepted to…" says="the median, and dashed the slowest 5 %">
      <Lines
        {...{ until: to, id: 'latency', caption: 'Seconds' }}
        times={data.map(({ at }) => at)}
        words={(value) => (value < 10 ? `${value.toFixed(1)} s` : spanWords(value * 1_000))}
        lines={[
          { name: 'Sent', values: of((one) => one.time_to_sent.p50) },
          { name: 'Sent, 95 %', dash: true, values: of((one) => one.time_to_sent.p95) },
          { name: 'Delivered', tone: 'ok', values: of((one) => one.time_to_delivered.p50) },
          { name: 'Delivered, 95 %', tone: 'ok', dash: true, values: of((one) => one.time_to_delivered.p95) },
        ]}
      />
    </Section>
  )
}

/** What is behind the state, where mail does not flow and no notes follow that say it. */
const Proof = ({ facts: { state } }: Pick<Props, 'facts'>) =>
  state === null || state.tone === 'ok' || areNoted(state) ? null : <span dir="auto">{state.says}</span>

const FEW = 5

const FirstMails = ({ visit, rows }: { readonly visit: Visit; readonly rows: readonly ListedEmail[] }) =>
  rows.length === 0 ? null : (
    <Section title="The first mails" actions={<a href={visit.link('/emails')}>All of them</a>}>
      <Mails {...{ visit, rows }} workspaces={null} form={null} />
    </Section>
  )

/** Before the first live mail test mail is what there is to see. */
const firstDay = async (visit: Visit, others: readonly ListedEmail[]): Promise<View> =>
  titled(
    'Overview',
    <PageBody
      title={others.length === 0 ? 'Ready, and nothing was sent yet.' : `No ${visit.scope.mode} mail yet.`}
      says="The first mail that comes in appears here."
      actions={<LiveState table="mails" both />}
    >
      <FirstMails {...{ visit }} rows={others} />
      <FirstMail visit={visit} workspaces={await visit.workspaces()} />
      {visit.isDev ? null : (
        <Section title="Then, for live mail">
          <p>
            Tell where mail leaves: <a href={visit.link('/pools')}>an upstream for the pool</a>, and{' '}
            <a href={visit.link('/domains')}>a sending domain</a> with its DKIM keys.
          </p>
        </Section>
      )}
    </PageBody>,
  )

const whole = (
  visit: Visit,
  facts: OverviewFacts,
  replies: ReadonlyMap<string, MailEvent>,
  first: readonly ListedEmail[],
): View => {
  const chosen = windowOf(visit)
  return titled(
    'Overview',
    <>
      <Refreshed id="overview">
        <Head
          title={<span dir="auto">{sentence(visit, facts, first)}</span>}
          says={<Proof {...{ facts }} />}
          actions={
            <Choices
              label="Time"
              options={(Object.keys(WINDOWS) as Window[]).map((one) => ({
                href: visit.here({ time: one === '24h' ? null : one }),
                text: WINDOWS[one].words,
                on: one === chosen,
              }))}
            />
          }
        />
        {facts.state === null ? null : <Troubles {...{ visit, state: facts.state }} withHolds />}
        <Alarms {...{ visit, facts }} />
        <FirstMails {...{ visit }} rows={first} />
        <Charts {...{ visit, facts }} />
        <div class="two">
          <Latency {...{ visit, facts }} />
          <WaitingByPool {...{ visit, facts }} />
        </div>
        <WorstDomains {...{ visit, facts, replies }} />
      </Refreshed>
      <LiveState />
    </>,
  )
}

const view = async (visit: Visit): Promise<View> => {
  const [facts, replies] = await Promise.all([askScene(visit), latestReplies(visit)])
  if (facts.statistics.totals.accepted > FEW) return whole(visit, facts, replies, [])
  const first = await newestMails(visit, FEW)
  return first.length === 0
    ? firstDay(visit, await newestMails(visit, FEW, null))
    : whole(visit, facts, replies, first)
}

export const overviewPage: SitePage = { path: '/', view, ...TEST_MAIL }

export const statisticsExport: RawRoute = {
  path: '/statistics/export',
  answer: (visit) => exported(visit, '/v1/statistics', { query: statisticsQuery(visit) }),
}
