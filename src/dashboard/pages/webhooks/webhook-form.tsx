/**
 * NAME      webhook-form - an endpoint is made or changed
 */
import { CHANGE_TYPES } from '../../../mail/event-type.js'
import { readTag, tagText } from '../../../mail/query.js'
import type { Webhook } from '../../../resource/webhook.js'
import type { WebhookFormat } from '../../../store/port/hooks.js'
import type { Form } from '../../form.js'
import type { Done, Page } from '../../page.js'
import { ActionForm, Check, Choice, Field, Send } from '../../parts/form.js'
import { ManagedNote } from '../../parts/managed.js'
import { Code, PageBody, shownOnce } from '../../parts/page-parts.js'
import type { Visit } from '../../visit.js'
import { workspaceOptions, workspacesOf } from '../access/whose.js'
import { hostOf, nameOf } from './webhooks.js'

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
    fields: form.text('fields'),
    max_in_flight: form.number('max_in_flight'),
    rate: form.number('rate'),
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
      <Choice
        name="fields"
        label="What is posted"
        value={row?.fields ?? 'full'}
        options={{ full: 'All fields', thin: 'Without subject, addresses, tags and answers of servers' }}
      />
      <div class="form-row">
        <Field
          name="max_in_flight"
          label="Posts at the same time"
          type="number"
          value={row?.max_in_flight ?? 8}
          hint="1 keeps the order, and a failing post holds up the others."
        />
        <Field name="rate" label="Replayed posts a second" type="number" value={row?.rate ?? 50} />
      </div>
    </>
  )
}

export type MadeWebhook = Webhook & {
  readonly signing_secret: string
  readonly ignored?: readonly string[]
}

/** The page that shows a signing secret; it leads on to the endpoint. */
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

const create = async (visit: Visit, form: Form): Promise<Done> => {
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

export const newWebhookPage: Page = {
  path: '/webhooks/new',
  opens: 'createWebhook',
  async view(visit) {
    const workspaces = await workspacesOf(visit)
    const { workspace } = visit.scope
    const chosen = workspaces.find(({ id, slug }) => id === workspace || slug === workspace)?.slug ?? ''
    return {
      title: 'Make a webhook',
      body: (
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
        </PageBody>
      ),
    }
  },
  does: { create: 'createWebhook' },
  actions: { create },
}

export const editWebhookPage: Page = {
  path: '/webhooks/{id}/edit',
  opens: 'updateWebhook',
  async view(visit) {
    const id = visit.params.id ?? ''
    const row = await visit.ask<Webhook>('GET', `/v1/webhooks/${encodeURIComponent(id)}`, { scoped: false })
    return {
      title: `Change ${nameOf(row)}`,
      body: (
        <PageBody title={`Change ${hostOf(row)}`} crumb={[`/webhooks/${row.id}`, nameOf(row)]}>
          <ManagedNote row={row} />
          <ActionForm action="change">
            <EndpointFields row={row} />
            <Send>Change it</Send>
          </ActionForm>
        </PageBody>
      ),
    }
  },
  does: { change: 'updateWebhook' },
  actions: {
    async change(visit, form) {
      const id = visit.params.id ?? ''
      await visit.ask('PATCH', `/v1/webhooks/${encodeURIComponent(id)}`, {
        scoped: false,
        body: bodyOf(form),
      })
      return { to: visit.link(`/webhooks/${id}`), notice: 'Changed.' }
    },
  },
}
