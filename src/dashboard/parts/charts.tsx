/**
 * NAME      charts - figures over time, as strips and as lines, each with its table
 *   Strips are several figures over one axis of time, each with a scale of its own: in one stacked chart forty bounces
 *   could not be seen on two thousand mails. Lines share one scale. The same numbers stand in a table in a fold, which
 *   is also where the script that shows them under the pointer takes them from. Times and words are HTML, so that they
 *   keep their size whatever the chart's is.
 */
import type { ComponentChildren } from 'preact'
import { useVisit } from '../render.js'
import { Icon } from './status.js'
import { dayOf, exactTime, figure, minuteTime } from './text.js'

const TICKS = [6, 7, 5, 4, 8, 3] as const
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

/** So many equal parts that each is whole hours, where that is possible. */
const partsOf = (span: number): number => {
  const whole = (unit: number) => TICKS.find((parts) => (span / parts) % unit === 0)
  return whole(DAY_MS) ?? whole(HOUR_MS) ?? whole(HOUR_MS / 6) ?? TICKS[0]
}

/** In HTML, so that they keep their size whatever the chart's is. */
const Ticks = ({ from, until }: { readonly from: string; readonly until: string }) => {
  const { zone } = useVisit()
  const begin = Date.parse(from)
  const span = Date.parse(until) - begin
  const parts = partsOf(span)
  const words = span > 2 * DAY_MS ? (at: number) => dayOf(at, zone).slice(5) : null
  return (
    <div class="xaxis" aria-hidden="true">
      {Array.from({ length: parts + 1 }, (_, tick) => {
        const at = begin + (span * tick) / parts
        return <span>{words === null ? minuteTime(at, zone) : words(at)}</span>
      })}
    </div>
  )
}

interface ChartColumn {
  readonly name: string
  readonly values: readonly string[]
  readonly raw: readonly (number | null)[]
}

interface ChartTableProps {
  readonly id: string
  readonly times: readonly string[]
  readonly columns: readonly ChartColumn[]
  readonly caption: string
}

const ChartTable = ({ id, times, columns, caption }: ChartTableProps) => {
  const { zone } = useVisit()
  return (
    <details class="fold gap">
      <summary>As a table</summary>
      <div class="scroll">
        <table class="t calm" id={`${id}-table`}>
          <caption>{`${caption}; times in ${zone}`}</caption>
          <thead>
            <tr>
              <th scope="col">From</th>
              {columns.map(({ name }) => (
                <th scope="col" class="num">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {times.map((time, row) => (
              <tr>
                <th scope="row">
                  <time datetime={time}>{exactTime(Date.parse(time), zone).slice(0, 16)}</time>
                </th>
                {columns.map(({ values, raw }) => (
                  <td class="num" data-v={raw[row] ?? ''}>
                    {values[row]}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}

interface Line {
  readonly name: string
  readonly tone?: 'ok' | 'wait' | 'bad'
  readonly dash?: boolean
  /** One for each time; null where nothing is known. */
  readonly values: readonly (number | null)[]
}

interface LinesProps {
  readonly times: readonly string[]
  readonly until: string
  readonly lines: readonly Line[]
  /** How a value is written, such as `1.2 s`. */
  readonly words: (value: number) => string
  readonly caption: string
  readonly id: string
}

const WIDTH = 480
const HEIGHT = 160
/** How wide a value is that has no neighbour. */
const LONE = 8

/** The next 1, 2 or 5 times a power of ten. */
const roundUp = (value: number): number => {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return ([1, 2, 5, 10].find((times) => times * power >= value) ?? 10) * power
}

/** Gaps stay gaps. */
const linePath = (values: readonly (number | null)[], most: number): string => {
  let isDown = false
  return values
    .map((value, at) => {
      if (value === null) {
        isDown = false
        return ''
      }
      const x = values.length === 1 ? 0 : (at / (values.length - 1)) * WIDTH
      const point = `${isDown ? 'L' : 'M'}${x.toFixed(1)} ${(HEIGHT - (value / most) * HEIGHT).toFixed(1)}`
      const isAlone = !isDown && (values[at + 1] ?? null) === null
      isDown = true
      return isAlone ? `${point}h${x > WIDTH / 2 ? -LONE : LONE}` : point
    })
    .join('')
}

const look = ({ tone, dash = false }: Line): string =>
  ['line', tone, dash && 'dash'].filter(Boolean).join(' ')

const lastOf = (values: readonly (number | null)[]): number | null =>
  values.findLast((value) => value !== null) ?? null

export const Lines = ({ times, until, lines, words, caption, id }: LinesProps) => {
  const most = roundUp(Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0))))
  return (
    <>
      <div class="lines" data-chart={id} data-kind="lines">
        <div class="y" aria-hidden="true">
          <span>{words(most)}</span>
          <span>{words(most / 2)}</span>
          <span>0</span>
        </div>
        <div class="plot" data-most={most}>
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
            {[0, HEIGHT / 2, HEIGHT].map((y) => (
              <line x1="0" x2={WIDTH} y1={y} y2={y} />
            ))}
            {lines.map((line) => (
              <path class={look(line)} d={linePath(line.values, most)} />
            ))}
          </svg>
        </div>
        <Ticks from={times[0] ?? until} until={until} />
        <ul class="legend">
          {lines.map((line) => {
            const last = lastOf(line.values)
            return (
              <li>
                <svg viewBox="0 0 24 8" aria-hidden="true">
                  <path class={look(line)} d="M0 4h24" />
                </svg>
                {line.name}
                {last === null ? null : <b>{words(last)}</b>}
              </li>
            )
          })}
        </ul>
      </div>
      <ChartTable
        {...{ id, times, caption }}
        columns={lines.map(({ name, values }) => ({
          name,
          values: values.map((value) => (value === null ? '' : words(value))),
          raw: values,
        }))}
      />
    </>
  )
}

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

const STRIP_HEIGHT = 100
const STEP = 10

/** One path for all bars: a hundred rectangles would be most of the page. */
const barsPath = (values: readonly number[], peak: number): string =>
  values
    .map((value, at) => {
      if (value === 0 || peak === 0) return ''
      const height = Math.max(2, Math.round((value / peak) * STRIP_HEIGHT * 10) / 10)
      return `M${at * STEP + 1} ${STRIP_HEIGHT}v-${height}h${STEP - 2}v${height}z`
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
        <svg
          viewBox={`0 0 ${values.length * STEP} ${STRIP_HEIGHT}`}
          preserveAspectRatio="none"
          aria-hidden="true"
        >
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
