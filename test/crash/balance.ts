/**
 * What was acknowledged against the upstream's copies and the API's answers. `copies` are lines of load.ts' `digest`;
 * those of mail that is not ours are left alone.
 */
import { eventually } from '../parts/eventually.js'
import type { ApiAnswer } from '../parts/postern.js'

export interface Balance {
  readonly acknowledged: number
  readonly lost: readonly string[]
  /** Given up, though no upstream refuses anything. */
  readonly givenUp: readonly string[]
  readonly stuck: readonly string[]
  /** Told as bounced, though the upstream has it. */
  readonly wrong: readonly string[]
  readonly short: readonly string[]
  readonly duplicated: number
  /** Second copies whose timeline does not admit an ambiguous attempt. */
  readonly unexplained: readonly string[]
  /** Mails that wait for an operator, since nobody knows whether they were taken. */
  readonly held: number
}

export interface Balancing {
  readonly ids: readonly string[]
  readonly copies: readonly string[]
  readonly ask: (path: string) => Promise<ApiAnswer>
  /** Mail that may have been taken is held and not sent again. */
  readonly isHolding: boolean
  /** Tells many at once, where there is a way; else each is asked for. */
  readonly statuses?: () => ReadonlyMap<string, string>
}

const FINAL = ['sent', 'delivered', 'bounced']

const askers = ({ ask, isHolding, statuses: known }: Balancing) => {
  const isAmbiguous = async (id: string): Promise<boolean> =>
    (await ask(`/v1/emails/${id}/events?limit=100`)).text.includes('ambiguous')
  const statuses = async (ids: readonly string[]): Promise<Map<string, string>> => {
    const found = new Map<string, string>()
    let open = ids
    const look = async (): Promise<boolean> => {
      const all = known?.()
      if (all !== undefined) for (const id of open) found.set(id, all.get(id) ?? 'unknown')
      else
        for (let i = 0; i < open.length; i += 20)
          await Promise.all(
            open.slice(i, i + 20).map(async (id) => {
              const { body } = await ask(`/v1/emails/${id}`)
              found.set(id, body?.status ?? 'unknown')
            }),
          )
      open = open.filter((id) => ![...FINAL, 'unknown'].includes(found.get(id) ?? ''))
      if (!isHolding) return open.length === 0
      return (await Promise.all(open.map(isAmbiguous))).every(Boolean)
    }
    // what is open then is stuck
    await eventually('all mail is settled', look, { every: 200, moves: () => open.length }).catch(() => {})
    return found
  }
  return { isAmbiguous, statuses }
}

export const balanceOf = async (balancing: Balancing): Promise<Balance> => {
  const { ids, ask, isHolding } = balancing
  const { isAmbiguous, statuses } = askers(balancing)
  const known = await statuses(ids)
  const copies = new Map<string, number>()
  const short: string[] = []
  for (const copy of balancing.copies) {
    const [id = '', whole = ''] = copy.split(' ')
    copies.set(id, (copies.get(id) ?? 0) + 1)
    if (whole !== 'whole') short.push(id)
  }
  const twice: string[] = []
  for (const [id, n] of copies) if (n > 1 && (await ask(`/v1/emails/${id}`)).status === 200) twice.push(id)
  const unexplained: string[] = []
  for (const id of twice) if (!(await isAmbiguous(id))) unexplained.push(id)
  const open = ids.filter((id) => !FINAL.includes(known.get(id) ?? ''))
  const held = new Set<string>()
  if (isHolding) for (const id of open) if (await isAmbiguous(id)) held.add(id)
  return {
    acknowledged: ids.length,
    lost: ids.filter((id) => !copies.has(id) && known.get(id) !== 'bounced' && !held.has(id)),
    givenUp: ids.filter((id) => !copies.has(id) && known.get(id) === 'bounced'),
    stuck: open.filter((id) => !held.has(id)),
    wrong: ids.filter((id) => copies.has(id) && known.get(id) === 'bounced'),
    short,
    duplicated: twice.length,
    unexplained,
    held: held.size,
  }
}

/** The first of them, in a line; none: no line. */
export const few = (what: string, all: readonly unknown[]): string[] =>
  all.length > 0 ? [`${what}: ${all.slice(0, 10).join(' ')} (${all.length})`] : []

/** Every demand that is not met, in words. */
export const wrongIn = (balance: Balance): string[] =>
  (['lost', 'givenUp', 'stuck', 'wrong', 'short', 'unexplained'] as const).flatMap((what) =>
    few(what, balance[what]),
  )
