/**
 * NAME      flow-metrics - how mail passes through, and what comes back, counted as it happens
 * DESCRIPTION
 *   Of accepted mail and of committed status changes: from acceptance to
 *   the first answer of an upstream, and from there to a report, as histograms;
 *   what came in and what became of recipients, per workspace. Labels are bounded:
 *   beyond the busiest workspaces the rest count as `other`, and only so many
 *   mails are followed at once. Mails that came back by kind, by how far they were believed, and by what they did: moved a
 *   status or were heard as a complaint (`applied`), left an event and no more (`noted`), or nothing.
 * NOTES
 *   The time of acceptance is that of the email's id, so a scheduled mail counts
 *   with its wait.
 */
import { idTime } from '../base/id.js'
import type { NewEmail, Settled } from '../lifecycle/facts.js'
import type { TakenReport } from '../outcome/domain-report.js'
import type { Recorded } from '../outcome/report.js'
import { Busiest, counter, gauge, Histogram, type Metric } from './metrics.js'

const MOST_WORKSPACES = 100
const MOST_FOLLOWED = 20_000
const RELAY_BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3600]
const OUTCOME_BOUNDS = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400, 86_400]

export class FlowMetrics {
  readonly #toRelay = new Histogram(RELAY_BOUNDS)
  readonly #toOutcome = new Histogram(OUTCOME_BOUNDS)
  readonly #accepted = new Busiest(MOST_WORKSPACES)
  readonly #settled = new Busiest(MOST_WORKSPACES)
  /** When recipients became `sent`, oldest first. */
  readonly #sent = new Map<string, number>()

  accepted(mails: readonly Pick<NewEmail, 'workspaceId' | 'source' | 'mode'>[]): void {
    for (const { workspaceId, source, mode } of mails) this.#accepted.add(workspaceId, { source, mode })
  }

  note(settled: readonly Settled[], now: number): void {
    for (const one of settled) {
      if (!one.applied) continue
      this.#settled.add(one.workspaceId, { status: one.to, mode: one.mode })
      if (one.from === 'queued') this.#toRelay.observe(Math.max(0, now - idTime(one.emailId)) / 1_000)
      if (one.to === 'sent') this.#follow(one.recipientId, now)
      else this.#arrived(one.recipientId, now)
    }
  }

  #follow(recipientId: string, now: number): void {
    this.#sent.set(recipientId, now)
    if (this.#sent.size <= MOST_FOLLOWED) return
    for (const oldest of this.#sent.keys()) {
      this.#sent.delete(oldest)
      return
    }
  }

  #arrived(recipientId: string, now: number): void {
    const sentAt = this.#sent.get(recipientId)
    if (sentAt === undefined) return
    this.#sent.delete(recipientId)
    this.#toOutcome.observe(Math.max(0, now - sentAt) / 1_000)
  }

  metrics(): readonly Metric[] {
    return [
      counter(
        'postern_emails_accepted_total',
        'Mails accepted since the start, by workspace, door and mode',
        this.#accepted.samples(),
      ),
      counter(
        'postern_recipients_settled_total',
        'Status changes of recipients since the start, by workspace, new status and mode',
        this.#settled.samples(),
      ),
      this.#toRelay.metric(
        'postern_accept_to_relay_seconds',
        'From acceptance to the first answer of an upstream',
      ),
      this.#toOutcome.metric('postern_relay_to_outcome_seconds', 'From the upstream taking it to a report'),
    ]
  }
}

export class ReportMetrics {
  readonly #counts = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>()
  readonly #domains = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>()
  #suppressed = 0
  #lost = 0

  note({ kind, tier, did, suppressed }: Pick<Recorded, 'kind' | 'tier' | 'did' | 'suppressed'>): void {
    const key = `${kind} ${tier} ${did}`
    const found = this.#counts.get(key) ?? { labels: { kind, tier, did }, value: 0 }
    found.value++
    this.#counts.set(key, found)
    if (suppressed) this.#suppressed++
  }

  /** Of a receiver, about a domain. */
  noteDomain({ kind, result }: Pick<TakenReport, 'kind' | 'result'>): void {
    const found = this.#domains.get(`${kind} ${result}`) ?? { labels: { kind: kind ?? '', result }, value: 0 }
    found.value++
    this.#domains.set(`${kind} ${result}`, found)
  }

  /** Reports of the sandbox that were given up. */
  lost(count: number): void {
    this.#lost += count
  }

  metrics(): readonly Metric[] {
    return [
      counter(
        'postern_reports_total',
        'Bounces, delays, complaints and replies that came in, by kind, tier of trust and what they did',
        [...this.#counts.values()],
      ),
      counter(
        'postern_domain_reports_total',
        'Mails to the addresses for reports about domains (DMARC, TLS), by kind and by what became of them',
        [...this.#domains.values()],
      ),
      counter(
        'postern_reports_suppressed_total',
        'Addresses that a report put on a suppression list',
        this.#suppressed,
      ),
      gauge(
        'postern_reports_lost',
        'Reports of the sandbox that were given up since the start; always 0, or this is a mistake of ours',
        this.#lost,
      ),
    ]
  }
}

/** What became of links to unsubscribe; `repeated`: it was done before. */
type Click = 'taken' | 'repeated' | 'forged'

export class UnsubscribeMetrics {
  readonly #counts: Record<Click, number> = { taken: 0, repeated: 0, forged: 0 }

  note(click: Click): void {
    this.#counts[click]++
  }

  metrics(): readonly Metric[] {
    return [
      counter(
        'postern_unsubscribes_total',
        'Links to unsubscribe that were followed to the end, by what became of it, and those that were none of ours',
        Object.entries(this.#counts).map(([result, value]) => ({ labels: { result }, value })),
      ),
    ]
  }
}
