/**
 * NAME      page - the words that every table of the store shares, and the marks of a list
 *   Mode, the way to ask for a page and the way to get one. Rows stand in the order in which they were committed,
 *   newest first. Where a page began and ended is told by marks; only the store makes them and only it reads them.
 *   A mark is the place right above a row: its `ord`, and the number of a recipient for the first events, which share
 *   the place of their mail.
 */

export type Mode = 'live' | 'test'

/** Where a page starts, and which way it goes from there. */
export interface Page {
  readonly limit: number
  readonly direction: 'older' | 'newer'
  /**
   * A mark of an earlier page; or `@` and the id of a row of the list, which is not on the page itself: where there is no
   * such row, the Fault validation.cursor_invalid. null: from the very top (older) or the very bottom (newer).
   */
  readonly anchor: string | null
  /** Count matching rows up to this many; 0 does not count. */
  readonly countUpTo: number
}

/** A mark lies between two rows and names none, so it holds whatever is deleted or added. */
export interface Rows<Row> {
  /** Always newest first, whatever the direction. */
  readonly rows: readonly Row[]
  readonly hasOlder: boolean
  readonly hasNewer: boolean
  /** Below these rows: the page `older` from here goes on with what follows them. */
  readonly older: string
  /** Above these rows: the pages `newer` from here give all that is stored later, once. */
  readonly newer: string
  /** null unless a count was asked for. */
  readonly total: number | null
}

/** Next to the row with an id. */
export const besideRow = (id: string): string => `@${id}`
/** The id of the row that an anchor names; null when it is a mark. */
export const rowBeside = (anchor: string | null): string | null =>
  anchor?.startsWith('@') === true ? anchor.slice(1) : null

export interface Place {
  readonly ord: number
  readonly n?: number
}

const MARK = /^(\d{1,16})(?:\.(\d{1,6}))?$/

export const compare = (a: Place, b: Place): number => a.ord - b.ord || (a.n ?? 0) - (b.n ?? 0)

export const readMark = (text: string): Place | null => {
  const found = MARK.exec(text)
  return found === null ? null : { ord: Number(found[1]), n: Number(found[2] ?? 0) }
}

/** How many rows are asked for at once. */
const PAGE = 100

/** A list from its newest row on, page by page, up to a number of rows; the last page says whether more follow. */
export async function* pagesOf<Row>(
  fetch: (page: Page) => Promise<Rows<Row>>,
  limit = Number.POSITIVE_INFINITY,
  size = PAGE,
): AsyncGenerator<Rows<Row>> {
  let anchor: string | null = null
  for (let left = limit; left > 0; ) {
    const page: Rows<Row> = await fetch({
      ...{ limit: Math.min(size, left), direction: 'older', anchor, countUpTo: 0 },
    })
    yield page
    if (!page.hasOlder) return
    left -= page.rows.length
    anchor = page.older
  }
}

/** All of a short list, newest first. */
export const collect = async <Row>(
  fetch: (page: Page) => Promise<Rows<Row>>,
  limit?: number,
): Promise<readonly Row[]> => {
  const found: Row[] = []
  for await (const { rows } of pagesOf(fetch, limit)) found.push(...rows)
  return found
}
