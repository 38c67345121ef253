/**
 * NAME      busiest - counters of the busiest workspaces, the rest as `other`
 * DESCRIPTION
 *   A label must have few values, and there may be ten thousand workspaces. Each
 *   look (a scrape) keeps a name for those that count most lately; a quiet one
 *   makes room for a busy one, and its series ends. Counters only rise: what a
 *   workspace counted without a name stays in `other`, and its own series then
 *   begins with what comes next, so that sums of rates stay true.
 */
import type { Sample } from '../metrics.js'

type Labels = Readonly<Record<string, string>>

interface Count {
  readonly labels: Labels
  value: number
}

/** Newcomers must be that much busier, or two of a size would take turns. */
const MARGIN = 2
/** Without a name, so many are compared at a time; the rest is `other` without a chance until the next look. */
const MOST_COMPARED = 10_000

export class Busiest {
  readonly #most: number
  readonly #named = new Map<string, Map<string, Count>>()
  readonly #other = new Map<string, Count>()
  /** What each counted lately; halved at each look. */
  readonly #lately = new Map<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /** `labels` must hold few different values: a status, a door. */
  add(workspace: string, labels: Labels, by = 1): void {
    const lately = this.#lately.get(workspace)
    if (lately !== undefined || this.#lately.size < MOST_COMPARED)
      this.#lately.set(workspace, (lately ?? 0) + by)
    if (!this.#named.has(workspace) && this.#named.size < this.#most) this.#named.set(workspace, new Map())
    const counts = this.#named.get(workspace) ?? this.#other
    const key = Object.values(labels).join()
    const count = counts.get(key)
    if (count === undefined) counts.set(key, { labels, value: by })
    else count.value += by
  }

  samples(): readonly Sample[] {
    this.#rename()
    const told = [...this.#named, ...(this.#other.size > 0 ? [['other', this.#other] as const] : [])]
    return told.flatMap(([workspace, counts]) =>
      [...counts.values()].map(({ labels, value }) => ({ labels: { workspace, ...labels }, value })),
    )
  }

  #rename(): void {
    const weigh = (workspace: string): number => this.#lately.get(workspace) ?? 0
    const rising = [...this.#lately.keys()]
      .filter((workspace) => !this.#named.has(workspace))
      .sort((a, b) => weigh(b) - weigh(a))
    const falling = [...this.#named.keys()].sort((a, b) => weigh(a) - weigh(b))
    for (const [i, workspace] of rising.slice(0, falling.length).entries()) {
      const quiet = falling[i] ?? ''
      if (weigh(workspace) <= MARGIN * Math.max(1, weigh(quiet))) break
      this.#named.delete(quiet)
      this.#named.set(workspace, new Map())
    }
    for (const [workspace, lately] of this.#lately) {
      if (lately >= 2) this.#lately.set(workspace, lately / 2)
      else this.#lately.delete(workspace)
    }
  }
}
