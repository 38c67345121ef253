/**
 * NAME      managed - which setup made a thing, and how its files name it
 * DESCRIPTION
 *   It stands in the record of each thing that a setup can make. The rows do not know it: a door asks once for all records
 *   that it shows, when they are made. Whatever no setup made, as all that was made just now, has null.
 */
import type { ManagedKind, ManagedName, Setups } from '../store/port/tenants.js'
import { record, text } from './member.js'

export interface Managed {
  readonly setup: string
  readonly name: string
}

/** The member of a record; `withManaged` fills it. */
export const MANAGED = record(
  {
    setup: text({ says: 'The name of the setup' }),
    name: text({ says: 'As its files name it, with the workspace before a slash' }),
  },
  {
    none: true,
    of: (): Managed | null => null,
    says: 'The setup that made it: where the files say otherwise, what is changed by hand is left alone by `postern apply` until it is adopted. null: a person or a program made it',
  },
)

/** By what records say that they are. */
const KIND_OF: Readonly<Record<string, ManagedKind>> = {
  ...{ api_key: 'key', credential: 'credential', domain: 'domain', egress_pool: 'pool' },
  ...{ workspace: 'workspace', webhook: 'webhook', user: 'person' },
}

/** `shop/web`, as the files name it. */
const nameIn = ({ workspace, name }: ManagedName): string =>
  workspace === '' ? name : `${workspace}/${name}`

interface Told {
  readonly id: string
  readonly object: string
  readonly managed: Managed | null
}

const isTold = (value: unknown): value is Told =>
  typeof value === 'object' && value !== null && 'managed' in value && 'object' in value

/** The records in an answer: itself, those of a list, and the one that it takes the place of. */
const toldIn = (answer: unknown): readonly Told[] => {
  if (Array.isArray(answer)) return answer.filter(isTold)
  if (typeof answer !== 'object' || answer === null) return []
  const { data, replaces } = answer as { readonly data?: unknown; readonly replaces?: unknown }
  return [answer, ...(Array.isArray(data) ? data : []), replaces].filter(isTold)
}

/** The same record, list of records or answer, told of each record which setup made it. */
export const withManaged = async <T>(
  store: Pick<Setups, 'managedNames'>,
  accountId: string,
  answer: T,
): Promise<T> => {
  const told = toldIn(answer)
  if (told.length === 0) return answer
  const names = await store.managedNames(
    accountId,
    told.map(({ id }) => id),
  )
  if (names.length === 0) return answer
  const filled = new Map<unknown, Told>()
  for (const one of told) {
    const made = names.find(({ objectId, kind }) => objectId === one.id && kind === KIND_OF[one.object])
    if (made !== undefined) filled.set(one, { ...one, managed: { setup: made.setup, name: nameIn(made) } })
  }
  const fill = <V>(value: V): V => (filled.get(value) as V | undefined) ?? value
  if (Array.isArray(answer)) return answer.map(fill) as T
  const { data, replaces } = answer as { readonly data?: unknown; readonly replaces?: unknown }
  return {
    ...fill(answer),
    ...(Array.isArray(data) && { data: data.map(fill) }),
    ...(replaces !== undefined && { replaces: fill(replaces) }),
  }
}
