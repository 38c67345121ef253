/**
 * NAME      new-key - a key is made, and shown once
 */
import type { Form } from '../../form.js'
import type { Page, View } from '../../page.js'
import { ActionForm, Choice, Field, Send } from '../../parts/form.js'
import { Head } from '../../parts/page-parts.js'
import type { Visit } from '../../visit.js'
import { shownOnce } from '../shown-once.js'
import { slugOf, type WorkspaceName, workspacesOf } from './names.js'
import { type Installation, keySamples, type Sender } from './samples.js'
import { Whose } from './whose.js'

export interface KeyRow {
  readonly id: string
  readonly name: string
  readonly mode: 'live' | 'test'
  readonly scope: 'platform' | 'workspace'
  readonly workspace_id: string | null
  readonly prefix: string
  readonly created_at: string
  readonly last_used_at: string | null
  readonly last_used_from: string | null
  readonly expires_at: string | null
  readonly rate_limit_per_minute: number | null
}

const DAY_MS = 86_400_000
const ENDS: readonly (readonly [days: string, text: string])[] = [
  ['', 'Never'],
  ['7', 'In 7 days'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
]

const MAY: readonly (readonly [permission: string, text: string])[] = [
  ['full_access', 'Send, read and change'],
  ['sending_access', 'Only send'],
]

/** As the field says that means all of them. */
const ALL = '*'

const bodyOf = (form: Form, now: number) => {
  const workspace = form.text('workspace_id')
  const days = form.text('expires_at')
  const isOffered = days !== null && ENDS.some(([one]) => one === days)
  return {
    name: form.text('name') ?? '',
    mode: form.text('mode'),
    ...(workspace === ALL ? { scope: 'platform' } : { scope: 'workspace', workspace_id: workspace }),
    expires_at: isOffered ? new Date(now + Number(days) * DAY_MS).toISOString() : days,
    rate_limit_per_minute: form.number('rate_limit_per_minute'),
    permission: form.text('permission'),
  }
}

/** A first mail that gets through: a sandbox takes those of test keys. */
export const firstMail = (
  workspaces: readonly WorkspaceName[],
  row: Pick<KeyRow, 'mode' | 'workspace_id'>,
  person: string | null,
): Sender => {
  const home = workspaces.find(({ id }) => id === row.workspace_id)
  const some = home ?? workspaces.find(({ is_default }) => is_default)
  return {
    from: some?.default_from ?? 'Me <me@your-domain.example>',
    to: row.mode === 'test' ? 'delivered@example.com' : (person ?? 'you@example.com'),
    workspace: row.workspace_id === null ? (some?.id ?? 'default') : null,
  }
}

export type MadeKey = KeyRow & { readonly secret: string }

/** The only page that has the secret; `says` is what became true with it. */
export const keyShown = async (
  visit: Visit,
  made: MadeKey,
  says: (sendsFor: string) => string,
): Promise<{ readonly view: View }> => {
  const [at, workspaces] = await Promise.all([
    visit.ask<Installation>('GET', '/v1/installation'),
    workspacesOf(visit),
  ])
  const slug = slugOf(workspaces, made.workspace_id)
  const sender = firstMail(workspaces, made, visit.who.person?.email ?? null)
  const view = shownOnce({
    visit,
    back: ['/keys', 'API keys'],
    title: says(slug ?? 'every workspace'),
    says: 'Copy its secret now: Postern keeps only a hash of it and cannot show it again.',
    secrets: [{ label: 'Secret, shown once', text: made.secret }],
    samples: keySamples(at, made.secret, sender),
  })
  return { view }
}

const create = async (visit: Visit, form: Form) => {
  const made = await visit.ask<MadeKey>('POST', '/v1/api-keys', { body: bodyOf(form, visit.now) })
  const who = made.mode === 'test' ? 'in test mode it' : 'it'
  return keyShown(visit, made, (sendsFor) => `${made.name} is made: ${who} sends for ${sendsFor}.`)
}

export const newKeyPage: Page = {
  path: '/keys/new',
  opens: 'createApiKey',
  async view(visit) {
    const workspaces = await workspacesOf(visit)
    return {
      title: 'Make a key',
      body: (
        <>
          <Head
            title="Make an API key"
            crumb={['/keys', 'API keys']}
            says="Its secret is shown on the next page, and never again."
          />
          <ActionForm action="create">
            <Field name="name" label="Name" required maxLength={200} hint="The program that uses it." />
            <Whose {...{ visit, workspaces }} more={[[ALL, 'Every workspace (platform)']]} />
            <Choice name="permission" label="It may" options={MAY} />
            <Choice name="expires_at" label="Ends" options={ENDS} />
            <Field
              name="rate_limit_per_minute"
              label="Sends a minute, at most"
              type="number"
              hint="Empty: as the configuration says for all keys."
            />
            <Send>Make the key</Send>
          </ActionForm>
        </>
      ),
    }
  },
  does: { create: 'createApiKey' },
  actions: { create },
}
