/**
 * NAME      whose - for which workspace and mode a key or login sends
 */
import { Choice } from '../../parts/form.js'
import { html } from '../../render/markup.js'
import type { Visit } from '../../visit.js'
import { chosenWorkspace, slugOf, type WorkspaceName, workspaceOptions } from './names.js'

interface WhoseProps {
  readonly visit: Visit
  readonly workspaces: readonly WorkspaceName[]
  /** Choices besides one workspace. */
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
  readonly workspaces: readonly WorkspaceName[]
  readonly row: { readonly workspace_id: string | null; readonly mode: 'live' | 'test' }
}

/** As a cell of a table. */
export const SendsFor = ({ visit, workspaces, row }: SendsForProps) => {
  const slug = slugOf(workspaces, row.workspace_id)
  const whose =
    slug === null ? 'every workspace' : html`<a href="${visit.link(`/workspaces/${slug}`)}">${slug}</a>`
  return html`${whose}${row.mode === 'test' && ', test mail'}`
}
