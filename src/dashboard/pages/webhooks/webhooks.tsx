/**
 * NAME      webhooks - endpoints that events are posted to, how each does in words, and the form that makes or changes one
 */
import { CHANGE_TYPES } from '../../../mail/event-type.js'
import { readTag, tagText } from '../../../mail/query.js'
import { settingsOf } from '../../../resource/member.js'
import { eventsLeft, type ShownWebhook, WEBHOOK, type Webhook } from '../../../resource/webhook.js'
import type { WebhookFormat } from '../../../store/port/hooks.js'
import type { Form } from '../../form.js'
import { ActionForm, Check, Choice, Field, Send } from '../../parts/form.js'
import { Code, Empty, ManagedMark, ManagedNote, PageBody, shownOnce } from '../../parts/page-parts.js'
import { SettingField, SettingFields, settingsIn } from '../../parts/setting.js'
import { State } from '../../parts/status.js'
import { col, type ListPage, Pager, Table, type TableColumn } from '../../parts/table.js'
import { Address, figure, isolate, spanWords, Time } from '../../parts/text.js'
import { html } from '../../render.js'
import { does, type FormDone, type SitePage, titled, type Visit } from '../../visit.js'
import { slugOf, workspaceOptions, workspacesOf } from '../access/whose.js'
import type { ShownWorkspace } from '../workspaces/workspaces.js'

export const SETTINGS = settingsOf(WEBHOOK)
const CHOSEN = SETTINGS.filter(({ choices }) => choices !== undefined)
const TYPED = SETTINGS.filter(({ choices }) => choices === undefined)

/** The host and path without the scheme: what people call an endpoint by. */
export const nameOf = ({ endpoint }: Pick<Webhook, 'endpoint'>): string =>
  endpoint.replace(/^https?:\/\//, '').replace(/\?.*$/, '')

export const hostOf = ({ endpoint }: Pick<Webhook, 'endpoint'>): string =>
  nameOf({ endpoint }).replace(/\/.*$/, '')

const LONGEST_NAME = 60

/** For a sentence: several endpoints may share a host, so the end of a long path is what is kept of it. */
const calledIn = ({ endpoint }: Pick<Webhook, 'endpoint'>): string => {
  const name = nameOf({ endpoint }).replace(/\/$/, '')
  if (name.length <= LONGEST_NAME) return isolate(name)
  const host = hostOf({ endpoint })
  return isolate(`${host}/…${name.slice(-Math.max(12, LONGEST_NAME - host.length))}`)
}

export const SHAPES = {
  healthy: ['ok', 'delivered', 'Healthy'],
  refusing: ['wait', 'deferred', 'Refusing'],
  failing: ['bad', 'bounced', 'Failing'],
  disabled: ['', 'canceled', 'Off'],
} as const

/** /v1 calls an endpoint failing only after many failures in a row; somebody who looks wants to know before. */
export const stateOf = ({ health }: Webhook): keyof typeof SHAPES =>
  health.state === 'healthy' && health.failures > 0 ? 'refusing' : health.state

const Health = ({ row }: { readonly row: Webhook }) => {
  const [hue, icon, text] = SHAPES[stateOf(row)]
  return State({ tone: hue === 'ok' ? '' : hue, icon, hue, children: text })
}

const OFF_BECAUSE = {
  requested: 'somebody switched it off',
  gone: 'it answered 410, which means that it is gone',
  failures: 'it took nothing for five days',
} as const

/** What the page of an endpoint is about, in one sentence. `cause` is that of its latest failure. */
export const healthSentence = (row: Webhook, now: number, cause: string | null): string => {
  const { failing_since, failures, last_succeeded_at } = row.health
  const state = stateOf(row)
  const host = calledIn(row)
  const because = cause === null ? '.' : `: ${isolate(cause.replace(/\.$/, ''))}.`
  if (state === 'disabled') return `${host} is off: ${OFF_BECAUSE[row.disabled_reason ?? 'requested']}.`
  if (state === 'failing') {
    const since = failing_since === null ? '' : ` for ${spanWords(now - Date.parse(failing_since))}`
    return `${host} has failed${since}${because}`
  }
  if (state === 'refusing')
    return `${host} refused the last ${failures === 1 ? 'post' : `${failures} posts`}${because}`
  if (last_succeeded_at === null) return `${host} has been told nothing yet.`
  return `${host} takes what it is told.`
}

const LIMIT_MS = 5 * 86_400_000

const events = (n: number, capped = false): string =>
  `${figure(n)}${capped ? ' or more' : ''} ${n === 1 ? 'event' : 'events'}`

export const HealthDetail = ({ row }: { readonly row: ShownWebhook }) => {
  const { health } = row
  const left = eventsLeft(row)
  const late = left?.events ?? null
  const wait = left === null ? 'More than the log still has' : events(left.events, left.capped)
  if (health.state === 'disabled')
    return (
      <>
        Since <Time at={row.disabled_at} />. {wait} happened since it stopped.
      </>
    )
  if (health.state === 'healthy')
    return (
      <>
        {late === 0 ? 'Nothing waits for it.' : `${wait} ${late === 1 ? 'waits' : 'wait'} for it.`} Last taken{' '}
        <Time at={health.last_succeeded_at} />.
      </>
    )
  const off =
    health.failing_since === null ? null : new Date(Date.parse(health.failing_since) + LIMIT_MS).toISOString()
  return (
    <>
      {wait} {late === 1 ? 'waits' : 'wait'} for it; none is lost. The next try is{' '}
      <Time at={health.next_try_at} none="due" />. Without one success it is switched off <Time at={off} />.
    </>
  )
}

const eventsIn = ({ events }: Webhook): string => {
  if (events.includes('*')) return 'everything'
  const shown = events.slice(0, 3).map((name) => name.replace(/^email\./, ''))
  return events.length > 3 ? `${shown.join(', ')} and ${events.length - 3} more` : shown.join(', ')
}

const waitingCell = (row: ShownWebhook): string => {
  const left = eventsLeft(row)
  return left === null ? 'more than the log has' : `${figure(left.events)}${left.capped ? ' or more' : ''}`
}

const columns = (workspaces: readonly ShownWorkspace[]): readonly TableColumn<ShownWebhook>[] => [
  col(
    'Endpoint',
    'grow',
    (row) => html`<span class="mono">${Address({ text: nameOf(row) })}</span>${ManagedMark({ row })}`,
  ),
  col('Health', (row) => Health({ row })),
  col('Told of', (row) => html`<span title="${row.events.join(', ')}">${eventsIn(row)}</span>`),
  col(
    'Of',
    (row) =>
      `${slugOf(workspaces, row.workspace_id) ?? 'the whole account'}${row.mode === 'test' ? ', test mail' : ''}`,
  ),
  col('Waiting', 'num', waitingCell),
  col('Last taken', (row) => Time({ at: row.health.last_succeeded_at })),
]

const sentence = (rows: readonly Webhook[]): string => {
  const failing = rows.filter(({ health }) => health.state === 'failing')
  const [first] = failing
  if (first !== undefined)
    return failing.length === 1
      ? `${nameOf(first)} fails.`
      : `${failing.length} of ${rows.length} endpoints fail.`
  const off = rows.filter(({ health }) => health.state === 'disabled').length
  const many = rows.length === 1 ? 'One endpoint' : `${rows.length} endpoints`
  return off === 0 ? `${many}, none fails.` : `${many}, none fails; ${off} ${off === 1 ? 'is' : 'are'} off.`
}

const Teach = () => (
  <Empty title="No webhook yet" make={['/webhooks/new', 'Make a webhook', 'createWebhook']}>
    <p>
      A webhook tells a program of yours what became of each mail: delivered, bounced, complained. Every post
      is signed (Standard Webhooks), and tried again for 76 hours.
    </p>
    <Code text="postern webhook create https://crm.example/hooks/mail --events email.delivered,email.bounced" />
  </Empty>
)

const webhooksPage: SitePage = {
  path: '/webhooks',
  async view(visit) {
    const [list, workspaces] = await Promise.all([
      visit.list<ListPage<ShownWebhook>>('/v1/webhooks'),
      workspacesOf(visit),
    ])
    const rows = list.data
    return titled(
      'Webhooks',
      <PageBody
        title={rows.length === 0 ? 'Webhooks' : sentence(rows)}
        says="Endpoints of yours that are told of events."
        make={rows.length > 0 ? ['/webhooks/new', 'Make a webhook', 'createWebhook'] : null}
      >
        <Table
          caption="Webhooks, newest first"
          rows={rows}
          columns={columns(workspaces)}
          href={(row) => visit.link(`/webhooks/${row.id}`)}
          none={<Teach />}
        />
        <Pager list={list} />
      </PageBody>,
    )
  },
}

const GROUPS: readonly (readonly [title: string, types: readonly string[]])[] = [
  ['Of each mail', CHANGE_TYPES.filter((type) => type.startsWith('email.'))],
  ['Of other things', CHANGE_TYPES.filter((type) => !type.startsWith('email.'))],
]

/** What somebody wants to know who does not say more. */
const USUAL = ['email.delivered', 'email.bounced', 'email.complained']

const headerOf = (line: string): readonly [name: string, value: string] => {
  const at = line.indexOf(':')
  return at === -1 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()]
}

const tagOf = (line: string) => {
  const { name, value } = readTag(line)
  return { name: name.trim(), value: value?.trim() ?? null }
}

const linesOf = (form: Form, name: string): readonly string[] =>
  form
    .raw(name)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** As /v1 takes it; headers and login only where some were typed, since they take the place of what was. */
const bodyOf = (form: Form) => {
  const headers = linesOf(form, 'headers')
  const auth = form.raw('auth')
  return {
    endpoint: form.text('endpoint') ?? '',
    events: form.all('events'),
    domains: form.list('domains'),
    tags: linesOf(form, 'tags').map(tagOf),
    ...((auth !== '' || form.has('no_auth')) && { auth }),
    ...((headers.length > 0 || form.has('no_headers')) && {
      headers: Object.fromEntries(headers.map(headerOf)),
    }),
    ...settingsIn(SETTINGS, form),
  }
}

const EventChecks = ({ row }: { readonly row: Webhook | null }) => {
  const chosen: readonly string[] = row?.events ?? USUAL
  const check = (type: string, label = type) => (
    <Check name="events" value={type} label={label} on={chosen.includes(type)} />
  )
  return (
    <>
      {check('*', 'Everything, also what is yet to come')}
      {GROUPS.map(([title, types]) => (
        <fieldset>
          <legend>{title}</legend>
          <div class="checks">{types.map((type) => check(type))}</div>
        </fieldset>
      ))}
    </>
  )
}

const Filters = ({ row }: { readonly row: Webhook | null }) => (
  <>
    <Field
      name="domains"
      label="Only mail from these domains"
      rows={2}
      value={row?.domains.join('\n')}
      hint="One a line. Empty: of all."
    />
    <Field
      name="tags"
      label="Only mail with one of these tags"
      rows={2}
      value={row?.tags.map(tagText).join('\n')}
      hint="A name, or name:value, one a line."
    />
  </>
)

const Headers = ({ row }: { readonly row: Webhook | null }) => {
  const names = row?.header_names ?? []
  return (
    <>
      <Field
        name="headers"
        label="Header fields to send along"
        rows={2}
        placeholder="Authorization: Bearer …"
        autocomplete="off"
        hint={
          names.length === 0
            ? 'Such as a token: one “Name: value” a line. Kept sealed, never shown again.'
            : `Kept now: ${names.join(', ')}. Their values are not shown; what stands here takes the place of all of them. Another server needs them anew.`
        }
      />
      {names.length === 0 ? null : <Check name="no_headers" label="Forget the header fields that are kept" />}
    </>
  )
}

const FORMATS: Readonly<Record<WebhookFormat, string>> = {
  standard: 'Our own (Standard Webhooks)',
  sendgrid: 'As SendGrid posts',
  postmark: 'As Postmark posts',
  mailgun: 'As Mailgun posts',
  resend: 'As Resend posts',
}

export const formatName = (format: WebhookFormat): string => FORMATS[format]

/** Of an endpoint that is there only where its format has one. */
const Login = ({ row }: { readonly row: Webhook | null }) =>
  row !== null && row.format !== 'postmark' ? null : (
    <>
      <Field
        name="auth"
        label="Login, as Postmark sends it"
        type="password"
        placeholder="user:password"
        autocomplete="off"
        hint={
          row?.has_auth === true
            ? 'One is kept. It is not shown; what stands here takes its place. Another server needs it anew.'
            : 'For the words of Postmark only. Kept sealed, never shown again.'
        }
      />
      {row?.has_auth === true ? <Check name="no_auth" label="Forget the login that is kept" /> : null}
    </>
  )

const EndpointFields = (props: { readonly row: Webhook | null }) => {
  const { row } = props
  return (
    <>
      <Field
        name="endpoint"
        label="Address"
        type="url"
        required
        maxLength={2048}
        placeholder="https://crm.example/hooks/mail"
        value={row?.endpoint}
        hint="https, on a public address; redirects are not followed."
      />
      {row === null ? (
        <Choice
          name="format"
          label="In whose words"
          value="standard"
          options={FORMATS}
          hint="For receivers that were written for that service; what has no counterpart there is not posted."
        />
      ) : null}
      <EventChecks {...props} />
      <Login {...props} />
      <Filters {...props} />
      <Headers {...props} />
      {CHOSEN.map((of) => (
        <SettingField {...{ of, row }} />
      ))}
      <SettingFields settings={TYPED} row={row} />
    </>
  )
}

export type MadeWebhook = Webhook & {
  readonly signing_secret: string
  readonly ignored?: readonly string[]
}

export const secretView = (visit: Visit, made: MadeWebhook, title: string, says: string) =>
  shownOnce({
    visit,
    back: [`/webhooks/${made.id}`, nameOf(made)],
    title,
    says,
    secrets: [
      { label: 'Signing secret, shown once', text: made.signing_secret },
      ...(made.public_key === null
        ? []
        : [{ label: 'Public key, by which receivers verify posts', text: made.public_key }]),
    ],
  })

const create = async (visit: Visit, form: Form): Promise<FormDone> => {
  const workspace = form.text('workspace')
  const made = await visit.ask<MadeWebhook>('POST', '/v1/webhooks', {
    scoped: false,
    ...(workspace !== null && { headers: { 'x-workspace-id': workspace } }),
    body: { ...bodyOf(form), format: form.text('format'), mode: form.text('mode') },
  })
  const { ignored = [] } = made
  const untold = ignored.length === 0 ? '' : ` Nothing is told of ${ignored.join(', ')}.`
  const says = `Copy the secret now: programs verify with it that a post is ours. It is not shown again.${untold}`
  return { view: secretView(visit, made, `${hostOf(made)} is told of what happens from now on.`, says) }
}

const newWebhookPage: SitePage = {
  path: '/webhooks/new',
  opens: 'createWebhook',
  async view(visit) {
    const workspaces = await workspacesOf(visit)
    const { workspace } = visit.scope
    const chosen = workspaces.find(({ id, slug }) => id === workspace || slug === workspace)?.slug ?? ''
    return titled(
      'Make a webhook',
      <PageBody title="Make a webhook" crumb={['/webhooks', 'Webhooks']}>
        <ActionForm action="create">
          <EndpointFields row={null} />
          <div class="form-row">
            <Choice
              name="workspace"
              label="Of the mail of"
              value={chosen}
              options={[['', 'The whole account'], ...workspaceOptions(workspaces)]}
            />
            <Choice
              name="mode"
              label="Mode"
              value={visit.scope.mode}
              options={{ live: 'Live mail', test: 'Test mail' }}
            />
          </div>
          <Send>Make the webhook</Send>
        </ActionForm>
        <details class="fold">
          <summary>No endpoint yet? Watch the events arrive on this machine</summary>
          <Code text="postern webhook listen --key-file key --forward http://127.0.0.1:3000/hooks/mail" />
        </details>
      </PageBody>,
    )
  },
  actions: { create: does('createWebhook', create) },
}

const editWebhookPage: SitePage = {
  path: '/webhooks/{id}/edit',
  opens: 'updateWebhook',
  async view(visit) {
    const id = visit.params.id ?? ''
    const row = await visit.ask<Webhook>('GET', `/v1/webhooks/${encodeURIComponent(id)}`, { scoped: false })
    return titled(
      `Change ${nameOf(row)}`,
      <PageBody title={`Change ${hostOf(row)}`} crumb={[`/webhooks/${row.id}`, nameOf(row)]}>
        <ManagedNote row={row} />
        <ActionForm action="change">
          <EndpointFields row={row} />
          <Send>Change it</Send>
        </ActionForm>
      </PageBody>,
    )
  },
  actions: {
    change: does('updateWebhook', async (visit, form) => {
      const id = visit.params.id ?? ''
      await visit.ask('PATCH', `/v1/webhooks/${encodeURIComponent(id)}`, {
        scoped: false,
        body: bodyOf(form),
      })
      return { to: visit.link(`/webhooks/${id}`), notice: 'Changed.' }
    }),
  },
}

export const webhookPages: readonly SitePage[] = [webhooksPage, newWebhookPage, editWebhookPage]
