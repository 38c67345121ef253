/** NAME      whose - for which workspace a key or login sends, its last use, and its end */
import type { ComponentChildren } from 'preact'
import { Choice, Verb } from '../../parts/form.js'
import { Time } from '../../parts/text.js'
import { html } from '../../render.js'
import type { Visit } from '../../visit.js'
import type { ShownWorkspace } from '../workspaces/workspaces.js'

export const workspacesOf = (visit: Visit): Promise<readonly ShownWorkspace[]> => visit.workspaces()

export const slugOf = (workspaces: readonly ShownWorkspace[], id: string | null): string | null =>
  id === null ? null : (workspaces.find((one) => one.id === id)?.slug ?? id)

/** For a field; the workspace of the URL is meant unless somebody says otherwise. */
export const workspaceOptions = (
  workspaces: readonly ShownWorkspace[],
): readonly (readonly [value: string, label: string])[] =>
  workspaces.map(({ slug, name }) => [slug, name === slug ? slug : `${slug} (${name})`])

export const chosenWorkspace = (visit: Visit, workspaces: readonly ShownWorkspace[]): string => {
  const { workspace } = visit.scope
  const named = workspaces.find(({ id, slug }) => id === workspace || slug === workspace)
  return (named ?? workspaces.find(({ is_default }) => is_default) ?? workspaces[0])?.slug ?? ''
}

/** For what belongs to one workspace, whatever the URL says. */
export const within = (slug: string) => ({ scoped: false, headers: { 'x-workspace-id': slug } })

interface WhoseProps {
  readonly visit: Visit
  readonly workspaces: readonly ShownWorkspace[]
  readonly more?: readonly (readonly [value: string, label: string])[]
}

export const Whose = ({ visit, workspaces, more = [] }: WhoseProps) => (
  <>
    <Choice
      name="workspace_id"
      label="Sends for"
      value={chosenWorkspace(visit, workspaces)}
      options={[...workspaceOptions(workspaces), ...more]}
    />
    <Choice
      name="mode"
      label="Mode"
      value={visit.scope.mode}
      options={[
        ['live', 'Live: its mail goes out'],
        ['test', 'Test: its mail goes to the sandbox, which plays the recipients'],
      ]}
    />
  </>
)

interface SendsForProps {
  readonly visit: Visit
  readonly workspaces: readonly ShownWorkspace[]
  readonly row: { readonly workspace_id: string | null; readonly mode: 'live' | 'test' }
}

export const SendsFor = ({ visit, workspaces, row }: SendsForProps) => {
  const slug = slugOf(workspaces, row.workspace_id)
  const whose =
    slug === null ? 'every workspace' : html`<a href="${visit.link(`/workspaces/${slug}`)}">${slug}</a>`
  return html`${whose}${row.mode === 'test' && ', test mail'}`
}

interface Used {
  readonly created_at: string
  readonly last_used_at: string | null
  readonly last_used_from: string | null
}

const LONG_MS = 90 * 86_400_000

export const unusedSince = ({ created_at, last_used_at }: Used, now: number): boolean =>
  now - Date.parse(last_used_at ?? created_at) >= LONG_MS

export const LastUse = ({ visit, row }: { readonly visit: Visit; readonly row: Used & { id: string } }) => {
  const time = Time({ at: row.last_used_at })
  const mails = visit.link('/emails', { q: `key:${row.id}` })
  const history = visit.link('/settings/audit', { target: row.id })
  return html`${unusedSince(row, visit.now) ? html`<span class="st wait">${time}</span>` : time}${
    row.last_used_from !== null && html`<span class="sub">from ${row.last_used_from}</span>`
  }<span class="sub">${row.last_used_at !== null && html`<a href="${mails}">its mails</a>`} ${
    visit.may('listAudit') && html`<a href="${history}">its history</a>`
  }</span>`
}

interface RevokeProps {
  readonly row: Used & { readonly id: string }
  readonly name: string
  readonly follows: ComponentChildren
  readonly children?: ComponentChildren
  readonly tiny?: boolean
}

export const RevokeVerb = ({ row, name, follows, children, tiny = true }: RevokeProps) => {
  const at = row.last_used_at
  const used = at === null ? 'Never used. ' : html`Last used ${Time({ at })}. `
  return Verb({
    ...{ action: 'revoke', label: 'Revoke', reason: 'optional', harm: true, tiny },
    about: { id: row.id, name },
    children: html`<p>${used}${follows}</p>${children}<p>It cannot be undone.</p>`,
  })
}
