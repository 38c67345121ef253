/**
 * NAME      names - workspaces as people call them
 */
import type { Visit } from '../../visit.js'

export interface WorkspaceName {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly is_default: boolean
  readonly default_from: string | null
}

export const workspacesOf = (visit: Visit): Promise<readonly WorkspaceName[]> => visit.workspaces()

export const slugOf = (workspaces: readonly WorkspaceName[], id: string | null): string | null =>
  id === null ? null : (workspaces.find((one) => one.id === id)?.slug ?? id)

/** For a field; the workspace of the URL is meant unless somebody says otherwise. */
export const workspaceOptions = (
  workspaces: readonly WorkspaceName[],
): readonly (readonly [value: string, label: string])[] =>
  workspaces.map(({ slug, name }) => [slug, name === slug ? slug : `${slug} (${name})`])

export const chosenWorkspace = (visit: Visit, workspaces: readonly WorkspaceName[]): string => {
  const { workspace } = visit.scope
  const named = workspaces.find(({ id, slug }) => id === workspace || slug === workspace)
  return (named ?? workspaces.find(({ is_default }) => is_default) ?? workspaces[0])?.slug ?? ''
}

/** For what belongs to one workspace, whatever the URL says. */
export const within = (slug: string) => ({ scoped: false, headers: { 'x-workspace-id': slug } })
