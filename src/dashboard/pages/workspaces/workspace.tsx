/** NAME      workspace - one workspace: whether it sends, and as what; and the form that makes or changes one */
import { settingsOf } from '../../../resource/member.js'
import { WORKSPACE } from '../../../resource/tenants.js'
import { ALARM_LIMITS, ALARMS, type Alarm } from '../../../store/port/alarms.js'
import type { Form } from '../../form.js'
import { ActionForm, Check, Choice, Field, Send, Verb } from '../../parts/form.js'
import { ButtonLink, Facts, ManagedNote, PageBody, Section } from '../../parts/page-parts.js'
import { SettingFields, settingFacts, settingsIn } from '../../parts/setting.js'
import type { ListPage } from '../../parts/table.js'
import { Said, Time } from '../../parts/text.js'
import { does, type SitePage, titled, type Visit } from '../../visit.js'
import type { Pool } from '../pools/upstream.js'
import { HeldNotes, holdsOver, standingHolds } from '../queue/holds.js'
import { HistoryOf, historyOf } from '../settings/audit.js'
import {
  ALARM_NAMES,
  AlarmNote,
  limitWords,
  poolStates,
  type ShownWorkspace,
  SOFT_WORDS,
  stateSentence,
  stopOf,
} from './workspaces.js'

const SETTINGS = settingsOf(WORKSPACE)

type PoolName = Pick<Pool, 'id' | 'name'>

interface FieldsProps {
  readonly row: ShownWorkspace | null
  readonly pools: readonly PoolName[]
}

const alarmIn = (form: Form, alarm: Alarm) => {
  if (form.has(`${alarm}_off`)) return 'off'
  const rate = form.number(`${alarm}_rate`)
  return { rate: typeof rate === 'number' ? rate / 100 : rate, at_least: form.number(`${alarm}_at_least`) }
}

/** A kind of which nothing is typed suppresses nobody; one of which half is typed is refused by /v1. */
const softIn = (form: Form) =>
  Object.fromEntries(
    SOFT_WORDS.flatMap(([kind]) => {
      const [bounces, days] = [form.number(`${kind}_bounces`), form.number(`${kind}_days`)]
      return bounces === null && days === null ? [] : [[kind, { bounces, days }]]
    }),
  )

/** As /v1 takes it. An empty pool is one of its own. */
const bodyOf = (form: Form) => ({
  name: form.text('name') ?? '',
  slug: form.text('slug'),
  default_from: form.text('default_from'),
  egress_pool_id: form.text('egress_pool_id'),
  ...settingsIn(SETTINGS, form),
  alarms: Object.fromEntries(ALARMS.map((alarm) => [alarm, alarmIn(form, alarm)])),
  on_alarm: form.text('on_alarm'),
  suppress_soft: softIn(form),
  statistics: { tags: form.list('statistics') },
})

/** Those that a new workspace gets, where it says nothing. */
const limitFor = (row: ShownWorkspace | null, alarm: Alarm) => {
  const { rate, atLeast: at_least } = ALARM_LIMITS[alarm]
  const limit = row?.alarms[alarm] ?? { rate, at_least }
  return limit === 'off' ? { rate, at_least, isOff: true } : { ...limit, isOff: false }
}

const AlarmFields = ({ row }: FieldsProps) => (
  <fieldset class="form">
    <legend>Alarms</legend>
    {ALARMS.map((alarm) => {
      const { rate, at_least, isOff } = limitFor(row, alarm)
      return (
        <div class="form-row">
          <Field
            name={`${alarm}_rate`}
            label={`Percent of ${ALARM_NAMES[alarm]}`}
            value={Number((rate * 100).toFixed(3))}
          />
          <Field name={`${alarm}_at_least`} label="and as many, at least" type="number" value={at_least} />
          <Check name={`${alarm}_off`} label={`No alarm about ${ALARM_NAMES[alarm]}`} on={isOff} />
        </div>
      )
    })}
    <Choice
      name="on_alarm"
      label="When an alarm is raised"
      value={row?.on_alarm ?? 'notify'}
      options={[
        ['notify', 'Tell: an event, and a mail to webhook.notify'],
        ['hold', 'Tell, and hold its mail until somebody releases it'],
      ]}
    />
  </fieldset>
)

const SoftFields = ({ row }: FieldsProps) => (
  <fieldset class="form">
    <legend>Suppress after soft bounces</legend>
    {SOFT_WORDS.map(([kind, words]) => (
      <div class="form-row">
        <Field
          name={`${kind}_bounces`}
          label={`Bounces: ${words}`}
          type="number"
          value={row?.suppress_soft[kind]?.bounces}
          hint="Empty: never."
        />
        <Field
          name={`${kind}_days`}
          label="over so many days"
          type="number"
          value={row?.suppress_soft[kind]?.days}
        />
      </div>
    ))}
  </fieldset>
)

const MailFields = ({ row }: FieldsProps) => (
  <>
    <SettingFields settings={SETTINGS} {...{ row }} />
    <Field
      name="statistics"
      label="Tags that statistics count apart"
      value={row?.statistics.tags.join(', ')}
      hint="Names between commas, up to 20."
    />
  </>
)

const WorkspaceFields = (props: FieldsProps) => {
  const { row, pools } = props
  return (
    <>
      <div class="form-row">
        <Field name="name" label="Name" required maxLength={200} value={row?.name} />
        <Field
          name="slug"
          label="Called"
          maxLength={63}
          value={row?.slug}
          hint={
            row === null
              ? 'In commands and addresses. Empty: made from the name.'
              : 'In commands and addresses.'
          }
        />
      </div>
      <Field
        name="default_from"
        label="Sends as"
        value={row?.default_from}
        placeholder="Shop <no-reply@shop.example>"
        hint="For mails that bring no From."
      />
      <Choice
        name="egress_pool_id"
        label="Pool"
        value={row?.egress_pool_id}
        hint="Where its mail goes out. Mail that waits moves along."
        options={[['', 'One of its own'], ...pools.map(({ id, name }) => [id, name] as const)]}
      />
      <MailFields {...props} />
      <AlarmFields {...props} />
      <SoftFields {...props} />
    </>
  )
}

const poolNames = async (visit: Visit): Promise<readonly PoolName[]> =>
  (await visit.ask<ListPage<PoolName>>('GET', '/v1/egress-pools', { query: { limit: 100 }, scoped: false }))
    .data

const newWorkspacePage: SitePage = {
  path: '/workspaces/new',
  opens: 'createWorkspace',
  async view(visit) {
    const pools = await poolNames(visit)
    return titled(
      'Make a workspace',
      <PageBody title="Make a workspace" crumb={['/workspaces', 'Workspaces']}>
        <ActionForm action="create">
          <WorkspaceFields row={null} pools={pools} />
          <Send>Make the workspace</Send>
        </ActionForm>
      </PageBody>,
    )
  },
  actions: {
    create: does('createWorkspace', async (visit, form) => {
      const made = await visit.ask<ShownWorkspace>('POST', '/v1/workspaces', {
        body: bodyOf(form),
        scoped: false,
      })
      const notice = `${made.name} is made. It needs a key to send.`
      return { to: visit.link(`/workspaces/${made.slug}`, { workspace: made.slug }), notice }
    }),
  },
}

const editWorkspacePage: SitePage = {
  path: '/workspaces/{id}/edit',
  opens: 'updateWorkspace',
  async view(visit) {
    const [row, pools] = await Promise.all([
      visit.ask<ShownWorkspace>('GET', pathOf(visit), { scoped: false }),
      poolNames(visit),
    ])
    return titled(
      `Change ${row.name}`,
      <PageBody title={`Change ${row.name}`} crumb={[`/workspaces/${row.slug}`, row.slug]}>
        <ManagedNote row={row} />
        <ActionForm action="change">
          <WorkspaceFields row={row} pools={pools} />
          <Send>Change it</Send>
        </ActionForm>
      </PageBody>,
    )
  },
  actions: {
    change: does('updateWorkspace', async (visit, form) => {
      const row = await visit.ask<ShownWorkspace>('PATCH', pathOf(visit), {
        body: bodyOf(form),
        scoped: false,
      })
      return { to: visit.link(`/workspaces/${row.slug}`), notice: `${row.name} is changed.` }
    }),
  },
}

const pathOf = (visit: Visit): string => `/v1/workspaces/${encodeURIComponent(visit.params.id ?? '')}`

interface OneProps {
  readonly visit: Visit
  readonly row: ShownWorkspace
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
const poolsOf = ({ egress_pool_id: own, routes }: ShownWorkspace): readonly string[] => [
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
      ...settingFacts(SETTINGS, row),
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

const says = (row: ShownWorkspace) =>
  row.suspended ? (
    <>
      Since <Time at={row.suspended_at} />
      {row.suspended_reason === null ? '.' : `: ${row.suspended_reason}`}
    </>
  ) : undefined

const workspacePage: SitePage = {
  path: '/workspaces/{id}',
  async view(visit) {
    const row = await visit.ask<ShownWorkspace>('GET', pathOf(visit), { scoped: false })
    const [history, all, states, ...pools] = await Promise.all([
      historyOf(visit, { target: row.id }),
      standingHolds(visit),
      poolStates(visit),
      ...poolsOf(row).map((id) => visit.find<PoolName>(`/v1/egress-pools/${id}`, { scoped: false })),
    ])
    const holds = holdsOver(all, { pool: row.egress_pool_id, workspace: row.id })
    const isHeld = holds.some(({ workspace_id }) => workspace_id !== null)
    const stop = stopOf(row, all, states)
    return titled(
      row.name,
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
      </PageBody>,
    )
  },
  actions: {
    hold: does('placeHold', async (visit, form) => {
      const row = await visit.ask<ShownWorkspace>('GET', pathOf(visit), { scoped: false })
      const { changed } = await visit.ask<{ readonly changed: number }>('POST', '/v1/holds', {
        body: { scope: { workspace_id: row.id }, reason: form.text('reason') },
        scoped: false,
      })
      const notice = `${row.name} is held: ${changed === 1 ? '1 recipient waits' : `${changed} recipients wait`}.`
      return { to: visit.link(`/workspaces/${row.slug}`), notice }
    }),
    suspend: does('updateWorkspace', async (visit, form) => {
      const row = await visit.ask<ShownWorkspace>('PATCH', pathOf(visit), {
        body: { suspended: true, suspended_reason: form.text('reason') },
        scoped: false,
      })
      return { to: visit.link(`/workspaces/${row.slug}`), notice: `${row.name} is suspended.` }
    }),
    resume: does('updateWorkspace', async (visit) => {
      const row = await visit.ask<ShownWorkspace>('PATCH', pathOf(visit), {
        body: { suspended: false },
        scoped: false,
      })
      return { to: visit.link(`/workspaces/${row.slug}`), notice: `${row.name} sends again.` }
    }),
    delete: does('deleteWorkspace', async (visit, form) => {
      await visit.ask('DELETE', pathOf(visit), { query: { confirm: form.text('confirm') }, scoped: false })
      return { to: visit.link('/workspaces', { workspace: null }), notice: `${visit.params.id} is deleted.` }
    }),
  },
}

export const workspacePages: readonly SitePage[] = [newWorkspacePage, editWorkspacePage, workspacePage]
