/**
 * NAME      strips - several figures over one axis of time, each with a scale of its own
 * DESCRIPTION
 *   In one stacked chart forty bounces could not be seen on two thousand mails. The words and the figure stand left of
 *   each strip, its peak right of it. The same numbers stand in a table in a fold, which is also where the script that
 *   shows them under the pointer takes them from.
 */

import type { ComponentChildren } from 'preact'
import { figure } from '../figure.js'
import { Icon } from '../status.js'
import { ChartTable, Ticks } from './axis.js'

export interface Strip {
  readonly name: string
  /** Of the fill; nothing is neither good nor bad. */
  readonly tone?: 'ok' | 'wait' | 'bad'
  readonly icon?: string
  readonly total: number
  /** Beside the total, such as `96.6 %`. */
  readonly rate?: string
  /** To exactly those mails. */
  readonly href?: string
  /** One for each time. */
  readonly values: readonly number[]
}

interface StripsProps {
  /** The beginning of each span (RFC 3339), the oldest first, and the end of the last one. */
  readonly times: readonly string[]
  readonly until: string
  readonly strips: readonly Strip[]
  /** Of the table, such as `Mails per half hour`. */
  readonly caption: string
  readonly id: string
}

const HEIGHT = 100
const STEP = 10

/** One path for all bars: a hundred rectangles would be most of the page. */
const barsPath = (values: readonly number[], peak: number): string =>
  values
    .map((value, at) => {
      if (value === 0 || peak === 0) return ''
      const height = Math.max(2, Math.round((value / peak) * HEIGHT * 10) / 10)
      return `M${at * STEP + 1} ${HEIGHT}v-${height}h${STEP - 2}v${height}z`
    })
    .join('')

const Row = ({ strip, at }: { readonly strip: Strip; readonly at: number }): ComponentChildren => {
  const { name, tone = '', icon, total, rate, href, values } = strip
  const peak = Math.max(0, ...values)
  const shown = figure(total)
  return (
    <div class="strip">
      <div>
        <h3>
          {icon === undefined ? null : <Icon name={icon} tone={tone} />}
          {name}
        </h3>
        <p class="big">
          {href === undefined ? shown : <a href={href}>{shown}</a>}
          {rate === undefined ? null : <span class="rate">{rate}</span>}
        </p>
      </div>
      <div class="plot" data-series={at}>
        <svg viewBox={`0 0 ${values.length * STEP} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path class={`bars ${tone}`.trim()} d={barsPath(values, peak)} />
        </svg>
      </div>
      <span class="top">
        <span class="hid">at most </span>
        {figure(peak)}
      </span>
    </div>
  )
}

export const Strips = ({ times, until, strips, caption, id }: StripsProps) => (
  <>
    <div class="strips" data-chart={id} data-kind="bars">
      {strips.map((strip, at) => (
        <Row strip={strip} at={at} />
      ))}
      <Ticks from={times[0] ?? until} until={until} />
    </div>
    <ChartTable
      {...{ id, times, caption }}
      columns={strips.map(({ name, values }) => ({ name, values: values.map(figure), raw: values }))}
    />
  </>
)
