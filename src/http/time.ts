/**
 * NAME      time - points in time as clients write them
 */
import { invalid } from '../base/fault.js'

const ISO = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d))?$/i

/** Epoch milliseconds of an ISO 8601 date, or of a time with its zone; a time without one could mean anything. */
export const readTime = (field: string, text: string | null | undefined): number | null => {
  if (text == null) return null
  const at = ISO.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(at)) return at
  throw invalid([{ field, message: 'must be an ISO 8601 date, or a time with its zone', kind: 'format' }])
}
