/**
 * NAME      axis - the times below a chart, and its table
 */
import { useVisit } from '../../render/context.js'
import { dayOf, exactTime, minuteTime } from '../time.js'

const TICKS = [6, 7, 5, 4, 8, 3] as const
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

/** So many equal parts that each is whole hours, where that is possible. */
const partsOf = (span: number): number => {
  const whole = (unit: number) => TICKS.find((parts) => (span / parts) % unit === 0)
  return whole(DAY_MS) ?? whole(HOUR_MS) ?? whole(HOUR_MS / 6) ?? TICKS[0]
}

/** In HTML, so that they keep their size whatever the chart's is. */
export const Ticks = ({ from, until }: { readonly from: string; readonly until: string }) => {
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
  /** What the script draws. */
  readonly raw: readonly (number | null)[]
}

interface ChartTableProps {
  readonly id: string
  readonly times: readonly string[]
  readonly columns: readonly ChartColumn[]
  readonly caption: string
}

export const ChartTable = ({ id, times, columns, caption }: ChartTableProps) => {
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
