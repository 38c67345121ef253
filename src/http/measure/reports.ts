/**
 * NAME      reports - mails that came back, counted by what was made of them
 * DESCRIPTION
 *   By kind, by how far they were believed, and by what they did: moved a
 *   status or were heard as a complaint (`applied`), left an event and no more (`noted`), or nothing.
 *   Every label is one of a few words, so the series are bounded whatever comes in.
 */
import type { Recorded } from '../../outcome/report.js'
import type { Metric } from '../metrics.js'

export class ReportMetrics {
  readonly #counts = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>()
  #suppressed = 0
  #lost = 0

  note({ kind, tier, did, suppressed }: Pick<Recorded, 'kind' | 'tier' | 'did' | 'suppressed'>): void {
    const key = `${kind} ${tier} ${did}`
    const found = this.#counts.get(key) ?? { labels: { kind, tier, did }, value: 0 }
    found.value++
    this.#counts.set(key, found)
    if (suppressed) this.#suppressed++
  }

  /** Reports of the sandbox that were given up. */
  lost(count: number): void {
    this.#lost += count
  }

  metrics(): readonly Metric[] {
    return [
      {
        name: 'postern_reports_total',
        help: 'Bounces, delays, complaints and replies that came in, by kind, tier of trust and what they did',
        type: 'counter',
        samples: [...this.#counts.values()],
      },
      {
        name: 'postern_reports_suppressed_total',
        help: 'Addresses that a report put on a suppression list',
        type: 'counter',
        samples: [{ value: this.#suppressed }],
      },
      {
        name: 'postern_reports_lost',
        help: 'Reports of the sandbox that were given up since the start; always 0, or this is a mistake of ours',
        type: 'gauge',
        samples: [{ value: this.#lost }],
      },
    ]
  }
}
