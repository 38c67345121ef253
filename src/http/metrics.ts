/**
 * NAME      metrics - the Prometheus text format, and counters for it
 * DESCRIPTION
 *   Version 0.0.4: a HELP and a TYPE line for each metric, then its samples.
 */

interface Sample {
  /** Of a histogram: `_bucket`, `_sum` or `_count`. */
  readonly suffix?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}

export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'gauge' | 'counter' | 'histogram'
  readonly samples: readonly Sample[]
}

const metric =
  (type: Metric['type']) =>
  (name: string, help: string, of: number | readonly Sample[]): Metric => ({
    ...{ name, help, type },
    samples: typeof of === 'number' ? [{ value: of }] : of,
  })

export const gauge = metric('gauge')
export const counter = metric('counter')

/** How long things took, in buckets: counts for each, their sum and their number. */
export const histogram = (
  name: string,
  help: string,
  {
    bounds,
    counts,
    sum,
  }: { readonly bounds: readonly number[]; readonly counts: readonly number[]; readonly sum: number },
): Metric => {
  let below = 0
  const buckets = counts.map((count, i) => {
    below += count
    return { suffix: '_bucket', labels: { le: String(bounds[i] ?? '+Inf') }, value: below }
  })
  const samples = [...buckets, { suffix: '_sum', value: sum }, { suffix: '_count', value: below }]
  return { name, help, type: 'histogram', samples }
}

const ESCAPES: Record<string, string> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' }

const escaped = (text: string, chars: RegExp): string => text.replace(chars, (char) => ESCAPES[char] ?? '')

const labelText = (labels: Readonly<Record<string, string>> = {}): string => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value, /[\\"\n]/g)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join()}}`
}

export const metricsText = (metrics: readonly Metric[]): string =>
  metrics
    .flatMap(({ name, help, type, samples }) => [
      `# HELP ${name} ${escaped(help, /[\\\n]/g)}`,
      `# TYPE ${name} ${type}`,
      ...samples.map(({ suffix = '', labels, value }) => `${name}${suffix}${labelText(labels)} ${value}`),
    ])
    .join('\n')
    .concat('\n')

/** How long things took, in buckets. One observation costs a short walk over the bounds; nothing is allocated. */
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
    return histogram(name, help, { bounds: this.#bounds, counts: this.#counts, sum: this.#sum })
  }
}

/* Counters of the busiest workspaces, the rest as `other`. A label must have few values, and there may be ten thousand
   workspaces. Each look (a scrape) keeps a name for those that count most lately; a quiet one makes room for a busy one, and
   its series ends. Counters only rise: what a workspace counted without a name stays in `other`, and its own series then
   begins with what comes next, so that sums of rates stay true. */

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
