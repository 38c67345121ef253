/**
 * NAME      overview - is mail flowing, and if not, where does it wait
 * DESCRIPTION
 *   The state in a sentence, what is wrong below it, and then the figures that prove it: each a link to the mails that
 *   it counts, each chart with its table. Before the first mail it says what to do next.
 */
import type { MailEvent } from '../../../record/event.js'
import { exported } from '../../exported.js'
import type { EmailRow } from '../../mail/record.js'
import type { Page, RawRoute, View } from '../../page.js'
import { Lines } from '../../parts/chart/lines.js'
import { type Strip, Strips } from '../../parts/chart/strips.js'
import { ExportLinks } from '../../parts/export-links.js'
import { LiveState, Refreshed } from '../../parts/live.js'
import { Choices, Head, Note, Section } from '../../parts/page-parts.js'
import { spanWords, Time } from '../../parts/time.js'
import type { Visit } from '../../visit.js'
import { newestMails } from '../emails/emails.js'
import { FirstMail } from '../emails/first-mail.js'
import { Mails } from '../emails/rows.js'
import { TEST_MAIL } from '../emails/test-mail.js'
import { areNoted, Few, Troubles } from '../queue/blocks.js'
import { IncidentNote } from '../suppressions/incidents.js'
import { AlarmNote } from '../workspaces/record.js'
import {
  askScene,
  type Facts,
  percent,
  sentence,
  statisticsQuery,
  WINDOWS,
  type Window,
  windowOf,
} from './figures.js'
import { latestReplies, WaitingByPool, WorstDomains } from './trouble-tables.js'

interface Props {
  readonly visit: Visit
  readonly facts: Facts
}

/** Endpoints that take nothing, and pools that could send nothing. */
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
        .map((row) => <AlarmNote {...{ visit, row }} />)}
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

const stripsOf = (visit: Visit, { statistics }: Facts): readonly Strip[] => {
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

/** So few are looked at one by one. */
const FEW = 5

const FirstMails = ({ visit, rows }: { readonly visit: Visit; readonly rows: readonly EmailRow[] }) =>
  rows.length === 0 ? null : (
    <Section title="The first mails" actions={<a href={visit.link('/emails')}>All of them</a>}>
      <Mails {...{ visit, rows }} workspaces={null} form={null} />
    </Section>
  )

/** Before the first live mail test mail is what there is to see. */
const firstDay = async (visit: Visit, others: readonly EmailRow[]): Promise<View> => ({
  title: 'Overview',
  body: (
    <>
      <Head
        title={others.length === 0 ? 'Ready, and nothing was sent yet.' : `No ${visit.scope.mode} mail yet.`}
        says="The first mail that comes in appears here."
        actions={<LiveState table="mails" both />}
      />
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
    </>
  ),
})

const whole = (
  visit: Visit,
  facts: Facts,
  replies: ReadonlyMap<string, MailEvent>,
  first: readonly EmailRow[],
): View => {
  const chosen = windowOf(visit)
  return {
    title: 'Overview',
    body: (
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
      </>
    ),
  }
}

const view = async (visit: Visit): Promise<View> => {
  const [facts, replies] = await Promise.all([askScene(visit), latestReplies(visit)])
  if (facts.statistics.totals.accepted > FEW) return whole(visit, facts, replies, [])
  const first = await newestMails(visit, FEW)
  return first.length === 0
    ? firstDay(visit, await newestMails(visit, FEW, null))
    : whole(visit, facts, replies, first)
}

export const overviewPage: Page = { path: '/', view, ...TEST_MAIL }

export const statisticsExport: RawRoute = {
  path: '/statistics/export',
  answer: (visit) => exported(visit, '/v1/statistics', { query: statisticsQuery(visit) }),
}
