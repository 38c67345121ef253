/**
 * NAME      erase - what statistics know of the people of a workspace that was deleted
 * DESCRIPTION
 *   Values of tags and recipient domains go; how many there were stays in the
 *   rows that have neither. Some hundreds of moments in one step.
 */
import { DIMENSIONS, SPANS } from '../../port/statistics.js'
import { PERSONAL, spansOf } from '../../rules/busiest.js'
import { type Asking, run } from '../query.js'
import { momentFrom } from './reads.js'

const STEP = 300

const WALKED = SPANS.filter((span) => PERSONAL.some((dimension) => spansOf(dimension).includes(span)))

const DROP = `DELETE FROM statistics WHERE span = ? AND at = ?
  AND dimension IN (${PERSONAL.map((dimension) => DIMENSIONS.indexOf(dimension)).join(', ')}) AND workspace = ?`

/** How far a walk has come. */
export interface Walked {
  readonly span: number
  readonly at: number
}

export const UNWALKED: Walked = { span: 0, at: 0 }

/** Erases from there on; where the next step goes on, or null at the end. */
export function* eraseCounted(workspace: number, { span, at }: Walked): Asking<Walked | null> {
  let next = at
  for (let i = span, n = 0; ; n++) {
    const minutes = WALKED[i]
    if (minutes === undefined) return null
    if (n === STEP) return { span: i, at: next }
    const found = yield* momentFrom(minutes, next)
    if (found !== null) yield* run(DROP, minutes, found, workspace)
    else i++
    next = found === null ? 0 : found + 1
  }
}
