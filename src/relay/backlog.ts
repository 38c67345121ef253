/**
 * NAME      backlog - the mails at hand, in fair order
 * DESCRIPTION
 *   What one pool has leased and not begun. Workspaces take turns, each with its
 *   own queue in order of arrival, so a tenant's flood delays another's
 *   single mail by one message, not by the flood. Mails that failed over to
 *   another upstream go first: they have waited already. Where recipients may
 *   share a transaction, those of one message that wait together become one item.
 */

import type { Claimed } from '../lifecycle/facts.js'
import type { AttemptEnd } from '../outcome/reply.js'
import { isPlain } from './dialogue/envelope.js'

/** Every server takes so many recipients at once (RFC 5321, 4.5.3.1.8). */
const MOST_TOGETHER = 100

export interface Item {
  readonly claimed: Claimed
  /** Further recipients of the same message, in the same transaction. */
  readonly others: Claimed[]
  /** Members that failed this mail on this attempt. */
  readonly tried: Set<string>
  /** Those of them that it left in a hurry, and when, on the tick clock. */
  readonly left: Map<string, number>
  /** What happened there, a line each, for the record. */
  readonly before: string[]
  /** How the last of them failed. */
  last: AttemptEnd | null
  /** True when a kept connection was found dead under this mail; a second time counts as a failure. */
  stale: boolean
}

export const itemOf = (claimed: Claimed, others: Claimed[] = []): Item => ({
  claimed,
  others,
  tried: new Set(),
  left: new Map(),
  before: [],
  last: null,
  stale: false,
})

/** The first of its recipients apart from the others, as one of nobody has it: another item. */
export const split = (item: Item, count: number): readonly [Item | null, Item | null] => {
  const all = recipientsOf(item)
  if (count >= all.length) return [item, null]
  const part = ([claimed, ...others]: readonly Claimed[]): Item | null =>
    claimed === undefined
      ? null
      : {
          ...{ ...item, claimed, others },
          ...{ tried: new Set(item.tried), left: new Map(item.left), before: [...item.before] },
        }
  return count === 0 ? [null, item] : [part(all.slice(0, count)), part(all.slice(count))]
}

export const recipientsOf = ({ claimed, others }: Item): readonly Claimed[] =>
  others.length === 0 ? [claimed] : [claimed, ...others]

interface Turn {
  readonly items: Item[]
  next: number
}

export class Backlog {
  readonly #turns = new Map<string, Turn>()
  readonly #again: Item[] = []
  /** Where a further recipient of an email could join, by email. */
  readonly #joinable = new Map<string, Item>()
  size = 0

  /** `shared`: recipients of one message go together. */
  add(claimed: Claimed, shared = false): void {
    const joins = shared && isPlain(claimed.address)
    const waiting = joins ? this.#joinable.get(claimed.emailId) : undefined
    if (waiting !== undefined && waiting.others.length + 1 < MOST_TOGETHER) {
      waiting.others.push(claimed)
      return
    }
    const item = itemOf(claimed)
    if (joins) this.#joinable.set(claimed.emailId, item)
    const turn = this.#turns.get(claimed.workspaceId)
    if (turn === undefined) this.#turns.set(claimed.workspaceId, { items: [item], next: 0 })
    else turn.items.push(item)
    this.size++
  }

  /** For another try of the same attempt. */
  addAgain(item: Item): void {
    this.#again.push(item)
    this.size++
  }

  /** Those waiting for another upstream, out of the line. */
  takeAgain(): Item[] {
    this.size -= this.#again.length
    return this.#again.splice(0)
  }

  /** The workspace whose turn it is. */
  get first(): string | undefined {
    return this.#turns.keys().next().value
  }

  take(): Item | null {
    for (const [workspaceId, turn] of this.#turns) {
      const item = turn.items[turn.next++]
      if (item === undefined) break
      // to the end of the line, or out of it
      this.#turns.delete(workspaceId)
      if (turn.next < turn.items.length) this.#turns.set(workspaceId, turn)
      if (turn.next >= 1_024) {
        turn.items.splice(0, turn.next)
        turn.next = 0
      }
      this.size--
      if (this.#joinable.get(item.claimed.emailId) === item) this.#joinable.delete(item.claimed.emailId)
      return item
    }
    return null
  }

  /** Empties it. */
  takeAll(): Item[] {
    const all = this.takeAgain()
    for (let item = this.take(); item !== null; item = this.take()) all.push(item)
    return all
  }
}
