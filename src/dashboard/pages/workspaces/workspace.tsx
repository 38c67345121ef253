/**
 * NAME      workspace - one workspace: whether it sends, and as what
 */
import { ALARMS } from '../../../store/port/alarms.js'
import { Field, Verb } from '../../parts/form.js'
import { ButtonLink, Facts, ManagedNote, PageBody, Section } from '../../parts/page-parts.js'
import { Said, Time } from '../../parts/text.js'
import type { Page, Visit } from '../../visit.js'
import { HeldNotes, holdsOver, standingHolds } from '../queue/holds.js'
import { HistoryOf, historyOf } from '../settings/audit.js'
import type { PoolName } from './workspace-form.js'
import {
  ALARM_NAMES,
  AlarmNote,
  limitWords,
  poolStates,
  SOFT_WORDS,
  stateSentence,
  stopOf,
  type WorkspaceRow,
} from './workspaces.js'

const pathOf = (visit: Visit): string => `/v1/workspaces/${encodeURIComponent(visit.params.id ?? '')}`

interface OneProps {
  readonly visit: Visit
  readonly row: WorkspaceRow
}

const Ways = ({ visit, row }: OneProps) => {
  const at = { workspace: row.slug }
  return (
    <p class="actions">
      <a href={visit.link('/emails', at)}>Its mails</a>
      <a href={visit.link('/queue', at)}>What waits</a>
      <a href={visit.link('/', at)}>Its figures</a>
      <a href={visit.link('/suppressions', at)}>Suppressions</a>
      <a href={visit.link('/domains', at)}>Domains</a>
      <a href={visit.link('/webhooks', at)}>Webhooks</a>
      {visit.may('createApiKey') ? <a href={visit.link('/keys/new', at)}>Make a key for it</a> : null}
    </p>
  )
}

const Suspend = ({ row }: OneProps & {}) =>
  row.suspended ? (
    <Verb action="resume" label="Resume" reason="none">
      <p>Mail is taken for {row.name} again, and what waits goes on.</p>
    </Verb>
  ) : (
    <Verb action="suspend" label="Suspend" harm>
      <p>
        No mail is taken for {row.name}: its programs are answered 403. What waits rests until it is resumed;
        what is on its way goes on.
      </p>
    </Verb>
  )

const Hold = ({ row }: OneProps & {}) => (
  <Verb action="hold" label="Hold" harm>
    <p>
      Nothing of {row.name} leaves any more, now or later, until somebody releases it. Its mail is still
      taken.
    </p>
  </Verb>
)

const Delete = ({ visit, row }: OneProps & {}) => (
  <Verb action="delete" label="Delete" reason="none" harm>
    <p>
      Its keys and credentials end at once. Scheduled mail is canceled, and{' '}
      <a href={visit.link('/queue', { workspace: row.slug })}>what waits</a> is bounced, without reports to
      its senders. The people that its mail names are erased within an hour. It cannot be undone.
    </p>
    <Field name="confirm" label={`Type ${row.slug} to be sure`} required autocomplete="off" />
  </Verb>
)

/** Pools that it sends through: its own, and those of domains. */
const poolsOf = ({ egress_pool_id: own, routes }: WorkspaceRow): readonly string[] => [
  ...new Set([own, ...routes.map(({ egress_pool_id: id }) => id)].filter((id) => id !== null)),
]

const PoolLink = ({ visit, pools, id }: Pick<FactProps, 'visit' | 'pools'> & { readonly id: string }) => (
  <a href={visit.link(`/pools/${encodeURIComponent(id)}`)}>
    {pools.find((one) => one?.id === id)?.name ?? id}
  </a>
)

interface FactProps extends OneProps {
  readonly pools: readonly (PoolName | null)[]
}

const WorkspaceFacts = ({ visit, row, pools }: FactProps) => (
  <Facts
    facts={[
      ['Id', <code>{row.id}</code>],
      ['Called', <code>{row.slug}</code>],
      [
        'Sends as',
        row.default_from === null ? 'whatever a mail says' : <span dir="auto">{row.default_from}</span>,
      ],
      [
        'Pool',
        row.egress_pool_id === null ? 'none' : <PoolLink {...{ visit, pools }} id={row.egress_pool_id} />,
      ],
      [
        'Pools of domains',
        row.routes.length === 0
          ? 'none'
          : row.routes.map(({ domain, egress_pool_id: id }) => (
              <div>
                {domain}: <PoolLink {...{ visit, pools, id }} />
              </div>
            )),
      ],
      ['Senders', row.restrict_senders ? 'only its verified domains' : 'any'],
      ['Delivery reports to SMTP senders', row.sender_dsn ? 'yes' : 'no'],
      ['Bare CR or LF in SMTP mail', row.line_endings === 'strict' ? 'refused' : 'mended'],
      [
        'After a crash, mail that may have been sent',
        row.ambiguous === 'retry' ? 'is tried again' : 'is held',
      ],
      [
        'Suppressed after soft bounces',
        SOFT_WORDS.flatMap(([kind, words]) => {
          const limit = row.suppress_soft[kind]
          return limit === undefined ? [] : [`${words}: ${limit.bounces} over ${limit.days} days`]
        }).join('; ') || 'nobody',
      ],
      [
        'Tags that statistics count',
        row.statistics.tags.length === 0 ? 'none' : row.statistics.tags.join(', '),
      ],
      ['Made', <Time at={row.created_at} />],
    ]}
  />
)

const says = (row: WorkspaceRow) =>
  row.suspended ? (
    <>
      Since <Time at={row.suspended_at} />
      {row.suspended_reason === null ? '.' : `: ${row.suspended_reason}`}
    </>
  ) : undefined

export const workspacePage: Page = {
  path: '/workspaces/{id}',
  async view(visit) {
    const row = await visit.ask<WorkspaceRow>('GET', pathOf(visit), { scoped: false })
    const [history, all, states, ...pools] = await Promise.all([
      historyOf(visit, { target: row.id }),
      standingHolds(visit),
      poolStates(visit),
      ...poolsOf(row).map((id) => visit.find<PoolName>(`/v1/egress-pools/${id}`, { scoped: false })),
    ])
    const holds = holdsOver(all, { pool: row.egress_pool_id, workspace: row.id })
    const isHeld = holds.some(({ workspace_id }) => workspace_id !== null)
    const stop = stopOf(row, all, states)
    return {
      title: row.name,
      body: (
        <PageBody
          title={<Said text={stateSentence(row, stop)} />}
          crumb={['/workspaces', 'Workspaces']}
          says={says(row)}
          actions={
            visit.may('updateWorkspace') ? (
              <>
                <ButtonLink to={visit.link(`/workspaces/${row.slug}/edit`)}>Change</ButtonLink>
                {!isHeld && visit.may('placeHold') ? <Hold {...{ visit, row }} /> : null}
                <Suspend {...{ visit, row }} />
                {visit.may('deleteWorkspace') && !row.is_default ? <Delete {...{ visit, row }} /> : null}
              </>
            ) : undefined
          }
        >
          <HeldNotes {...{ visit, holds }} />
          <ManagedNote row={row} />
          {row.alarmed.length === 0 ? null : <AlarmNote {...{ visit, row }} isHeld={holds.length > 0} />}
          <Ways visit={visit} row={row} />
          <Section title="Facts">
            <WorkspaceFacts {...{ visit, row, pools }} />
          </Section>
          <Section
            title="Alarms"
            says={row.on_alarm === 'hold' ? 'an alarm holds its mail' : 'an alarm tells, and holds nothing'}
          >
            <Facts facts={ALARMS.map((alarm) => [ALARM_NAMES[alarm], limitWords(row.alarms[alarm])])} />
          </Section>
          <HistoryOf visit={visit} about={{ target: row.id }} history={history} />
        </PageBody>
      ),
    }
  },
  does: {
    hold: 'placeHold',
    ...{ suspend: 'updateWorkspace', resume: 'updateWorkspace', delete: 'deleteWorkspace' },
  },
  actions: {
    async hold(visit, form) {
      const row = await visit.ask<WorkspaceRow>('GET', pathOf(visit), { scoped: false })
      const { changed } = await visit.ask<{ readonly changed: number }>('POST', '/v1/holds', {
        body: { scope: { workspace_id: row.id }, reason: form.text('reason') },
        scoped: false,
      })
      const notice = `${row.name} is held: ${changed === 1 ? '1 recipient waits' : `${changed} recipients wait`}.`
      return { to: visit.link(`/workspaces/${row.slug}`), notice }
    },
    async suspend(visit, form) {
      const row = await visit.ask<WorkspaceRow>('PATCH', pathOf(visit), {
        body: { suspended: true, suspended_reason: form.text('reason') },
        scoped: false,
      })
      return { to: visit.link(`/workspaces/${row.slug}`), notice: `${row.name} is suspended.` }
    },
    async resume(visit) {
      const row = await visit.ask<WorkspaceRow>('PATCH', pathOf(visit), {
        body: { suspended: false },
        scoped: false,
      })
      return { to: visit.link(`/workspaces/${row.slug}`), notice: `${row.name} sends again.` }
    },
    async delete(visit, form) {
      await visit.ask('DELETE', pathOf(visit), { query: { confirm: form.text('confirm') }, scoped: false })
      return { to: visit.link('/workspaces', { workspace: null }), notice: `${visit.params.id} is deleted.` }
    },
  },
}
