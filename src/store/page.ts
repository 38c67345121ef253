/**
 * NAME      page - the words that every table of the store shares
 * DESCRIPTION
 *   Mode, the way to ask for a page and the way to get one. The order key of
 *   every table is its time-ordered id, so a page is a comparison with one id.
 */
export type Mode = 'live' | 'test'

/** Where a page starts: rows strictly beyond `anchor` (or from it, when inclusive), in a direction. */
export interface Page {
  readonly limit: number
  readonly direction: 'older' | 'newer'
  /** An id, or null: from the very top (older) or the very bottom (newer). */
  readonly anchor: string | null
  readonly inclusive: boolean
  /** Count matching rows up to this many; 0 does not count. */
  readonly countUpTo: number
}

export interface Rows<Row> {
  /** Always newest first, whatever the direction. */
  readonly rows: readonly Row[]
  readonly hasOlder: boolean
  readonly hasNewer: boolean
  /** null unless a count was asked for. */
  readonly total: number | null
}
