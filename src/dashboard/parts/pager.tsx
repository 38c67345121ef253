/**
 * NAME      pager - to older and newer rows
 */
import type { Query } from '../ask.js'
import { useVisit } from '../render/context.js'
import type { List } from './table.js'

interface PagerProps {
  readonly list: List<unknown>
  /** What else the links carry, since a cursor is good for one filter only. */
  readonly keep?: Query
}

export const Pager = ({ list, keep = {} }: PagerProps) => {
  const visit = useVisit()
  const { has_next, has_prev, next_cursor, prev_cursor } = list.pagination
  if (!has_next && !has_prev) return null
  return (
    <nav class="pager" aria-label="Pages of the list">
      {has_prev && prev_cursor !== null ? (
        <a class="b" rel="prev" href={visit.here({ ...keep, cursor: prev_cursor })}>
          Newer
        </a>
      ) : null}
      {has_next && next_cursor !== null ? (
        <a class="b" rel="next" href={visit.here({ ...keep, cursor: next_cursor })}>
          Older
        </a>
      ) : null}
    </nav>
  )
}
