/**
 * NAME      pager - to older and newer rows
 */
import type { Visit } from '../visit.js'
import type { List } from './table.js'

export const Pager = ({ visit, list }: { readonly visit: Visit; readonly list: List<unknown> }) => {
  const { has_next, has_prev, next_cursor, prev_cursor } = list.pagination
  if (!has_next && !has_prev) return null
  return (
    <nav class="pager" aria-label="Pages of the list">
      {has_prev && prev_cursor !== null ? (
        <a class="b" rel="prev" href={visit.here({ cursor: prev_cursor })}>
          Newer
        </a>
      ) : null}
      {has_next && next_cursor !== null ? (
        <a class="b" rel="next" href={visit.here({ cursor: next_cursor })}>
          Older
        </a>
      ) : null}
    </nav>
  )
}
