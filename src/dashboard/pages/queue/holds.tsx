/**
 * NAME      holds - parts of the queue by name, what keeps their mail, and the button that mends it
 *   A button leads to the page that says what an order would meet, before it is given.
 */
import type { VNode } from 'preact'
import { type Hold, type QueueStateRecord, recipients } from '../../../record/queue.js'
import type { Options } from '../../parts/form.js'
import { ButtonLink, Note, Section, TinyLink } from '../../parts/page-parts.js'
import { col, type ListPage, Table, type TableColumn } from '../../parts/table.js'
import { Address, Time } from '../../parts/text.js'
import type { Visit } from '../../visit.js'

export const SCOPE_NAMES = ['workspace_id', 'egress_pool_id', 'domain', 'email_id'] as const
type ScopeName = (typeof SCOPE_NAMES)[number]
export type ScopeWords = Readonly<Partial<Record<ScopeName, string>>>

export const VERBS = ['retry', 'hold', 'release', 'reroute', 'purge'] as const
export type QueueVerb = (typeof VERBS)[number]

/** Without a part it is about everything, or everything of the workspace in the URL. */
export const actLink = (visit: Visit, verb: QueueVerb, scope: ScopeWords = {}): string =>
  visit.link('/queue/order', { verb, ...scope })

interface Named {
  readonly id: string
  readonly text: string
}

export interface PlaceNames {
  readonly pools: readonly Named[]
  readonly workspaces: readonly Named[]
  pool(id: string): string
  workspace(id: string): string
}

const textOf = (rows: readonly Named[], id: string): string => rows.find((one) => one.id === id)?.text ?? id

/** Of a field that may be left open. */
export const anyOf = (rows: readonly Named[]): Options => [
  ['', 'any'],
  ...rows.map(({ id, text }) => [id, text] as const),
]

/** The first hundred of each; others are shown by their ids. */
export const placesOf = async (visit: Visit): Promise<PlaceNames> => {
  const query = { limit: 100 }
  const [workspaces, pools] = await Promise.all([
    visit.workspaces(),
    visit.ask<ListPage<{ id: string; name: string }>>('GET', '/v1/egress-pools', { query, scoped: false }),
  ])
  const named = {
    pools: pools.data.map(({ id, name }) => ({ id, text: name })),
    workspaces: workspaces.map(({ id, slug }) => ({ id, text: slug })),
  }
  return {
    ...named,
    pool: (id) => textOf(named.pools, id),
    workspace: (id) => textOf(named.workspaces, id),
  }
}

/** `pool main, mail to example.com`. */
export const scopeWords = (
  scope: { readonly [name in keyof ScopeWords]?: string | null },
  places: PlaceNames,
) => {
  const { workspace_id: workspace, egress_pool_id: pool, domain, email_id: email } = scope
  const parts = [
    workspace && `workspace ${places.workspace(workspace)}`,
    pool && `pool ${places.pool(pool)}`,
    domain && `mail to ${domain}`,
    email && `mail ${email}`,
  ].filter(Boolean)
  return parts.length === 0 ? 'the whole queue' : parts.join(', ')
}

interface HoldsProps {
  readonly visit: Visit
  readonly holds: readonly Hold[]
  readonly state: QueueStateRecord
  readonly places: PlaceNames
}

const columns = (visit: Visit, places: PlaceNames): readonly TableColumn<Hold>[] => [
  col('What', (row) => <Address text={scopeWords(row, places)} />),
  col('Why', 'grow', (row) => (
    <span class="say" dir="auto">
      {row.reason}
    </span>
  )),
  col('By', (row) => (row.owner === 'operator' ? 'an operator' : 'a key of the workspace')),
  col('Since', (row) => <Time at={row.created_at} />),
  col('Until', 'opt', () => 'released'),
  {
    does: 'liftHold',
    head: '',
    kind: 'act',
    cell: (row) => <TinyLink to={visit.link('/queue/release', { hold: row.id })}>Release…</TinyLink>,
  },
]

/** Of what no order holds: why it is held then. */
const others = ({ holds }: QueueStateRecord): readonly string[] =>
  holds.filter(({ hold_id: id, by }) => id === null && by !== 'many').map(({ says }) => says)

export const Holds = ({ visit, holds, state, places }: HoldsProps) => {
  const { held } = state
  if (holds.length === 0 && held === 0) return null
  return (
    <Section
      title="Held"
      says={
        <>
          <a href={visit.link('/queue/entries', { state: 'held' })}>{recipients(held)}</a> at rest; each hold
          stands until somebody releases it, and then its mail is due at once
        </>
      }
    >
      {others(state).map((says) => (
        <p dir="auto">{says}</p>
      ))}
      <Table caption="Holds, newest first" rows={holds} columns={columns(visit, places)} none={null} />
    </Section>
  )
}

interface Props {
  readonly visit: Visit
  readonly state: QueueStateRecord
}

const STOPPED = new Set(['down', 'paused', 'no_upstream'])

const stopped = ({ pools }: QueueStateRecord) =>
  pools
    .filter(({ state, waiting, held }) => STOPPED.has(state) && waiting + held > 0)
    .sort((a, b) => b.waiting + b.held - a.waiting - a.held)

/** Those that stand; none where they may not be seen. */
export const standingHolds = async (visit: Visit): Promise<readonly Hold[]> => {
  const answer = await visit.part<ListPage<Hold>>('/v1/holds', { query: { limit: 100 }, scoped: false })
  return 'data' in answer ? answer.data : []
}

/** The holds that keep all mail of a pool, or all of a workspace that sends through that pool. */
export const holdsOver = (
  holds: readonly Hold[],
  of: { readonly pool: string | null; readonly workspace?: string },
): readonly Hold[] =>
  holds.filter(
    ({ workspace_id, egress_pool_id, domain, email_id }) =>
      domain === null &&
      email_id === null &&
      (workspace_id === null || workspace_id === of.workspace) &&
      (egress_pool_id === null || egress_pool_id === of.pool),
  )

const WHAT_IS_HELD = (hold: Hold): string =>
  hold.workspace_id !== null
    ? 'Its mail is held'
    : hold.egress_pool_id === null
      ? 'The whole queue is held'
      : 'Its pool is held'

interface HeldNotesProps extends Pick<HoldsProps, 'visit' | 'holds'> {
  readonly what?: (hold: Hold) => string
}

export const HeldNotes = ({ visit, holds, what = WHAT_IS_HELD }: HeldNotesProps) => (
  <>
    {holds.map((hold) => (
      <Note tone="wait" icon="held">
        <p>
          <strong>{what(hold)}</strong> since <Time at={hold.created_at} />: <bdi>{hold.reason}</bdi>
        </p>
        {visit.may('liftHold') ? (
          <p class="actions">
            <ButtonLink to={visit.link('/queue/release', { hold: hold.id })}>Release…</ButtonLink>
          </p>
        ) : null}
      </Note>
    ))}
  </>
)

/** Holds that keep something, and one of the whole queue. */
const kept = ({ holds }: QueueStateRecord) =>
  holds.filter(({ by, recipients }) => recipients > 0 || by === 'all')

/** With holds: each has a note of its own, so that nobody needs to say all of them in one sentence. */
export const areNoted = (state: QueueStateRecord): boolean => stopped(state).length + kept(state).length > 1

const SHOWN = 3

export const Few = ({ notes }: { readonly notes: readonly VNode[] }) => (
  <>
    {notes.slice(0, SHOWN)}
    {notes.length <= SHOWN ? null : (
      <details class="fold">
        <summary>{`${notes.length - SHOWN} more`}</summary>
        {notes.slice(SHOWN)}
      </details>
    )}
  </>
)

type StateOfPool = QueueStateRecord['pools'][number]

const PoolActs = ({ visit, pool: { egress_pool_id: id, state } }: { visit: Visit; pool: StateOfPool }) => (
  <p class="actions">
    <ButtonLink to={visit.link(`/pools/${encodeURIComponent(id)}`)}>
      {state === 'no_upstream' ? 'Add an upstream' : 'To the pool'}
    </ButtonLink>
    {visit.may('rerouteQueue') ? (
      <ButtonLink to={actLink(visit, 'reroute', { egress_pool_id: id })}>Move its mail…</ButtonLink>
    ) : null}
  </p>
)

type HoldRecord = QueueStateRecord['holds'][number]

const HoldActs = ({ visit, hold }: { readonly visit: Visit; readonly hold: HoldRecord }) => (
  <p class="actions">
    {hold.hold_id !== null && visit.may('liftHold') ? (
      <ButtonLink to={visit.link('/queue/release', { hold: hold.hold_id })}>Release…</ButtonLink>
    ) : null}
    {hold.recipients === 0 ? null : (
      <ButtonLink to={visit.link('/queue/entries', { state: 'held' })}>Look at what is held</ButtonLink>
    )}
  </p>
)

interface Trouble {
  readonly tone: 'bad' | 'wait'
  readonly says: string
  readonly acts: VNode
}

/** `withHolds`: also holds; the queue's page has a table of them. */
export const Troubles = ({ visit, state, withHolds }: Props & { readonly withHolds: boolean }) => {
  const all: readonly Trouble[] = [
    ...stopped(state).map(
      (pool): Trouble => ({ tone: 'bad', says: pool.says, acts: <PoolActs {...{ visit, pool }} /> }),
    ),
    ...(withHolds ? kept(state) : []).map(
      (hold): Trouble => ({ tone: 'wait', says: hold.says, acts: <HoldActs {...{ visit, hold }} /> }),
    ),
  ]
  // one alone has been told by the title
  const [only] = all
  if (only !== undefined && all.length === 1) return <div class="gap">{only.acts}</div>
  return (
    <Few
      notes={all.map(({ tone, says, acts }) => (
        <Note tone={tone} icon={tone === 'bad' ? 'alarm' : 'held'}>
          <p>
            <strong dir="auto">{says}</strong>
          </p>
          {acts}
        </Note>
      ))}
    />
  )
}
