/**
 * NAME      backlog - the mails at hand, in fair order
 * DESCRIPTION
 *   What one pool has leased and not begun. Workspaces take turns, each with its
 *   own queue in order of arrival, so a tenant's flood delays another's
 *   single mail by one message, not by the flood. Mails that failed over to
 *   another upstream go first: they have waited already.
 */
import type { AttemptEnd } from '../outcome/reply.js'
import type { Claimed } from '../store/port.js'

export interface Item {
  readonly claimed: Claimed
  /** Members that failed this mail on this attempt. */
  readonly tried: Set<string>
  /** How the last of them failed. */
  last: AttemptEnd | null
  /** True when a kept connection was found dead under this mail; a second time counts as a failure. */
  stale: boolean
}

interface Turn {
  readonly items: Item[]
  next: number
}

export class Backlog {
  readonly #turns = new Map<string, Turn>()
  readonly #again: Item[] = []
  size = 0

  add(claimed: Claimed): void {
    const item = { claimed, tried: new Set<string>(), last: null, stale: false }
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
