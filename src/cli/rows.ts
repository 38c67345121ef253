/**
 * NAME      rows - all the rows of a list, page by page
 */
import type { Page, Rows } from '../lifecycle/page.js'

const PAGE: Page = { limit: 100, direction: 'older', anchor: null, countUpTo: 0 }

/** Newest first. Stops after `limit` rows. */
export const collect = async <Row>(
  fetch: (page: Page) => Promise<Rows<Row>>,
  limit = Number.POSITIVE_INFINITY,
): Promise<readonly Row[]> => {
  const found: Row[] = []
  let anchor: string | null = null
  while (found.length < limit) {
    const page: Page = { ...PAGE, limit: Math.min(PAGE.limit, limit - found.length), anchor }
    const { rows, hasOlder, older } = await fetch(page)
    found.push(...rows)
    if (!hasOlder) break
    anchor = older
  }
  return found
}
