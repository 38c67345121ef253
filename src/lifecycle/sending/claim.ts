/**
 * NAME      claim - whose turn it is
 * DESCRIPTION
 *   Workspaces are visited in a circle from where the last claim stopped, and
 *   each gives up to an equal share of its oldest due recipients; what is left
 *   of the limit is filled in further rounds. Rows are drawn and leased by the store,
 *   a round before the next one is drawn, so that a round never meets what the last one took.
 */

/** How many recipients one claim may find held or suppressed before it lets others write. */
export const MOST_STOPPED = 1_000

/** All that come after the one served last, then the others up to it; `after` gives numbers that rise. */
export function* circle(served: number, after: (workspace: number) => Iterable<number>): Generator<number> {
  yield* after(served)
  for (const workspace of after(0)) {
    if (workspace > served) return
    yield workspace
  }
}

export interface Drawn<One> {
  /** How many were found due. */
  readonly found: number
  /** Those of them that nothing stops. */
  readonly free: readonly One[]
}

interface Dealing<One> {
  /** The oldest due of a workspace, at most `wanted`. */
  draw(workspace: number, wanted: number): Drawn<One>
  take(one: One): void
}

/** One of each workspace in turn. */
const inTurn = <One>(hands: readonly (readonly One[])[]): One[] => {
  const longest = Math.max(0, ...hands.map((hand) => hand.length))
  return Array.from({ length: longest }, (_, i) => hands.flatMap((hand) => hand.slice(i, i + 1))).flat()
}

/** Takes at most `limit`; answers whether it stopped because too many were held or suppressed. */
export const deal = <One>(
  workspaces: readonly number[],
  limit: number,
  { draw, take }: Dealing<One>,
): boolean => {
  let waiting = workspaces
  let taken = 0
  let stopped = 0
  while (waiting.length > 0 && taken < limit && stopped < MOST_STOPPED) {
    const share = Math.ceil((limit - taken) / waiting.length)
    const hands: (readonly One[])[] = []
    const more: number[] = []
    let left = limit - taken
    for (const workspace of waiting) {
      const wanted = Math.min(share, left)
      if (wanted === 0) break
      const { found, free } = draw(workspace, wanted)
      hands.push(free)
      left -= free.length
      stopped += found - free.length
      if (found === wanted) more.push(workspace)
    }
    const hand = inTurn(hands)
    for (const one of hand) take(one)
    taken += hand.length
    waiting = more
  }
  return stopped >= MOST_STOPPED
}
