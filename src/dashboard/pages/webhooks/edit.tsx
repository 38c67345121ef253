/**
 * NAME      edit - an endpoint is made or changed
 */
import type { Webhook } from '../../../record/webhook.js'
import type { Form } from '../../form.js'
import type { Done, Page } from '../../page.js'
import { ActionForm, Choice, Send } from '../../parts/form.js'
import { Code, Head } from '../../parts/page-parts.js'
import type { Visit } from '../../visit.js'
import { workspaceOptions, workspacesOf } from '../access/names.js'
import { shownOnce } from '../shown-once.js'
import { bodyOf, EndpointFields } from './fields.js'
import { hostOf, nameOf } from './record.js'

export type MadeWebhook = Webhook & { readonly signing_secret: string }

/** The page that shows a signing secret; it leads on to the endpoint. */
export const secretView = (visit: Visit, made: MadeWebhook, title: string, says: string) =>
  shownOnce({
    visit,
    back: [`/webhooks/${made.id}`, nameOf(made)],
    title,
    says,
    secrets: [{ label: 'Signing secret, shown once', text: made.signing_secret }],
  })

const create = async (visit: Visit, form: Form): Promise<Done> => {
  const workspace = form.text('workspace')
  const made = await visit.ask<MadeWebhook>('POST', '/v1/webhooks', {
    scoped: false,
    ...(workspace !== null && { headers: { 'x-workspace-id': workspace } }),
    body: { ...bodyOf(form), mode: form.text('mode') },
  })
  const says = 'Copy the secret now: programs verify with it that a post is ours. It is not shown again.'
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
        <>
          <Head title="Make a webhook" crumb={['/webhooks', 'Webhooks']} />
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
                options={[
                  ['live', 'Live mail'],
                  ['test', 'Test mail'],
                ]}
              />
            </div>
            <Send>Make the webhook</Send>
          </ActionForm>
          <details class="fold">
            <summary>No endpoint yet? Watch the events arrive on this machine</summary>
            <Code text="postern webhook listen --key-file key --forward http://127.0.0.1:3000/hooks/mail" />
          </details>
        </>
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
    const row = await visit.ask<Webhook>('GET', `/v1/webhooks/${encodeURIComponent(id)}`, {
      scoped: false,
    })
    return {
      title: `Change ${nameOf(row)}`,
      body: (
        <>
          <Head title={`Change ${hostOf(row)}`} crumb={[`/webhooks/${row.id}`, nameOf(row)]} />
          <ActionForm action="change">
            <EndpointFields row={row} />
            <Send>Change it</Send>
          </ActionForm>
        </>
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
