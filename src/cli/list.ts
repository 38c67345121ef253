/**
 * NAME      list - what every command does that lists something
 *   A list is one value: its columns, its record, where its pages come from, and what to do where it is empty. From that come
 *   the table, --json (an array of the API's records) and --csv, all three written page by page: a list of a million rows
 *   needs no more memory than one of a hundred. A list that ends before its end says so, and how to see the rest; an empty
 *   one says that it is empty, and names the next command. Both are remarks on stderr: stdout is data.
 *   Of a record, and in each row, it says which setup made it.
 */
import type { Options, PositionalOptions } from 'yargs'
import { escapeWild } from '../base/text.js'
import { type Page, pagesOf, type Rows } from '../lifecycle/page.js'
import { guarded, writeCsv } from '../record/csv.js'
import { type Managed, withManaged } from '../resource/member.js'
import { type Command, type Consent, command, type Globals, type OptionArgs } from './command.js'
import { type CliContext, withContext } from './context.js'
import { usage } from './exit.js'
import { type Columns, csvCells, csvHead, type Paint, tableDrawer } from './table.js'
import type { Terminal } from './terminal.js'

const managedText = ({ setup, name }: Managed): string => `${setup}: ${name}`

/** What a record of `withManaged` says. */
const managedOf = (record: unknown): Managed | null =>
  (record as { readonly managed?: Managed | null } | null)?.managed ?? null

/** Prints records as the API answers them; people also hear of a setup that made one, and what a change by hand means. */
export const tellRecord = async (
  { store, account }: Pick<CliContext, 'store' | 'account'>,
  terminal: Terminal,
  record: unknown,
  draw: (paint: Paint) => string,
): Promise<void> => {
  const told = await withManaged(store, account.id, record)
  terminal.data(told, draw)
  const made = (Array.isArray(told) ? told : [told]).map(managedOf).find((one) => one !== null)
  if (made !== undefined && made !== null)
    terminal.say(
      `the setup ${made.setup} made it, as ${made.name}: what is changed by hand, postern apply leaves alone until --adopt`,
    )
}

/** Whether it is to be done to this record: --dry-run only says so, as `would …`; else one is asked, unless --yes said it. */
export const agreed = async (
  context: Pick<CliContext, 'store' | 'account'>,
  terminal: Terminal,
  { yes, dryRun }: Consent,
  record: unknown,
  what: string,
  asked = what,
): Promise<boolean> => {
  if (dryRun) await tellRecord(context, terminal, record, () => `would ${what}`)
  else await terminal.confirm(asked, yes)
  return !dryRun
}

type Fetch<Row> = (page: Page) => Promise<Rows<Row>>

/** So many are drawn at once: their columns stand under each other. */
const DRAWN = 1000

/** A list that comes at once, as its only page. */
export const whole = <Row>(rows: readonly Row[]): Fetch<Row> => {
  const page = { rows, hasOlder: false, hasNewer: false, older: '', newer: '', total: null }
  return async () => page
}

/** The same pages, of what is made of their rows. */
export const each =
  <Row, Made>(
    fetch: Fetch<Row>,
    make: (rows: readonly Row[]) => Promise<readonly Made[]> | readonly Made[],
  ): Fetch<Made> =>
  async (page) => {
    const found = await fetch(page)
    return { ...found, rows: await make(found.rows) }
  }

interface Form<Row> {
  head(): string
  piece(rows: readonly Row[]): string
  /** `isEmpty`: there was no piece. */
  end(isEmpty: boolean): string
}

const csvForm = <Row>(columns: Columns<Row>): Form<Row> => ({
  head: () => `${csvHead(columns).join(',')}\r\n`,
  piece: (rows) =>
    `${writeCsv(rows.map((row) => csvCells(columns, row).map((cell) => (cell == null ? null : guarded(String(cell))))))}\r\n`,
  end: () => '',
})

/** One array, octet for octet as JSON.stringify writes it. */
const jsonForm = <Row>(record: (row: Row) => unknown, isTty: boolean): Form<Row> => {
  let before = isTty ? '[\n  ' : '['
  const after = isTty ? ',\n  ' : ','
  return {
    head: () => '',
    piece: (rows) =>
      rows
        .map((row) => {
          const lead = before
          before = after
          const text = JSON.stringify(record(row), null, isTty ? 2 : 0)
          return lead + escapeWild(isTty ? text.replaceAll('\n', '\n  ') : text)
        })
        .join(''),
    end: (isEmpty) => (isEmpty ? '[]\n' : isTty ? '\n]\n' : ']\n'),
  }
}

const tableForm = <Row>(columns: Columns<Row>, { paint }: Terminal): Form<Row> => {
  const draw = tableDrawer(paint, columns)
  return { head: () => '', piece: (rows) => `${draw(rows)}\n`, end: () => '' }
}

interface Shown<Row, Part = Row> {
  readonly columns: Columns<NoInfer<Part>>
  /** The lines of one row, where it has several. */
  readonly parts?: (row: Row) => readonly Part[]
  /** As the API answers it. */
  readonly record: (row: Row) => unknown
  /** Of things that setups make: which one made each is told. */
  readonly isManaged?: true
}

const formOf = <Row, Part>(list: Shown<Row, Part>, csv: boolean, terminal: Terminal): Form<Row> => {
  if (terminal.json) return jsonForm(list.record, terminal.isTty)
  const form = csv ? csvForm(list.columns) : tableForm(list.columns, terminal)
  const parts = list.parts ?? ((row: Row) => [row as unknown as Part])
  return { ...form, piece: (rows) => form.piece(rows.flatMap(parts)) }
}

/** The same list, whose records say which setup made each; its pages are read by `fetch`. */
const told = <Row, Part>(
  list: Shown<Row, Part>,
  { store, account }: CliContext,
  fetch: Fetch<Row>,
): readonly [Shown<Row, Part>, Fetch<Row>] => {
  if (list.isManaged !== true) return [list, fetch]
  const records = new WeakMap<object, unknown>()
  const of = (one: unknown): unknown => records.get(one as object)
  const parts = (row: Row): readonly Part[] => {
    const made = list.parts?.(row) ?? [row as unknown as Part]
    for (const part of made) records.set(part as object, of(row))
    return made
  }
  const setup = (part: Part): string | null => {
    const made = managedOf(of(part))
    return made && managedText(made)
  }
  const columns: Columns<Part> = [...list.columns, ['setup', setup]]
  return [
    { ...list, columns, parts, record: of },
    each(fetch, async (rows) => {
      const filled = await withManaged(store, account.id, rows.map(list.record))
      for (const [i, row] of rows.entries()) records.set(row as object, filled[i])
      return rows
    }),
  ]
}

/** Writes the pages; answers how many rows there were, and whether more follow. */
const written = async <Row>(
  pages: AsyncIterable<Rows<Row>>,
  form: Form<Row>,
  terminal: Terminal,
): Promise<{ readonly count: number; readonly isMore: boolean }> => {
  let [count, isMore] = [0, false]
  let rows: Row[] = []
  const began = Date.now()
  const draw = async (): Promise<void> => {
    if (rows.length > 0) await terminal.piece(form.piece(rows))
    rows = []
    const spent = Date.now() - began
    // on a terminal the rows themselves say how far it is
    if (!terminal.isTty && spent > 2000)
      terminal.progress(`${count} rows, ${Math.round((count * 1000) / spent)} a second`)
  }
  await terminal.piece(form.head())
  for await (const page of pages) {
    rows.push(...page.rows)
    count += page.rows.length
    isMore = page.hasOlder
    if (rows.length >= DRAWN) await draw()
  }
  await draw()
  await terminal.piece(form.end(count === 0))
  return { count, isMore }
}

type Named<T> = Readonly<Record<string, T>>

/** The pages; and what there is to say behind them. */
type Source<Row> = Fetch<Row> | { readonly fetch: Fetch<Row>; readonly after: () => unknown }

interface List<P extends Named<PositionalOptions>, O extends Named<Options>, Row, Part, Given>
  extends Shown<Row, Part> {
  /** Subject and verb: `job list`; and what stands behind them: `job list <id>`. */
  readonly path: string
  readonly summary: string
  readonly positionals?: P
  readonly options?: O
  readonly examples: Command['examples']
  /** What it lists, in the plural. */
  readonly what: string
  /** Where there is none: the next command, or a sentence. */
  readonly next: string | null
  /** All of it as CSV, or as JSON: for another program. */
  readonly isExport?: true
  /** How many without --limit; null: it comes in one page. */
  readonly most?: number | null
  rows(context: CliContext, args: Given, terminal: Terminal): Promise<Source<Row>> | Source<Row>
}

const CSV = { csv: { type: 'boolean', describe: 'Print CSV' } } as const

/** A list whose own --all means something else has --limit alone. */
const limits = (most: number, own: Named<Options>): Named<Options> => ({
  limit: { type: 'number', default: most, describe: 'How many at most' },
  ...(!('all' in own) && { all: { type: 'boolean', describe: 'All of them, however many' } }),
})

/** Options that choose among what there is, and were given. */
const isNarrowed = (own: Named<Options>, args: Named<unknown>): boolean =>
  Object.entries(own).some(
    ([name, option]) => args[name] !== undefined && args[name] !== option.default && args[name] !== false,
  )

export const listing = <
  Row,
  Part = Row,
  const P extends Named<PositionalOptions> = Record<never, never>,
  const O extends Named<Options> = Record<never, never>,
>(
  list: List<P, O, Row, Part, Globals & { readonly [key in keyof P]: string } & OptionArgs<O>>,
): Command => {
  const { path, summary, what, next, most = 1000 } = list
  const own = list.options ?? {}
  const isWhole = most === null || list.isExport === true
  const more = { ...(!isWhole && limits(most, own)), ...(list.isExport ? {} : CSV) }
  return command({
    usage: path.replace(/^\S+ /, ''),
    summary,
    positionals: list.positionals ?? {},
    options: { ...own, ...more },
    examples: list.examples,
    run: async (given, terminal) => {
      const args = given as Globals & Named<unknown>
      if (args.csv === true && terminal.json) throw usage('--json or --csv, not both')
      await withContext(args, async (context) => {
        const source = await list.rows(context, args as never, terminal)
        const { after, ...read } = typeof source === 'function' ? { fetch: source, after: () => {} } : source
        const [shown, fetch] = told<Row, Part>(list, context, read.fetch)
        const form = formOf(shown, args.csv === true || list.isExport === true, terminal)
        const hasAll = !('all' in own)
        const isAll = isWhole || (hasAll && args.all === true)
        const limit = isAll ? Number.POSITIVE_INFINITY : Number(args.limit)
        const { count, isMore } = await written(pagesOf(fetch, limit), form, terminal)
        if (isMore)
          terminal.say(
            `these are the first ${count}, and there are more: --limit N${hasAll ? ', or --all' : ''}`,
          )
        if (count === 0) {
          const command = `postern ${path.replace(/ [<[].*$/, '')}`
          if (isNarrowed(own, args)) terminal.say(`no ${what} match; all of them: ${command}`)
          else terminal.say(`there are no ${what}${next === null ? '' : `; next: ${next}`}`)
        }
        after()
      })
    },
  })
}
