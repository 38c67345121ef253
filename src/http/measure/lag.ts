/**
 * NAME      lag - how late this thread is
 * DESCRIPTION
 *   The delay of the event loop beyond the timer that measures it, over the last
 *   half minute to minute, whoever looks and however often: a look changes
 *   nothing, so two scrapers see the same.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { gauge, type Metric } from '../metrics.js'

const RESOLUTION_MS = 20
const WINDOW_MS = 30_000

export class Lag {
  /** Two that begin in turns; the older one is told. */
  #older: IntervalHistogram | null = null
  #younger: IntervalHistogram | null = null
  #turning: NodeJS.Timeout | null = null

  start(): void {
    this.#older = this.#begin()
    this.#younger = this.#begin()
    this.#turning = setInterval(() => {
      this.#older?.disable()
      this.#older = this.#younger
      this.#younger = this.#begin()
    }, WINDOW_MS).unref()
  }

  stop(): void {
    if (this.#turning !== null) clearInterval(this.#turning)
    this.#older?.disable()
    this.#younger?.disable()
  }

  #begin(): IntervalHistogram {
    const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    histogram.enable()
    return histogram
  }

  /** The histogram counts its own interval in. */
  #seconds(nanoseconds: number): number {
    return Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1e3) : 0
  }

  metrics(): readonly Metric[] {
    const told = this.#older
    return [
      gauge(
        'nodejs_eventloop_lag_p99_seconds',
        'Delay of the event loop of the doors over the last minute, 99th percentile',
        this.#seconds(told?.percentile(99) ?? 0),
      ),
      gauge(
        'nodejs_eventloop_lag_max_seconds',
        'Longest delay of the event loop of the doors over the last minute',
        told === null || told.count === 0 ? 0 : this.#seconds(told.max),
      ),
    ]
  }
}
