/**
 * NAME      places - pools and workspaces as people call them
 */
import type { Options } from '../../parts/form.js'
import type { List } from '../../parts/table.js'
import type { Visit } from '../../visit.js'

interface Named {
  readonly id: string
  readonly text: string
}

export interface Places {
  readonly pools: readonly Named[]
  readonly workspaces: readonly Named[]
  pool(id: string): string
  workspace(id: string): string
}

const textOf = (rows: readonly Named[], id: string): string => rows.find((one) => one.id === id)?.text ?? id

/** Of a field that may be left open. */
export const anyOf = (rows: readonly Named[]): Options => [
  ['', 'any'],
  ...rows.map(({ id, text }) => [id, text] as const),
]

/** The first hundred of each; others are shown by their ids. */
export const placesOf = async (visit: Visit): Promise<Places> => {
  const query = { limit: 100 }
  const [workspaces, pools] = await Promise.all([
    visit.workspaces(),
    visit.ask<List<{ id: string; name: string }>>('GET', '/v1/egress-pools', { query, scoped: false }),
  ])
  const named = {
    pools: pools.data.map(({ id, name }) => ({ id, text: name })),
    workspaces: workspaces.map(({ id, slug }) => ({ id, text: slug })),
  }
  return {
    ...named,
    pool: (id) => textOf(named.pools, id),
    workspace: (id) => textOf(named.workspaces, id),
  }
}
