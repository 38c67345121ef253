/**
 * NAME      default-workspace - whose pool carries mail that belongs to no workspace
 */
import type { Tenants, WorkspaceRow } from '../../store/port/tenants.js'

export const defaultWorkspace = async (
  store: Pick<Tenants, 'workspaces'>,
  accountId: string,
): Promise<WorkspaceRow | null> => {
  const page = { limit: 100, direction: 'newer', anchor: null, countUpTo: 0 } as const
  return (await store.workspaces(accountId, page)).rows.find(({ isDefault }) => isDefault) ?? null
}
