/**
 * NAME      histogram - how long things took, in buckets
 * DESCRIPTION
 *   Counts per bucket, their sum and their number, as Prometheus wants them.
 *   One observation costs a short walk over the bounds; nothing is allocated.
 */
import type { Metric } from '../metrics.js'

export class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0)
  }

  observe(value: number): void {
    let at = 0
    while (at < this.#bounds.length && value > (this.#bounds[at] as number)) at++
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
    this.#sum += value
  }

  metric(name: string, help: string): Metric {
    let below = 0
    const buckets = this.#counts.map((count, i) => {
      below += count
      return { suffix: '_bucket', labels: { le: String(this.#bounds[i] ?? '+Inf') }, value: below }
    })
    const sum = { suffix: '_sum', value: this.#sum }
    return { name, help, type: 'histogram', samples: [...buckets, sum, { suffix: '_count', value: below }] }
  }
}
