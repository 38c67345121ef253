/**
 * NAME      pools - the ways out; one of them with its upstreams as they do now, what may be done about them, and how new ones warm up
 */
import type { QueueStateRecord } from '../../../record/queue.js'
import { settingsOf } from '../../../resource/member.js'
import { POOL } from '../../../resource/tenants.js'
import type { Form } from '../../form.js'
import { Strips } from '../../parts/charts.js'
import { ActionForm, Field, Hidden, Leave, Send, useOwnRefusal, Verb } from '../../parts/form.js'
import {
  asSentence,
  ButtonLink,
  Code,
  Empty,
  Facts,
  ManagedMark,
  ManagedNote,
  PageBody,
  Section,
  TinyLink,
} from '../../parts/page-parts.js'
import { SettingField, settingFacts, settingsIn } from '../../parts/setting.js'
import { Icon, SHAPES } from '../../parts/status.js'
import { col, type ListPage, Pager, Table, type TableColumn } from '../../parts/table.js'
import { Address, figure, Time } from '../../parts/text.js'
import { html } from '../../render.js'
import {
  does,
  type FormDone,
  type SitePage,
  titled,
  type View,
  type Visit,
  type WorkspaceName,
} from '../../visit.js'
import { actLink, HeldNotes, holdsOver, standingHolds } from '../queue/holds.js'
import { type History, HistoryOf, historyOf } from '../settings/audit.js'
import {
  aboutOf,
  addressOf,
  type Health,
  kept,
  LastError,
  MemberFields,
  memberOf,
  type Pool,
  type PoolMember,
  type ShownUpstream,
  type TrialRecord,
  Trials,
  UpstreamState,
} from './upstream.js'

type Warmup = NonNullable<ShownUpstream['warmup']>

const DAY_MS = 86_400_000
/** As many days fit into one chart. */
const MOST_DAYS = 60

/** Its days one after another, those without mail among them, to the last one with mail; a day without has the limit of the next. */
const calendarOf = ({ past }: Warmup) => {
  const last = Date.parse(past.at(-1)?.at ?? '')
  const first = Math.max(Date.parse(past[0]?.at ?? ''), last - (MOST_DAYS - 1) * DAY_MS)
  const times = Array.from({ length: (last - first) / DAY_MS + 1 }, (_, i) => first + i * DAY_MS)
  return times.map((at) => {
    const next = past.find((one) => Date.parse(one.at) >= at)
    const isIt = next !== undefined && Date.parse(next.at) === at
    return { at: new Date(at).toISOString(), used: isIt ? next.used : 0, limit: next?.limit ?? 0 }
  })
}

const DaysOf = ({ warmup, name, id }: { warmup: Warmup; name: string; id: string }) => {
  const days = calendarOf(warmup)
  const times = days.map(({ at }) => at)
  const until = new Date(Date.parse(times.at(-1) ?? '') + DAY_MS).toISOString()
  const given = days.map(({ used }) => used)
  const allowed = days.map(({ limit }) => limit)
  return (
    <Strips
      {...{ id, times, until }}
      caption={`Recipients of ${name} by days of UTC`}
      strips={[
        { name: 'Given', total: given.at(-1) ?? 0, rate: 'on the last day', values: given },
        { name: 'Allowed', tone: 'ok', total: allowed.at(-1) ?? 0, rate: 'on that day', values: allowed },
      ]}
    />
  )
}

const WarmingUp = ({ pool, health }: { readonly pool: Pool; readonly health: Health | null }) => {
  const warming = pool.members.flatMap((row) => {
    const warmup = health?.members.find(({ id }) => id === row.id)?.warmup ?? null
    return warmup === null ? [] : [{ name: addressOf(row), warmup }]
  })
  if (warming.length === 0) return null
  return (
    <Section
      title="Warm-up"
      says="each day with mail allows twice as many recipients; what is over goes to other upstreams of the pool, or waits for the next day (UTC)"
      id="warm-up"
    >
      {warming.map(({ name, warmup }, at) => {
        const { day, days, used, limit, started_at, past } = warmup
        return (
          <>
            <Facts
              facts={[
                ['Upstream', <Address text={name} />],
                ['Day', limit === null ? `over after ${days} days` : `${day} of ${days}`],
                ['Today', limit === null ? 'no limit' : `${figure(used)} of ${figure(limit)} recipients`],
                ['Began', <Time at={started_at} none="begins with the first mail that it takes" />],
              ]}
            />
            {past.length === 0 ? null : <DaysOf {...{ name, warmup }} id={`warm-up-${at}`} />}
          </>
        )
      })}
    </Section>
  )
}

const SETTINGS = settingsOf(POOL)

const Settings = ({ pool }: { readonly pool: Pool }) => (
  <details class="fold" open={useOwnRefusal('settings') !== null}>
    <summary>Change these</summary>
    <ActionForm action="settings">
      <Field name="name" label="Name" value={pool.name} required maxLength={63} />
      {SETTINGS.map((of) => (
        <SettingField {...{ of }} row={pool} />
      ))}
      <Send plain>Save</Send>
    </ActionForm>
  </details>
)

interface Seen {
  readonly visit: Visit
  readonly pool: Pool
  readonly health: Health | null
  readonly nameOf: (id: string) => string
  readonly users: readonly string[]
  readonly history: History
  readonly holds: Parameters<typeof holdsOver>[0]
  /** Recipients that wait for a time of their own: they are in no other figure, as in the list of pools. */
  readonly scheduled: number
}

const pathOf = (ref: string): string => `/v1/egress-pools/${encodeURIComponent(ref)}`

const see = async (visit: Visit): Promise<Seen> => {
  const { id = '' } = visit.params
  const query = { limit: 100 }
  const found = visit.ask<Pool>('GET', pathOf(id))
  const [pool, health, workspaces, pools, history, holds] = await Promise.all([
    found,
    visit.find<Health>(`${pathOf(id)}/health`),
    visit.workspaces<WorkspaceName & { readonly egress_pool_id: string | null }>(),
    visit.ask<ListPage<Pool>>('GET', '/v1/egress-pools', { query }),
    found.then((one) => historyOf(visit, { target: one.id })),
    standingHolds(visit),
  ])
  const summary = await visit.summary()
  const [state] = [...(summary?.live.pools ?? []), ...(summary?.test.pools ?? [])].filter(
    ({ egress_pool_id }) => egress_pool_id === pool.id,
  )
  const names = new Map(pools.data.map((one) => [one.id, one.name]))
  const users = workspaces.flatMap(({ slug, egress_pool_id }) => (egress_pool_id === pool.id ? [slug] : []))
  return {
    visit,
    pool,
    health,
    nameOf: (one) => names.get(one) ?? one,
    users,
    history,
    holds: holdsOver(holds, { pool: pool.id }),
    scheduled: state?.scheduled ?? 0,
  }
}

const STATES = {
  paused: {
    label: 'Pause',
    says: 'gets no new mail until it is resumed. What is on its connections ends.',
    harm: true,
  },
  draining: { label: 'Drain', says: 'ends what it has, and then gets no more.', harm: false },
  active: { label: 'Resume', says: 'gets mail again.', harm: false },
} as const

const Acts = ({ visit, row, pool }: Seen & { readonly row: PoolMember }) => {
  const name = addressOf(row)
  const alone = pool.members.filter(({ state }) => state === 'active').length === 1 && row.state === 'active'
  const states = row.state === 'active' ? (['paused', 'draining'] as const) : (['active'] as const)
  return (
    <div class="actions">
      <Verb action="test" label="Test" reason="none" about={{ upstream_id: row.id }} tiny>
        Connects to {name} as the relay does, and says what it offers. No mail is sent.
      </Verb>
      {states.map((state) => (
        <Verb
          action="state"
          label={STATES[state].label}
          reason={state === 'active' ? 'optional' : 'required'}
          harm={STATES[state].harm && alone}
          about={{ upstream_id: row.id, state }}
          tiny
        >
          {name} {STATES[state].says}
          {alone ? ' It is the only upstream in use: mail of this pool would wait.' : ''}
        </Verb>
      ))}
      <TinyLink to={visit.here({ change: row.id })}>Change</TinyLink>
      <Verb action="remove" label="Remove" about={{ upstream_id: row.id }} harm tiny>
        {name} and its password are forgotten.
        {pool.members.length === 1 ? ' The pool has no other upstream: its mail would wait.' : ''}
      </Verb>
    </div>
  )
}

const connections = (live: ShownUpstream | undefined, row: PoolMember) =>
  live?.connections == null ? (
    <span class="faint">{`at most ${row.max_connections}`}</span>
  ) : (
    <>
      {`${live.connections} of ${row.max_connections}`}
      <span class="sub">{`${live.under_way ?? 0} mails on the wire`}</span>
    </>
  )

const memberColumns = (seen: Seen): readonly TableColumn<PoolMember>[] => {
  const { health } = seen
  const live = new Map((health?.members ?? []).map((one) => [one.id, one]))
  return [
    col('Upstream', (row) => (
      <>
        <Address text={addressOf(row)} />
        <span class="sub">{aboutOf(row)}</span>
      </>
    )),
    col('State', (row) => <UpstreamState live={live.get(row.id)} most={row.max_connections} />),
    col('Connections', (row) => connections(live.get(row.id), row)),
    col('Last success', (row) => <Time at={live.get(row.id)?.last_success_at} none="none yet" />),
    col('Last error', 'grow', (row) => <LastError live={live.get(row.id)} />),
    { does: 'updateEgressPool', head: '', kind: 'act', cell: (row) => <Acts {...seen} row={row} /> },
  ]
}

const Upstreams = (seen: Seen) => {
  const { visit, pool, nameOf } = seen
  if (pool.kind === 'sandbox') return null
  const follows = pool.follows
  return (
    <Section
      title="Upstreams"
      says={
        follows === null ? undefined : (
          <>
            it has none of its own, and shares those of{' '}
            <a href={visit.link(`/pools/${follows}`)}>{nameOf(follows)}</a>: their limits and pauses are
            shared, and so are its return path and reports. The first upstream added here ends that.
          </>
        )
      }
      actions={
        pool.members.length > 0 && visit.may('updateEgressPool') ? (
          <Verb action="test" label="Test all" reason="none">
            Connects to each as the relay does, and says what it offers. No mail is sent.
          </Verb>
        ) : undefined
      }
    >
      {pool.members.length > 0 ? (
        <Table caption="Upstreams" rows={pool.members} columns={memberColumns(seen)} look="many" />
      ) : follows === null ? (
        <Empty title="No upstream" says="Mail of this pool waits until it has one." />
      ) : null}
    </Section>
  )
}

const Saving = ({ visit, pool }: Seen) => {
  if (pool.kind === 'sandbox' || !visit.may('updateEgressPool')) return null
  const member = pool.members.find(({ id }) => id === visit.query('change')) ?? null
  return (
    <Section title={member === null ? 'Add an upstream' : `Change ${addressOf(member)}`} id="save">
      <ActionForm action="save" of={member}>
        <Hidden of={{ upstream_id: member?.id }} />
        <MemberFields member={member} />
        <Send beside={member && <Leave to={visit.here({ change: null })} />}>
          {member === null ? 'Add, then test' : 'Change, then test'}
        </Send>
      </ActionForm>
    </Section>
  )
}

const About = (seen: Seen) => {
  const { visit, pool, users } = seen
  const mayChange = visit.may('updateEgressPool') && pool.kind === 'relay'
  return (
    <Section
      title="Settings"
      actions={
        mayChange ? (
          <Verb action="delete" label="Delete the pool" harm>
            The pool and the passwords of its upstreams are forgotten. Refused while a workspace uses it or
            mail waits in it.
          </Verb>
        ) : undefined
      }
    >
      <Facts
        facts={[
          ...settingFacts(SETTINGS, pool),
          [
            'Used by',
            users.length === 0
              ? 'no workspace'
              : users.map((slug, i) => (
                  <>
                    {i === 0 ? '' : ', '}
                    <a href={visit.link(`/workspaces/${slug}`)}>{slug}</a>
                  </>
                )),
          ],
          ['Changed', <Time at={pool.updated_at} />],
          ['Id', <code>{pool.id}</code>],
        ]}
      />
      {mayChange ? <Settings {...seen} /> : null}
    </Section>
  )
}

const InQueue = ({ visit, pool, health, scheduled }: Seen) => {
  if (health === null) return null
  const { due, leased, held } = health.queue
  const waiting = Math.max(0, health.queue.waiting - scheduled)
  const list = (n: number, words: string, state: string) =>
    html`<a href="${visit.link('/queue/entries', { egress_pool_id: pool.id, state })}">${figure(n)} ${words}</a>`
  return (
    <Section
      title="In its queue"
      actions={
        pool.kind === 'relay' && visit.may('rerouteQueue') && due + waiting + scheduled + held > 0 ? (
          <ButtonLink to={actLink(visit, 'reroute', { egress_pool_id: pool.id })}>
            Move it to another pool…
          </ButtonLink>
        ) : undefined
      }
    >
      <p>
        {list(due + waiting, `wait (${figure(due)} due now)`, 'waiting')},{' '}
        {scheduled === 0
          ? null
          : `${figure(scheduled)} for ${scheduled === 1 ? 'a time of its own' : 'times of their own'}, `}
        {list(leased, 'under way', 'under_way')}, {list(held, 'held', 'held')}.
      </p>
    </Section>
  )
}

const viewOf = (seen: Seen, trials: readonly TrialRecord[] | null): View => {
  const { visit, pool, health } = seen
  return titled(
    `Pool ${pool.name}`,
    <PageBody
      crumb={['/pools', 'Pools', pool.name]}
      title={pool.name}
      says={
        <span dir="auto">
          {pool.kind === 'sandbox' ? 'Built in: test mail ends here, and nobody gets it. ' : null}
          {health?.says}
        </span>
      }
    >
      <HeldNotes
        {...{ visit, holds: pool.kind === 'sandbox' ? [] : seen.holds }}
        what={(hold) => (hold.egress_pool_id === null ? 'The whole queue is held' : 'This pool is held')}
      />
      <ManagedNote row={pool} />
      <InQueue {...seen} />
      {trials === null ? null : <Trials trials={trials} />}
      <Upstreams {...seen} />
      <WarmingUp {...seen} />
      <About {...seen} />
      <Saving {...seen} />
      <HistoryOf visit={visit} about={{ target: pool.id }} history={seen.history} />
    </PageBody>,
  )
}

const tried = async (visit: Visit, upstreamId: string | null): Promise<readonly TrialRecord[]> => {
  const path = `${pathOf(visit.params.id ?? '')}/test`
  const body = upstreamId === null ? {} : { upstream_id: upstreamId }
  return (await visit.ask<{ data: readonly TrialRecord[] }>('POST', path, { body })).data
}

/** Changes the list of members as it is now; what is not touched keeps its settings and its password. */
const changeMembers = async (
  visit: Visit,
  form: Form,
  change: (members: readonly PoolMember[]) => readonly object[],
): Promise<Pool> => {
  const path = pathOf(visit.params.id ?? '')
  const { members } = await visit.ask<Pool>('GET', path)
  return visit.ask<Pool>('PATCH', path, { body: { members: change(members), reason: form.text('reason') } })
}

const here = (visit: Visit): string => visit.link(`/pools/${visit.params.id}`)

const save = async (visit: Visit, form: Form): Promise<FormDone> => {
  const id = form.text('upstream_id')
  const wish = memberOf(form)
  const pool = await changeMembers(visit, form, (members) =>
    id === null
      ? [...members.map(kept), wish]
      : members.map((one) => (one.id === id ? { id, state: one.state, ...wish } : kept(one))),
  )
  const saved = id ?? pool.members.at(-1)?.id ?? null
  return { view: viewOf(await see(visit), await tried(visit, saved)) }
}

const poolPage: SitePage = {
  path: '/pools/{id}',
  view: async (visit) => viewOf(await see(visit), null),
  actions: {
    save: does('updateEgressPool', save),
    test: does('testEgressPool', async (visit, form) => {
      const trials = await tried(visit, form.text('upstream_id'))
      return { view: viewOf(await see(visit), trials) }
    }),
    state: does('updateEgressPool', async (visit, form) => {
      const state = form.raw('state')
      const id = form.raw('upstream_id')
      const { members } = await changeMembers(visit, form, (all) =>
        all.map((one) => ({ ...kept(one), ...(one.id === id && { state }) })),
      )
      const one = members.find((member) => member.id === id)
      return { to: here(visit), notice: `${one === undefined ? 'It' : addressOf(one)} is ${state}.` }
    }),
    remove: does('updateEgressPool', async (visit, form) => {
      const id = form.raw('upstream_id')
      await changeMembers(visit, form, (members) => members.filter((one) => one.id !== id).map(kept))
      return { to: here(visit), notice: 'The upstream is removed.' }
    }),
    settings: does('updateEgressPool', async (visit, form) => {
      const { id } = await visit.ask<Pool>('PATCH', pathOf(visit.params.id ?? ''), {
        body: { name: form.text('name'), ...settingsIn(SETTINGS, form) },
      })
      return { to: visit.link(`/pools/${id}`), notice: 'The pool is changed.' }
    }),
    delete: does('deleteEgressPool', async (visit, form) => {
      await visit.ask('DELETE', pathOf(visit.params.id ?? ''), { body: { reason: form.text('reason') } })
      return { to: visit.link('/pools'), notice: 'The pool is deleted.' }
    }),
  },
}

const titleOf = (rows: readonly Pick<Row, 'tone' | 'isHeld'>[]): string => {
  const count = (is: (row: Pick<Row, 'tone' | 'isHeld'>) => boolean) => rows.filter(is).length
  const bad = count(({ tone }) => tone === 'bad')
  const held = count(({ tone, isHeld }) => tone !== 'bad' && isHeld)
  const weak = count(({ tone, isHeld }) => tone === 'wait' && !isHeld)
  const told = [
    bad > 0 ? (bad === 1 ? 'One pool sends nothing' : `${bad} pools send nothing`) : null,
    held > 0 ? (held === 1 ? 'one pool is held' : `${held} pools are held`) : null,
  ].filter((one) => one !== null)
  if (told.length > 0) return asSentence(told.join(', and '))
  if (weak > 0) return weak === 1 ? 'One pool is weakened.' : `${weak} pools are weakened.`
  return rows.length === 1 ? 'The pool takes mail.' : `All ${rows.length} pools take mail.`
}

type State = QueueStateRecord['pools'][number]

interface Row {
  readonly pool: Pool
  /** Null for the one of test mail, and where nothing can be said. */
  readonly seen: State | null
  readonly tone: 'ok' | 'wait' | 'bad'
  readonly isHeld: boolean
  readonly text: string
}

const TONES = { ok: 'ok', weak: 'wait', down: 'bad', paused: 'bad', no_upstream: 'bad' } as const

const rowOf = (
  pool: Pool,
  states: readonly State[],
  nameOf: (id: string) => string,
  holds: Parameters<typeof holdsOver>[0],
): Row => {
  const [hold] = pool.kind === 'sandbox' ? [] : holdsOver(holds, { pool: pool.id })
  const isHeld = hold !== undefined
  const kept = isHeld ? asSentence(`It is held: ${hold.reason}`) : ''
  const seen = states.find(({ egress_pool_id: id }) => id === pool.id) ?? null
  const whose = pool.follows === null ? '' : `It uses the upstreams of ${nameOf(pool.follows)}.`
  const says = pool.kind === 'sandbox' ? 'Test mail ends here, and nobody gets it.' : (seen?.says ?? '')
  const tone = TONES[seen?.state ?? 'ok']
  const text = [kept, says, whose].filter((one) => one !== '').join(' ')
  return { pool, seen, tone: isHeld && tone === 'ok' ? 'wait' : tone, isHeld, text }
}

const columns = (visit: Visit): readonly TableColumn<Row>[] => {
  const entries = ({ pool }: Row, state: string | null, n: number | undefined) =>
    n === undefined ? (
      ''
    ) : (
      <a href={visit.link('/queue/entries', { egress_pool_id: pool.id, state })}>{figure(n)}</a>
    )
  return [
    col('Pool', ({ pool }) => html`<bdi>${pool.name}</bdi>${ManagedMark({ row: pool })}`),
    col(
      'State',
      'grow',
      ({ tone, isHeld, text }) =>
        html`<span class="say" dir="auto">${Icon({ name: isHeld && tone === 'wait' ? 'held' : SHAPES[tone], tone })} ${text}</span>`,
    ),
    col('Upstreams', ({ pool }) =>
      pool.members.map((one) => html`<span class="sub">${Address({ text: addressOf(one) })}</span>`),
    ),
    col('Waiting', 'num', (row) => entries(row, null, row.seen?.waiting)),
    col('Held', 'num', (row) => entries(row, 'held', row.seen?.held)),
  ]
}

const poolsPage: SitePage = {
  path: '/pools',
  async view(visit) {
    const [list, summary, holds] = await Promise.all([
      visit.list<ListPage<Pool>>('/v1/egress-pools'),
      visit.summary(),
      standingHolds(visit),
    ])
    const names = new Map(list.data.map(({ id, name }) => [id, name]))
    const states = [...(summary?.live.pools ?? []), ...(summary?.test.pools ?? [])]
    const rows = list.data.map((pool) => rowOf(pool, states, (id) => names.get(id) ?? id, holds))
    // as the margin counts: one that uses the upstreams of another, when it has mail
    const relays = rows.filter(
      ({ pool, seen }) =>
        pool.kind === 'relay' && (pool.follows === null || (seen !== null && seen.waiting + seen.held > 0)),
    )
    return titled(
      'Pools',
      <PageBody
        title={relays.length === 0 ? 'No pool yet.' : titleOf(relays)}
        says="A workspace sends through one pool; a pool shares its mail out among its upstream mail servers."
        make={['/pools/new', 'Make a pool', 'createEgressPool']}
      >
        <Table
          caption="Pools, newest first"
          rows={rows}
          href={({ pool }) => visit.link(`/pools/${pool.id}`)}
          columns={columns(visit)}
        />
        <Pager list={list} />
        {relays.some(({ pool }) => pool.members.length > 0) ? null : (
          <Empty title="Where mail goes">
            <p>
              Live mail needs an upstream: a mail server that takes it from here. Make a pool, or on the
              server:
            </p>
            <Code text="postern pool create main --upstream 'smtp://gw@mta1.example.net:587?tls=required&password_file=/run/secrets/mta1'" />
          </Empty>
        )}
      </PageBody>,
    )
  },
}

const newPoolPage: SitePage = {
  path: '/pools/new',
  opens: 'createEgressPool',
  async view() {
    return titled(
      'New pool',
      <PageBody
        crumb={['/pools', 'Pools', 'new']}
        title="Make a pool"
        says="With its first upstream; others are added on its page."
      >
        <ActionForm action="create">
          <Field name="name" label="Name" required maxLength={63} placeholder="main" />
          <MemberFields member={null} />
          <Send>Make the pool</Send>
        </ActionForm>
      </PageBody>,
    )
  },
  actions: {
    create: does('createEgressPool', async (visit, form) => {
      const body = { name: form.text('name'), members: [memberOf(form)] }
      const pool = await visit.ask<Pool>('POST', '/v1/egress-pools', { body })
      return {
        to: visit.link(`/pools/${pool.id}`),
        notice: `The pool ${pool.name} is made. Test it, then choose it for a workspace.`,
      }
    }),
  },
}

export const poolPages: readonly SitePage[] = [poolsPage, newPoolPage, poolPage]
