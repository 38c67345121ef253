/**
 * NAME      ages - how old what waits is, by one of its parts
 */
import { AGE_EDGES, AGE_NAMES, type QueueAge } from '../../port/operations.js'
import type { Found } from './walk.js'

interface Group {
  recipients: number
  readonly ages: number[]
  oldestAt: number
  nextDueAt: number | null
  lastResponse: string | null
}

export class AgeTally {
  readonly #groups = new Map<string, Group>()
  readonly #now: number
  scheduled = 0

  constructor(now: number) {
    this.#now = now
  }

  add(key: string, row: Found): void {
    if (row.status === 'scheduled') {
      this.scheduled++
      return
    }
    const group = this.#groups.get(key) ?? this.#begin(key)
    const age = this.#now - row.queued_at
    const place = AGE_EDGES.findIndex((edge) => age < edge)
    const at = place < 0 ? AGE_EDGES.length : place
    group.recipients++
    group.ages[at] = (group.ages[at] ?? 0) + 1
    group.oldestAt = Math.min(group.oldestAt, row.queued_at)
    if (row.due_at !== null) group.nextDueAt = Math.min(group.nextDueAt ?? row.due_at, row.due_at)
    group.lastResponse ??= row.last_response
  }

  /** Most first. */
  rows(): readonly QueueAge[] {
    return [...this.#groups]
      .map(([key, group]) => ({ key, ...group }))
      .sort((a, b) => b.recipients - a.recipients || a.oldestAt - b.oldestAt)
  }

  #begin(key: string): Group {
    const ages = AGE_NAMES.map(() => 0)
    const group: Group = { recipients: 0, ages, oldestAt: this.#now, nextDueAt: null, lastResponse: null }
    this.#groups.set(key, group)
    return group
  }
}
