/**
 * NAME      live - parts of a page that follow what happens
 * DESCRIPTION
 *   Without scripts a page is as old as its last load, and none of this is seen. A script asks for the page again when
 *   something has happened, and takes over what stands in these places. Whoever sees no subjects is told of no events.
 */
import type { ComponentChildren } from 'preact'
import { useVisit } from '../render/context.js'

/**
 * The state in a word, and a pause that lasts. `table` is the id of a table whose rows have ids of their own: new ones
 * come in on top. A list that does not begin at its newest row should not have it. What happens to mail of the other
 * mode is passed over, unless the page is of both.
 */
export const LiveState = ({
  table = '',
  both = false,
}: {
  readonly table?: string
  readonly both?: boolean
}) => {
  const visit = useVisit()
  if (!visit.can('subjects')) return null
  return (
    <span
      class="live-state scripted"
      data-live={table}
      data-mode={both ? undefined : visit.scope.mode}
      data-path="/live"
      data-state="wait"
    >
      <span role="status">Connecting</span>
      <button type="button" class="b tiny">
        Pause
      </button>
    </span>
  )
}

/** A place whose content is taken over as a whole, at most every few seconds. */
export const Refreshed = ({ id, children }: { id: string; children: ComponentChildren }) => (
  <div id={id} data-refresh={useVisit().can('subjects') ? '' : undefined}>
    {children}
  </div>
)
