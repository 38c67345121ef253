/**
 * NAME      context - who looks at the page, and which of its forms was refused
 * DESCRIPTION
 *   Set once around a page, and read by the parts that it is made of, so that nobody hands it down to them. What a page
 *   asks of /v1 comes before it is rendered: there the visit is an argument.
 */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Refused } from '../page.js'
import type { Visit } from '../visit.js'

export interface Shown {
  readonly visit: Visit
  readonly refused: Refused | null
  /** Called by the form that says why it was refused; one that is gone meanwhile cannot. */
  readonly onTold: () => void
}

export const PageContext = createContext<Shown | null>(null)

export const useShown = (): Shown => {
  const shown = useContext(PageContext)
  if (shown === null) throw new Error('a part that needs a visit stands on a page without one')
  return shown
}

export const useVisit = (): Visit => useShown().visit
