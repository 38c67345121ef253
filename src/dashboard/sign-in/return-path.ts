/**
 * NAME      return-path - where somebody goes after signing in
 * DESCRIPTION
 *   A path of ours, or `/`. What a browser could read as another host or scheme
 *   (`//host`, `/\host`, tabs and line ends that it drops) is none.
 */
const PATH = /^\/(?![/\\])[\u0021-\u005b\u005d-\u007e]*$/

/** Nobody wants to come back to these. */
const DOORS = /^\/(?:sign-in|sign-out|second-factor|setup|invitation|v1)(?:[/?]|$)/

/** The path with its query, or `/`. */
export const returnPath = (text: string | null | undefined): string => {
  if (typeof text !== 'string' || text.length > 2_000 || !PATH.test(text)) return '/'
  const url = new URL(text, 'http://postern.invalid')
  const path = `${url.pathname}${url.search}`
  if (url.host !== 'postern.invalid' || path.startsWith('//') || DOORS.test(path)) return '/'
  return path
}
