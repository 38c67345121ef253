/**
 * NAME      days - how far the places of a day and created_at part (sql/order/days.ts)
 * DESCRIPTION
 *   A writer remembers what it has stored of the last day, and stores only what goes beyond: all writers share the row of
 *   a day, and would wait for one another there.
 */
import { type Day, dayOf, timeOf } from '../../sql/pages.js'

/** Up to a power of two, and a second at least, so that a drifting clock does not write at every mail. */
const roundUp = (ms: number): number => (ms <= 0 ? 0 : 2 ** Math.max(10, Math.ceil(Math.log2(ms))))

interface Placed {
  readonly ord: number
  readonly created_at: number
}

export const createDays = () => {
  let known: Day | null = null
  return {
    /** What of these mails is not stored yet. */
    beyond(mails: readonly Placed[]): readonly Day[] {
      const days = new Map<number, Day>()
      for (const { ord, created_at } of mails) {
        const day = dayOf(ord)
        const old = days.get(day) ?? (known?.day === day ? known : { day, behind: -1, ahead: -1 })
        const behind = timeOf(ord) - created_at
        if (behind <= old.behind && -behind <= old.ahead) continue
        days.set(day, {
          day,
          behind: Math.max(old.behind, roundUp(behind)),
          ahead: Math.max(old.ahead, roundUp(-behind)),
        })
      }
      return [...days.values()]
    },
    forget(): void {
      known = null
    },
    /** They are stored. */
    keep(days: readonly Day[]): void {
      known = days.at(-1) ?? known
    },
  }
}
