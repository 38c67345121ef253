/**
 * NAME      place - how far an endpoint is in the log
 * DESCRIPTION
 *   Events are taken in the order of the log and answered in any order. The place
 *   is the mark after which the first unanswered event comes; it never passes one,
 *   and whoever goes on from it after a crash misses none.
 */
export interface Taken {
  /** Right after the event, and after all that was passed over since. */
  mark: string
  isAnswered: boolean
}

export interface Place {
  readonly mark: string
  /** Taken, and behind the place for the lack of an answer. */
  readonly open: number
  /** An event that must be answered, and the mark right after it. */
  take(mark: string): Taken
  /** Up to here nothing more is to be answered. */
  pass(mark: string): void
  /** Taken in posts or stored as failed, durably. */
  answer(taken: Taken): void
}

export const createPlace = (start: string): Place => {
  let mark = start
  let taken: Taken[] = []
  let first = 0
  return {
    get mark() {
      return mark
    },
    get open() {
      return taken.length - first
    },
    take(at) {
      const one = { mark: at, isAnswered: false }
      taken.push(one)
      return one
    },
    pass(at) {
      const last = taken.at(-1)
      if (last === undefined) mark = at
      else last.mark = at
    },
    answer(one) {
      one.isAnswered = true
      for (let next = taken[first]; next?.isAnswered === true; next = taken[++first]) mark = next.mark
      if (first === taken.length) taken = []
      else if (first >= 1000) taken = taken.slice(first)
      else return
      first = 0
    },
  }
}
