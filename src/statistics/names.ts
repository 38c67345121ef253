/**
 * NAME      names - what people call the groups of an answer
 * DESCRIPTION
 *   Workspaces, pools and upstreams are counted by their ids, which outlive them:
 *   what was deleted has no name any more.
 */
import type { Tenants } from '../store/port/tenants.js'
import type { GroupBy } from './ask.js'
import type { Names } from './record.js'
import type { Report } from './report.js'

type NameReads = Pick<Tenants, 'workspace' | 'pool' | 'allPools'>

export const namesOf = async (
  store: NameReads,
  accountId: string,
  groupBy: GroupBy,
  { groups }: Report,
): Promise<Names> => {
  const names = new Map<string, string>()
  if (groupBy === 'upstream')
    for (const pool of await store.allPools())
      if (pool.accountId === accountId)
        for (const { id, host, port } of pool.upstreams) names.set(id, `${host}:${port}`)
  if (groupBy !== 'workspace' && groupBy !== 'pool') return names
  for (const { key } of groups) {
    const row = key === null ? null : await store[groupBy](accountId, key)
    if (row !== null && key !== null) names.set(key, row.name)
  }
  return names
}
