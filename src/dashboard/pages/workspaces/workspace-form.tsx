/**
 * NAME      workspace-form - a workspace is made or changed
 */

import { ALARM_LIMITS, ALARMS, type Alarm } from '../../../store/port/alarms.js'
import type { Form } from '../../form.js'
import { ActionForm, Check, Choice, Field, Send } from '../../parts/form.js'
import { ManagedNote, PageBody } from '../../parts/page-parts.js'
import type { List } from '../../parts/table.js'
import type { Page, Visit } from '../../visit.js'
import type { Pool } from '../pools/upstream.js'
import { ALARM_NAMES, SOFT_WORDS, type WorkspaceRow } from './workspaces.js'

export type PoolName = Pick<Pool, 'id' | 'name'>

interface FieldsProps {
  readonly row: WorkspaceRow | null
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
  restrict_senders: form.has('restrict_senders'),
  sender_dsn: form.has('sender_dsn'),
  line_endings: form.text('line_endings'),
  ambiguous: form.text('ambiguous'),
  alarms: Object.fromEntries(ALARMS.map((alarm) => [alarm, alarmIn(form, alarm)])),
  on_alarm: form.text('on_alarm'),
  suppress_soft: softIn(form),
  statistics: { tags: form.list('statistics') },
})

/** Those that a new workspace gets, where it says nothing. */
const limitFor = (row: WorkspaceRow | null, alarm: Alarm) => {
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
    <Check
      name="restrict_senders"
      label="Only its verified sending domains may send"
      on={row?.restrict_senders}
    />
    <Check
      name="sender_dsn"
      label="Tell the sender of an SMTP mail by a delivery report what became of it"
      on={row?.sender_dsn}
    />
    <div class="form-row">
      <Choice
        name="line_endings"
        label="Bare CR or LF in SMTP mail"
        value={row?.line_endings ?? 'normalize'}
        options={{ normalize: 'Mend it', strict: 'Refuse it' }}
      />
      <Choice
        name="ambiguous"
        label="After a crash, mail that may have been sent"
        value={row?.ambiguous ?? 'retry'}
        options={{ retry: 'Try again: it may arrive twice', hold: 'Hold it until somebody looks' }}
      />
    </div>
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

const poolsOf = async (visit: Visit): Promise<readonly PoolName[]> =>
  (await visit.ask<List<PoolName>>('GET', '/v1/egress-pools', { query: { limit: 100 }, scoped: false })).data

const pathOf = (visit: Visit): string => `/v1/workspaces/${encodeURIComponent(visit.params.id ?? '')}`

export const newWorkspacePage: Page = {
  path: '/workspaces/new',
  opens: 'createWorkspace',
  async view(visit) {
    const pools = await poolsOf(visit)
    return {
      title: 'Make a workspace',
      body: (
        <PageBody title="Make a workspace" crumb={['/workspaces', 'Workspaces']}>
          <ActionForm action="create">
            <WorkspaceFields row={null} pools={pools} />
            <Send>Make the workspace</Send>
          </ActionForm>
        </PageBody>
      ),
    }
  },
  does: { create: 'createWorkspace' },
  actions: {
    async create(visit, form) {
      const made = await visit.ask<WorkspaceRow>('POST', '/v1/workspaces', {
        body: bodyOf(form),
        scoped: false,
      })
      const notice = `${made.name} is made. It needs a key to send.`
      return { to: visit.link(`/workspaces/${made.slug}`, { workspace: made.slug }), notice }
    },
  },
}

export const editWorkspacePage: Page = {
  path: '/workspaces/{id}/edit',
  opens: 'updateWorkspace',
  async view(visit) {
    const [row, pools] = await Promise.all([
      visit.ask<WorkspaceRow>('GET', pathOf(visit), { scoped: false }),
      poolsOf(visit),
    ])
    return {
      title: `Change ${row.name}`,
      body: (
        <PageBody title={`Change ${row.name}`} crumb={[`/workspaces/${row.slug}`, row.slug]}>
          <ManagedNote row={row} />
          <ActionForm action="change">
            <WorkspaceFields row={row} pools={pools} />
            <Send>Change it</Send>
          </ActionForm>
        </PageBody>
      ),
    }
  },
  does: { change: 'updateWorkspace' },
  actions: {
    async change(visit, form) {
      const row = await visit.ask<WorkspaceRow>('PATCH', pathOf(visit), {
        body: bodyOf(form),
        scoped: false,
      })
      return { to: visit.link(`/workspaces/${row.slug}`), notice: `${row.name} is changed.` }
    },
  },
}
