/**
 * NAME      erase - what statistics know of the people of a workspace that was deleted
 * DESCRIPTION
 *   Values of tags and recipient domains go; how many there were stays in the
 *   rows that have neither. Some hundreds of moments in one step.
 */

import { DIMENSIONS, SPANS } from '../../port/statistics.js'
import { PERSONAL } from '../../rules/busiest.js'
import type { Db } from '../connect.js'

const STEP = 300

/** How many moments were looked at; null when it has been through all, and starts anew. */
export type EraseCounted = (workspace: number) => number | null

export const createEraseCounted = (db: Db): EraseCounted => {
  const next = db
    .prepare<[number, number], number | null>('SELECT min(at) FROM statistics WHERE span = ? AND at >= ?')
    .pluck()
  const drop = db.prepare(
    'DELETE FROM statistics WHERE span = ? AND at = ? AND dimension = ? AND workspace = ? AND test IN (0, 1)',
  )
  const places = new Map<number, { readonly span: number; readonly at: number }>()
  return (workspace) => {
    let { span, at } = places.get(workspace) ?? { span: 0, at: 0 }
    for (let n = 0; n < STEP; n++) {
      const minutes = SPANS[span]
      if (minutes === undefined) {
        places.delete(workspace)
        return null
      }
      const found = next.get(minutes, at) ?? null
      if (found === null) {
        span++
        at = 0
        continue
      }
      for (const dimension of PERSONAL) drop.run(minutes, found, DIMENSIONS.indexOf(dimension), workspace)
      at = found + 1
    }
    places.set(workspace, { span, at })
    return STEP
  }
}
