/**
 * NAME      frontiers - how far a list is complete while several writers fill it
 * DESCRIPTION
 *   Writers commit side by side, so a row may come in below one that is there already. But each commits its own in the
 *   order of their places, and says with each commit how far it is: its frontier. So in one snapshot all rows of a writer
 *   up to its frontier are there, and none will follow. What a page has shown, or what stands behind it, is told by a
 *   place up to which it is so for all writers but some that are behind, and by the frontiers of these. A mark with it is
 *   `<the place right above>-<number of a writer>.<how far it is behind>,...`, in base 36 but for the place.
 *   Who joins later begins above the highest frontier, and of a writer that has left or died all rows are there.
 */

export interface Frontier {
  readonly n: number
  readonly frontier: number
  /** Rows of it may follow. */
  readonly lives: boolean
}

/** Which rows are older than a boundary, or were seen. */
export interface Seen {
  readonly upTo: number
  /** By the number of a writer, in rising order. */
  readonly behind: readonly (readonly [n: number, upTo: number])[]
}

const MARK = /^(\d{1,16})(?:-((?:[\da-z]+\.[\da-z]+,?)+))?$/

export const seenMark = ({ upTo, behind }: Seen): string => {
  const some = behind.map(([n, own]) => `${n.toString(36)}.${(upTo - own).toString(36)}`).join()
  return some === '' ? String(upTo + 1) : `${upTo + 1}-${some}`
}

/** Null: no mark of places. */
export const readSeen = (text: string): Seen | null => {
  const [, place, some] = MARK.exec(text) ?? []
  if (place === undefined) return null
  const upTo = Number(place) - 1
  const behind = (some ?? '')
    .split(',')
    .filter((one) => one !== '')
    .map((one) => {
      const [n = '', by = ''] = one.split('.')
      return [Number.parseInt(n, 36), upTo - Number.parseInt(by, 36)] as const
    })
  return { upTo, behind }
}

/** All that has a lower place or this one was seen. */
export const leastOf = ({ upTo, behind }: Seen): number => Math.min(upTo, ...behind.map(([, own]) => own))

/** What was seen before, and now up to `last` of what a snapshot with these frontiers had. */
export const seenNow = (before: Seen, frontiers: readonly Frontier[], last: number): Seen => {
  const known = new Map(before.behind)
  const highest = Math.max(0, ...frontiers.map(({ frontier }) => frontier))
  const upTo = Math.max(before.upTo, Math.min(highest, last))
  const behind = frontiers
    // of one that has left all rows are there, but a page may end below them
    .filter(({ lives, frontier }) => lives || frontier > last)
    .map(({ n, frontier }) => [n, Math.max(known.get(n) ?? before.upTo, Math.min(frontier, last))] as const)
    .filter(([, own]) => own < upTo)
    .sort(([a], [b]) => a - b)
  return { upTo, behind }
}

/** The writer of a place (postgres/write/places.ts). */
const writerOf = (ord: string): string => `${ord} / 16 % 256`

/** A condition on places for what was not seen; null: all from the boundary on. */
export const unseen = ({ upTo, behind }: Seen, ord: string) =>
  behind.length === 0
    ? null
    : {
        where: `${ord} > CASE ${writerOf(ord)} ${behind.map(() => 'WHEN ? THEN CAST(? AS BIGINT)').join(' ')} ELSE CAST(? AS BIGINT) END`,
        params: [...behind.flat(), upTo],
      }
