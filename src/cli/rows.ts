/**
 * NAME      rows - the rows of a list, page by page
 * DESCRIPTION
 *   A list that is shown ends somewhere, and says so: nobody reads 70,000 lines, and a table of them takes a minute.
 */
import type { Page, Rows } from '../lifecycle/page.js'
import type { Terminal } from './terminal.js'

const PAGE: Page = { limit: 100, direction: 'older', anchor: null, countUpTo: 0 }

type Fetch<Row> = (page: Page) => Promise<Rows<Row>>

const upTo = async <Row>(
  fetch: Fetch<Row>,
  limit: number,
): Promise<{ readonly rows: readonly Row[]; readonly isMore: boolean }> => {
  const found: Row[] = []
  let anchor: string | null = null
  while (found.length < limit) {
    const page: Page = { ...PAGE, limit: Math.min(PAGE.limit, limit - found.length), anchor }
    const { rows, hasOlder, older } = await fetch(page)
    found.push(...rows)
    if (!hasOlder) return { rows: found, isMore: false }
    anchor = older
  }
  return { rows: found, isMore: true }
}

/** Newest first. Stops after `limit` rows. */
export const collect = async <Row>(
  fetch: Fetch<Row>,
  limit = Number.POSITIVE_INFINITY,
): Promise<readonly Row[]> => (await upTo(fetch, limit)).rows

/** For a command that lists all of something. */
export const MOST = {
  limit: { type: 'number', default: 1000, describe: 'How many at most' },
  all: { type: 'boolean', default: false, describe: 'All of them, however many' },
} as const

/** As many as are asked for, the newest first; that there are more is said. */
export const listed = async <Row>(
  fetch: Fetch<Row>,
  { limit, all }: { readonly limit: number; readonly all?: boolean | undefined },
  terminal: Terminal,
): Promise<readonly Row[]> => {
  const { rows, isMore } = await upTo(fetch, all === true ? Number.POSITIVE_INFINITY : limit)
  const more = all === undefined ? '--limit N' : '--limit N, or --all'
  if (isMore) terminal.say(`these are the first ${rows.length}, and there are more: ${more}`)
  return rows
}
