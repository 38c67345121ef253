/**
 * NAME      lines - few lines on one scale, such as times to delivery
 */
import { ChartTable, Ticks } from './axis.js'

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
