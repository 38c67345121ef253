/**
 * NAME      table - rows, records and times as people read them
 *   A column is described once: its head, what stands in it, and what it is in CSV. Cells are padded by the columns that a
 *   terminal gives them: East Asian characters and emoji take two, combining marks and colours none. On a terminal a table
 *   that is too wide goes on in further, indented lines, as text on a page does: nothing is cut off. Into a file or a pipe
 *   each row is one line. Control characters of hostile mail are masked. Moments and spans are also read here.
 */
import type pc from 'picocolors'
import { maskText } from '../base/text.js'
import { badInput } from './exit.js'

const UNITS: Readonly<Record<string, number>> = { s: 1e3, m: 6e4, h: 36e5, d: 864e5, w: 6048e5 }

/** `90d` from now, or an RFC 3339 time, as epoch milliseconds; NaN when it is neither. */
export const readInstant = (text: string, now: number = Date.now()): number => {
  const span = readSpan(text)
  if (!Number.isNaN(span)) return now + span
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN
}

/** `15m` as milliseconds; NaN when it is no span. */
export const readSpan = (text: string): number => {
  const [, number, unit = ''] = /^(\d+)([smhdw])$/.exec(text) ?? []
  return Number(number) * (UNITS[unit] ?? Number.NaN)
}

/** Of an option: `2h` is two hours ago here. */
export const readPast = (name: string, text: string | undefined): number | null => {
  if (text === undefined) return null
  const now = Date.now()
  const at = readInstant(text, now)
  if (Number.isNaN(at)) throw badInput(`--${name}: ${text} is neither 2h nor an RFC 3339 time`)
  return Number.isNaN(readSpan(text)) ? at : 2 * now - at
}

/** A span in its two largest words are too many: `41 ms`, `3 s`, `12 min`, `5 h`, `3 d`. */
export const spanText = (ms: number): string => {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 100_000) return `${Math.round(ms / 1000)} s`
  if (ms < 100 * 60_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 72 * 3_600_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.round(ms / 86_400_000)} d`
}

export const ago = (at: number, now: number = Date.now()): string => `${spanText(now - at)} ago`

/** Of help, and of a terminal that does not say how wide it is. */
export const PAGE_WIDTH = 80

/** The colours of the terminal, and how many columns there are to fill; Infinity where nobody reads along. */
export interface Paint extends ReturnType<typeof pc.createColors> {
  readonly width: number
}

export const clean = (value: unknown): string =>
  value === null || value === undefined ? '-' : maskText(String(value))

/** East Asian Wide and Fullwidth (Unicode Standard Annex #11), and emoji. */
const WIDE =
  /[\u1100-\u115f\u231a\u231b\u23e9-\u23ec\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u
const COLOURS = /\u001b\[[\d;]*m/g
const PLAIN = /^[\x20-\x7e]*$/
const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** How many columns of a terminal a text takes. */
export const widthOf = (text: string): number => {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const { segment } of characters.segment(text.replace(COLOURS, '')))
    width += WIDE.test(segment) ? 2 : /^[\p{M}\p{Cf}\p{Cc}]/u.test(segment) ? 0 : 1
  return width
}

export const padTo = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - widthOf(text)))

/** A text on lines of this width, between words where that is possible. */
export const wrapped = (text: string, width: number): readonly string[] => {
  if (widthOf(text) <= width) return [text]
  const lines: string[] = []
  let line = ''
  const end = (): void => {
    lines.push(line.trimEnd())
    line = ''
  }
  for (const word of text.split(/(?<= )/)) {
    if (line !== '' && widthOf(line) + widthOf(word.trimEnd()) > width) end()
    if (widthOf(word) <= width) {
      line += word
      continue
    }
    for (const { segment } of characters.segment(word)) {
      if (widthOf(line + segment.trimEnd()) > width) end()
      line += segment
    }
  }
  if (line.trim() !== '') end()
  return lines
}

interface How<Row> {
  /** It is epoch milliseconds: shown as RFC 3339 writes it, or as the time since; CSV has RFC 3339. */
  readonly time?: 'at' | 'ago'
  /** Instead of a moment that is not. */
  readonly none?: string
  /** In CSV, where it is something else than on the screen. */
  readonly csv?: (row: Row) => unknown
  readonly paint?: (paint: Paint, text: string) => string
}

export const AT = { time: 'at' } as const
export const EXPIRES = { time: 'at', none: 'never' } as const
export const AGO = { time: 'ago', none: 'never' } as const

/** What a column is called, and what stands in it: a member of the row, or what is made of it. */
type Column<Row> = readonly [head: string, cell: keyof Row | ((row: Row) => unknown), how?: How<Row>]
export type Columns<Row> = readonly Column<Row>[]

const contentOf = <Row>([, cell]: Column<Row>, row: Row): unknown =>
  typeof cell === 'function' ? cell(row) : row[cell]

const iso = (at: number): string => new Date(at).toISOString()

const cellOf = <Row>(column: Column<Row>, row: Row): string => {
  const value = contentOf(column, row)
  const { time, none } = column[2] ?? {}
  if (time === undefined) return clean(value)
  return typeof value === 'number' ? (time === 'at' ? iso(value) : ago(value)) : (none ?? '-')
}

export const csvHead = <Row>(columns: Columns<Row>): readonly string[] =>
  columns.map(([head]) => head.replaceAll(' ', '_'))

export const csvCells = <Row>(columns: Columns<Row>, row: Row): readonly unknown[] =>
  columns.map((column) => {
    const value = (column[2]?.csv ?? ((one: Row) => contentOf(column, one)))(row)
    return column[2]?.time !== undefined && typeof value === 'number' ? iso(value) : value
  })

const GAP = '  '

/** No column of words gets narrower. */
const NARROWEST = 20

/** As wide as there is room for: what is too much is taken from the widest column of words, whose cells then wrap. */
const fitted = (widths: readonly number[], worded: readonly boolean[], room: number): readonly number[] => {
  const excess = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length) - room
  if (excess <= 0) return widths
  const widest = widths.reduce((best, width, i) => (worded[i] && width > (widths[best] ?? 0) ? i : best), -1)
  const left = (widths[widest] ?? 0) - excess
  if (left >= NARROWEST) return widths.with(widest, left)
  return widths.map((width, i) => Math.min(width, room - (i === 0 ? 0 : GAP.length)))
}

/** Which columns stand in which line, from the first to the one before the next number. */
const linesOf = (widths: readonly number[], room: number): readonly number[] => {
  const begins = [0]
  let used = 0
  widths.forEach((width, i) => {
    const before = used === 0 ? 0 : used + GAP.length
    if (i > 0 && before + width > room) {
      begins.push(i)
      used = GAP.length + width
    } else used = before + width
  })
  return begins
}

/** One row, drawn: each cell on as many lines as it needs. */
const drawnRow = (
  cells: readonly string[],
  widths: readonly number[],
  begins: readonly number[],
  colour: (text: string, column: number) => string,
): string[] =>
  begins.flatMap((from, n) => {
    const to = begins[n + 1] ?? cells.length
    const parts = cells.slice(from, to).map((text, i) => wrapped(text, widths[from + i] ?? 0))
    const high = Math.max(...parts.map(({ length }) => length))
    return Array.from({ length: high }, (_, at) => {
      const line = parts.map(({ [at]: text = '' }, i) => {
        const last = from + i === to - 1
        const shown = text === '' ? '' : colour(text, from + i)
        return last ? shown : shown + ' '.repeat(Math.max(0, (widths[from + i] ?? 0) - widthOf(text)))
      })
      return `${n === 0 ? '' : GAP}${line.join(GAP)}`.trimEnd()
    })
  })

/**
 * Draws a table piece by piece, so that a long one needs no more memory than a short one. A piece that is wider than those
 * before it widens the columns from there on.
 */
export const tableDrawer = <Row>(paint: Paint, columns: Columns<Row>): ((rows: readonly Row[]) => string) => {
  const heads = columns.map(([head]) => head.toUpperCase())
  const widths = heads.map(widthOf)
  const worded = heads.map(() => false)
  let drawn = ''
  return (rows) => {
    const cells = rows.map((row) => columns.map((column) => cellOf(column, row)))
    for (const row of cells)
      for (const [i, text] of row.entries()) {
        widths[i] = Math.max(widths[i] ?? 0, widthOf(text))
        worded[i] ||= text.includes(' ')
      }
    const fitting = fitted(widths, worded, paint.width)
    const begins = linesOf(fitting, paint.width)
    const lines = cells.flatMap((row) =>
      drawnRow(row, fitting, begins, (text, i) => columns[i]?.[2]?.paint?.(paint, text) ?? text),
    )
    // where the columns stand otherwise than before, the heads are said again
    if (drawn !== begins.join()) lines.unshift(...drawnRow(heads, fitting, begins, paint.bold))
    drawn = begins.join()
    return lines.join('\n')
  }
}

/** A table of all its rows at once; nothing where there are none. */
export const tableOf =
  <Row>(columns: Columns<Row>) =>
  (paint: Paint, rows: readonly Row[]): string =>
    rows.length === 0 ? '' : tableDrawer(paint, columns)(rows)

/** One record, a line for each field; what does not fit goes on under itself. */
export const fields = (paint: Paint, pairs: readonly (readonly [string, unknown])[]): string => {
  const names = Math.max(...pairs.map(([name]) => widthOf(name)))
  const room = Math.max(20, paint.width - names - GAP.length)
  return pairs
    .map(([name, value]) => {
      const text = wrapped(clean(value), room).join(`\n${' '.repeat(names)}${GAP}`)
      return `${paint.dim(padTo(name, names))}${GAP}${text}`
    })
    .join('\n')
}

const STATUS_PAINT: Readonly<Record<string, 'green' | 'cyan' | 'yellow' | 'red' | 'dim'>> = {
  ...{ delivered: 'green', sent: 'cyan', deferred: 'yellow', bounced: 'red', canceled: 'dim' },
  ...{ ok: 'green', success: 'green', fail: 'red', failed: 'red' },
}

/** The colour of what became of something; the word stands beside it everywhere. */
export const paintStatus = (paint: Paint, status: string): string => {
  const colour = STATUS_PAINT[status]
  return colour === undefined ? status : paint[colour](status)
}
