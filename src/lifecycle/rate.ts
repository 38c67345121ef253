/**
 * NAME      rate - whether sends fit into a window
 * DESCRIPTION
 *   All of a request fits, or none of it; a refused one leaves the count as it was.
 */

export interface WindowCount {
  /** True when the whole of `n` fitted. */
  readonly allowed: boolean
  /** Used in this window, after this call. */
  readonly used: number
}

export const countSends = (used: number, n: number, limit: number): WindowCount =>
  used + n <= limit ? { allowed: true, used: used + n } : { allowed: false, used }
