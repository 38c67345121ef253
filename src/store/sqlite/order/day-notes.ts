/**
 * NAME      day-notes - keeps how far the places of a day and created_at part
 */
import { type Day, dayOf, timeOf } from '../../sql/pages.js'
import type { WriteContext } from '../write/context.js'

/** Up to a power of two, and a second at least, so that a drifting clock does not write at every mail. */
const roundUp = (ms: number): number => (ms <= 0 ? 0 : 2 ** Math.max(10, Math.ceil(Math.log2(ms))))

/** Keeps the difference of a mail that is stored. */
export type NoteDay = (ord: number, createdAt: number) => void

/** Nearly always two comparisons. */
export const createDayNotes = ({ db, onRollback }: WriteContext): NoteDay => {
  const write = db.prepare(
    `INSERT INTO email_days (day, behind, ahead) VALUES (?, ?, ?)
     ON CONFLICT (day) DO UPDATE SET behind = max(behind, excluded.behind), ahead = max(ahead, excluded.ahead)`,
  )
  let known: Day | null = null
  onRollback(() => {
    known = null
  })
  return (ord, createdAt) => {
    const day = dayOf(ord)
    const behind = timeOf(ord) - createdAt
    const old: Day = known?.day === day ? known : { day, behind: -1, ahead: -1 }
    if (behind <= old.behind && -behind <= old.ahead) return
    known = {
      day,
      behind: Math.max(old.behind, roundUp(behind)),
      ahead: Math.max(old.ahead, roundUp(-behind)),
    }
    write.run(day, known.behind, known.ahead)
  }
}
