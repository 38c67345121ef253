/**
 * NAME      rows - all the rows of a list, page by page
 */
import type { Page, Rows } from '../store/page.js'

const PAGE: Page = { limit: 100, direction: 'older', anchor: null, inclusive: false, countUpTo: 0 }

/** Newest first. Stops after `limit` rows. */
export const collect = async <Row extends { readonly id: string }>(
  fetch: (page: Page) => Promise<Rows<Row>>,
  limit = Number.POSITIVE_INFINITY,
): Promise<readonly Row[]> => {
  const found: Row[] = []
  let anchor: string | null = null
  while (found.length < limit) {
    const page: Page = { ...PAGE, limit: Math.min(PAGE.limit, limit - found.length), anchor }
    const { rows, hasOlder } = await fetch(page)
    found.push(...rows)
    anchor = rows.at(-1)?.id ?? null
    if (!hasOlder || anchor === null) break
  }
  return found
}
