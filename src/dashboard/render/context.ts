/**
 * NAME      context - who looks at the page, and which of its forms was refused
 * DESCRIPTION
 *   Set while a page is rendered, and read by the parts that it is made of, so that nobody hands it down to them. A page
 *   is rendered in one go, so one place is enough. What a page asks of /v1 comes before that: there the visit is an
 *   argument.
 */
import type { Refused } from '../page.js'
import type { Visit } from '../visit.js'

export interface Shown {
  readonly visit: Visit
  readonly refused: Refused | null
  /** Called by the form that says why it was refused; one that is gone meanwhile cannot. */
  readonly onTold: () => void
}

let current: Shown | null = null

/** Null for whoever has no session. */
export const whileShown = (shown: Shown | null, render: () => string): string => {
  current = shown
  try {
    return render()
  } finally {
    current = null
  }
}

export const visitIfAny = (): Visit | null => current?.visit ?? null

export const useShown = (): Shown => {
  if (current === null) throw new Error('a part that needs a visit stands on a page without one')
  return current
}

export const useVisit = (): Visit => useShown().visit
