/**
 * NAME      charts - figures under the pointer
 *   Draws with uPlot what the server has drawn as SVG, from the numbers of the chart's own table, so that a pointer
 *   over one strip shows its time in all of them. The words below are for eyes; who hears the page has the table.
 */
import { uPlot } from './uplot.js'

type Plot = InstanceType<typeof uPlot>

interface Column {
  readonly name: string
  readonly words: readonly string[]
  readonly values: readonly (number | null)[]
}

interface Chart {
  readonly id: string
  readonly times: readonly string[]
  readonly columns: readonly Column[]
  readonly readout: HTMLElement
}

const plots = new Map<HTMLElement, Plot>()

const readTable = (id: string): Pick<Chart, 'times' | 'columns'> | null => {
  const table = document.getElementById(`${id}-table`)
  if (!(table instanceof HTMLTableElement)) return null
  const rows = [...(table.tBodies[0]?.rows ?? [])]
  const heads = [...table.querySelectorAll('thead th')].slice(1)
  const columns = heads.map((head, at) => {
    const cells = rows.map((row) => row.querySelectorAll<HTMLElement>('td')[at])
    return {
      name: head.textContent ?? '',
      words: cells.map((cell) => cell?.textContent ?? ''),
      values: cells.map((cell) => (cell?.dataset.v ? Number(cell.dataset.v) : null)),
    }
  })
  return { times: rows.map((row) => row.querySelector('time')?.textContent ?? ''), columns }
}

/** The colour that the style gives to what the server drew. */
const colourOf = (place: HTMLElement): string => {
  const path = place.querySelector('path')
  return path === null ? 'gray' : getComputedStyle(path).fill
}

const say = ({ readout, times, columns }: Chart, at: number | null | undefined): void => {
  const words =
    at === null || at === undefined ? '' : columns.map(({ name, words }) => `${name} ${words[at] || '–'}`)
  readout.textContent = words === '' ? '' : `${times[at ?? 0]}: ${words.join(' · ')}`
}

const draw = (place: HTMLElement, chart: Chart, columns: readonly Column[], isBars: boolean): void => {
  plots.get(place)?.destroy()
  const count = chart.times.length
  const peak = Math.max(1e-9, ...columns.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const most = Number(place.dataset.most ?? peak)
  const fill = colourOf(place)
  const bars = uPlot.paths.bars?.({ size: [0.8], align: 1 })
  // lines stay as the server drew them, with their grid and their lone points
  const series = columns.map(() => ({
    points: { show: false },
    width: 0,
    ...(isBars && bars && { fill, paths: bars }),
  }))
  const plot = new uPlot(
    {
      width: place.clientWidth,
      height: place.clientHeight,
      padding: [0, 0, 0, 0],
      legend: { show: false },
      axes: [{ show: false }, { show: false }],
      scales: {
        x: { time: false, range: [0, isBars ? count : Math.max(1, count - 1)] },
        y: { range: [0, most] },
      },
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false }, sync: { key: chart.id } },
      series: [{}, ...series],
      hooks: { setCursor: [({ cursor }) => say(chart, cursor.idx)] },
    },
    [chart.times.map((_, at) => at), ...columns.map(({ values }) => [...values])],
    place,
  )
  plots.set(place, plot)
  if (isBars) place.dataset.drawn = ''
}

const drawAll = (container: HTMLElement): void => {
  const id = container.dataset.chart ?? ''
  const table = readTable(id)
  if (table === null || table.times.length === 0) return
  let readout = container.nextElementSibling
  if (!readout?.matches('.readout')) {
    readout = document.createElement('p')
    readout.className = 'readout'
    readout.ariaHidden = 'true'
    container.after(readout)
  }
  const chart: Chart = { id, ...table, readout: readout as HTMLElement }
  const isBars = container.dataset.kind === 'bars'
  for (const place of container.querySelectorAll<HTMLElement>('.plot')) {
    const one = table.columns[Number(place.dataset.series)]
    draw(place, chart, isBars ? (one === undefined ? [] : [one]) : table.columns, isBars)
  }
}

const drawThem = (): void => {
  for (const [place, plot] of plots) {
    if (place.isConnected) continue
    plot.destroy()
    plots.delete(place)
  }
  for (const container of document.querySelectorAll<HTMLElement>('[data-chart]')) drawAll(container)
}

export const startCharts = (): void => {
  drawThem()
  document.addEventListener('postern-refreshed', drawThem)
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawThem)
  new ResizeObserver(() => {
    for (const [place, plot] of plots) {
      if (place.clientWidth > 0) plot.setSize({ width: place.clientWidth, height: place.clientHeight })
    }
  }).observe(document.body)
}
