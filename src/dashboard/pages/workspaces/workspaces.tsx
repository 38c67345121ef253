/** NAME      workspaces - the workspaces of the account, and how each does in words */
import type { QueueStateRecord } from '../../../record/queue.js'
import type { workspaceRecord } from '../../../resource/tenants.js'
import {
  ALARM_SEARCH,
  ALARM_WORDS,
  type Alarm,
  percent,
  SOFT_KINDS,
  type SoftLimits,
  shareOf,
} from '../../../store/port/alarms.js'
import { ButtonLink, HarmLink, ManagedMark, Note, PageBody } from '../../parts/page-parts.js'
import { State } from '../../parts/status.js'
import { col, type ListPage, Pager, Table, type TableColumn } from '../../parts/table.js'
import { isolate, Said, Time } from '../../parts/text.js'
import { html } from '../../render.js'
import { type SitePage, titled, type Visit } from '../../visit.js'
import { actLink, holdsOver, standingHolds } from '../queue/holds.js'

export const ALARM_NAMES: Readonly<Record<Alarm, string>> = {
  complaints: 'complaints',
  hard_bounces: 'hard bounces',
  deferrals: 'deferrals',
}

export type ShownWorkspace = ReturnType<typeof workspaceRecord>

/** Kinds of bounces by which an address may come to be suppressed, though none of them is for good. */
export const SOFT_WORDS: readonly (readonly [kind: keyof SoftLimits, words: string])[] = SOFT_KINDS.map(
  (kind) => [kind, kind.replaceAll('_', ' ')],
)

export const limitWords = (limit: ShownWorkspace['alarms'][Alarm]): string =>
  limit === 'off' ? 'never' : `at ${percent(limit.rate)}, and ${limit.at_least} or more`

const STOPPED = {
  down: 'no upstream of its pool answers',
  paused: 'the upstreams of its pool are paused',
  no_upstream: 'its pool has no upstream',
} as const

interface Stop {
  readonly is: 'Held' | 'Pool held' | 'Pool down' | 'Pool paused' | 'No upstream'
  readonly why: string
}

const DOWN = { down: 'Pool down', paused: 'Pool paused', no_upstream: 'No upstream' } as const

/** How pools do; in dev mode nothing waits for an upstream. */
export const poolStates = async (visit: Visit): Promise<QueueStateRecord['pools']> =>
  visit.isDev ? [] : ((await visit.summary())?.live.pools ?? [])

/** What keeps all live mail of a workspace from leaving; null where nothing does. */
export const stopOf = (
  { id, egress_pool_id: pool }: Pick<ShownWorkspace, 'id' | 'egress_pool_id'>,
  holds: Parameters<typeof holdsOver>[0],
  pools: QueueStateRecord['pools'],
): Stop | null => {
  const [hold] = holdsOver(holds, { pool, workspace: id })
  if (hold?.workspace_id === null && hold.egress_pool_id !== null)
    return { is: 'Pool held', why: 'its pool is held' }
  if (hold !== undefined)
    return { is: 'Held', why: hold.workspace_id === null ? 'the whole queue is held' : 'its mail is held' }
  const state = pools.find(({ egress_pool_id }) => egress_pool_id === pool)?.state ?? 'ok'
  return state === 'ok' || state === 'weak' ? null : { is: DOWN[state], why: STOPPED[state] }
}

const WorkspaceState = ({ row, stop }: { readonly row: ShownWorkspace; readonly stop: Stop | null }) => {
  const [alarm] = row.alarmed
  if (row.suspended || (stop !== null && alarm === undefined))
    return (
      <State tone="wait" icon="held" hue="wait">
        {row.suspended ? 'Suspended' : stop?.is}
      </State>
    )
  if (alarm === undefined) return <span class="st">Sends</span>
  return (
    <State tone="bad" icon="alarm" hue="bad">
      {stop === null ? '' : `${stop.is}; `}Alarm: {ALARM_NAMES[alarm.alarm]}
    </State>
  )
}

export const stateSentence = (row: ShownWorkspace, stop: Stop | null): string => {
  const name = isolate(row.name)
  if (row.suspended) return `${name} is suspended: nothing is taken for it, and what waits rests.`
  if (stop !== null) return `${name} sends nothing: ${stop.why}.`
  const [alarm] = row.alarmed
  if (alarm === undefined) return `${name} sends.`
  return `${name} has too many ${ALARM_NAMES[alarm.alarm]}: ${percent(shareOf(alarm))}.`
}

interface AlarmProps {
  readonly visit: Visit
  readonly row: ShownWorkspace
}

const alarmLink = ({ visit, row }: AlarmProps, alarm: Alarm, reason?: string): string => {
  const q = reason === undefined ? ALARM_SEARCH[alarm] : `${ALARM_SEARCH[alarm]} reason:${reason}`
  return visit.link('/emails', { workspace: row.slug, mode: 'live', q })
}

/** What most of them have in common, with the way to those mails; of a complaint a mail keeps no reason. */
const Cause = ({
  visit,
  row,
  of: { alarm, cause },
}: AlarmProps & { of: ShownWorkspace['alarmed'][number] }) =>
  cause === null ? null : (
    <>
      {' '}
      Mostly:{' '}
      {alarm === 'complaints' ? (
        cause.title
      ) : (
        <a href={alarmLink({ visit, row }, alarm, cause.reason)}>{cause.title}</a>
      )}{' '}
      ({cause.count} of {cause.of})
      {cause.domain === null ? null : (
        <>
          , most at <bdi>{cause.domain}</bdi>
        </>
      )}
      .
    </>
  )

/** All that is wrong with the mail of one workspace, and what may be done about it; `isHeld`: none of it leaves. */
export const AlarmNote = ({ visit, row, isHeld }: AlarmProps & { readonly isHeld: boolean }) => (
  <Note tone="bad" icon="alarm">
    {row.alarmed.map((one, i) => (
      <p>
        {i === 0 ? (
          <strong>
            <bdi>{row.name}</bdi>:{' '}
          </strong>
        ) : null}
        {percent(shareOf(one))} {ALARM_WORDS[one.alarm]}, {one.count} of {one.tried} recipients.
        <Cause {...{ visit, row }} of={one} /> Raised <Time at={one.since} />; its limit:{' '}
        {limitWords(row.alarms[one.alarm])}.
      </p>
    ))}
    {isHeld ? (
      <p>Its mail is held.</p>
    ) : row.on_alarm === 'hold' ? (
      <p>An alarm holds its mail until somebody releases it.</p>
    ) : null}
    <p class="actions">
      {row.alarmed.map(({ alarm }) => (
        <ButtonLink to={alarmLink({ visit, row }, alarm)}>Its mails with {ALARM_NAMES[alarm]}</ButtonLink>
      ))}
      <ButtonLink to={visit.link('/queue', { workspace: row.slug, mode: 'live' })}>What waits</ButtonLink>
      {!isHeld && visit.may('placeHold') ? (
        <HarmLink to={actLink(visit, 'hold', { workspace_id: row.id })}>Hold its mail…</HarmLink>
      ) : null}
    </p>
  </Note>
)

const columns = (
  visit: Visit,
  stopped: (row: ShownWorkspace) => Stop | null,
): readonly TableColumn<ShownWorkspace>[] => [
  col('Workspace', 'grow', (row) => html`<bdi>${row.name}</bdi>${ManagedMark({ row })}`),
  col('Called', (row) => <code>{row.slug}</code>),
  col('State', (row) => <WorkspaceState row={row} stop={stopped(row)} />),
  col('Sends as', (row) =>
    row.default_from === null ? (
      <span class="faint">whatever a mail says</span>
    ) : (
      <span dir="auto">{row.default_from}</span>
    ),
  ),
  col('Mails', (row) => <a href={visit.link('/emails', { workspace: row.slug })}>its mails</a>),
  col('Made', 'opt', (row) => Time({ at: row.created_at })),
]

const sentence = (rows: readonly ShownWorkspace[], stopped: (row: ShownWorkspace) => Stop | null): string => {
  const still = rows.filter((row) => !row.suspended && stopped(row) !== null)
  const alarmed = rows.filter((row) => !row.suspended && row.alarmed.length > 0)
  const suspended = rows.filter((row) => row.suspended).length
  const many = rows.length === 1 ? 'One workspace' : `${rows.length} workspaces`
  const [first] = alarmed
  if (first !== undefined)
    return alarmed.length === 1
      ? `An alarm stands for ${isolate(first.name)}.`
      : `Alarms stand for ${alarmed.length} of ${rows.length} workspaces.`
  if (still.length > 0)
    return still.length === 1
      ? `${isolate(still[0]?.name ?? '')} sends nothing.`
      : `${still.length} of ${rows.length} workspaces send nothing.`
  return suspended === 0 ? `${many}, no alarm.` : `${many}, no alarm; ${suspended} suspended.`
}

export const workspacesPage: SitePage = {
  path: '/workspaces',
  async view(visit) {
    const [list, holds, pools] = await Promise.all([
      visit.list<ListPage<ShownWorkspace>>('/v1/workspaces', {}, { scoped: false }),
      standingHolds(visit),
      poolStates(visit),
    ])
    const stopped = (row: ShownWorkspace) => stopOf(row, holds, pools)
    return titled(
      'Workspaces',
      <PageBody
        title={<Said text={sentence(list.data, stopped)} />}
        says="Each sends for itself: with its own keys, suppressions, pool and limits."
        make={['/workspaces/new', 'Make a workspace', 'createWorkspace']}
      >
        <Table
          look="many"
          caption="Workspaces, newest first"
          rows={list.data}
          columns={columns(visit, stopped)}
          href={(row) => visit.link(`/workspaces/${row.slug}`)}
        />
        <Pager list={list} />
      </PageBody>,
    )
  },
}
