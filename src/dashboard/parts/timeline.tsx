/**
 * NAME      timeline - what happened, in order
 * DESCRIPTION
 *   A time and what passed since the first one, a shape, a heading; below it the facts, the words of a machine as they
 *   came, and what they mean.
 */
import type { ComponentChildren } from 'preact'
import { useVisit } from '../render/context.js'
import { Icon } from './status.js'
import { clockTime, exactTime } from './time.js'

export interface Moment {
  /** RFC 3339. */
  readonly at: string
  /** Since the first moment, such as `+5.2 s`. */
  readonly since?: string | undefined
  readonly icon: string
  readonly tone?: string | undefined
  readonly title: ComponentChildren
  /** Short facts on one line. */
  readonly hop?: readonly ComponentChildren[] | undefined
  /** What a machine said. */
  readonly verbatim?: string | null | undefined
  /** What we say about it. */
  readonly says?: ComponentChildren
  readonly more?: ComponentChildren
}

const Entry = ({ moment }: { readonly moment: Moment }) => {
  const { zone } = useVisit()
  const { at, since, icon, tone, title, hop = [], verbatim, says, more } = moment
  const ms = Date.parse(at)
  return (
    <li>
      <time datetime={at} title={exactTime(ms, zone)}>
        {clockTime(ms, zone)}
        {since === undefined ? null : <small>{since}</small>}
      </time>
      <Icon name={icon} {...(tone !== undefined && { tone })} />
      <div>
        <h4>{title}</h4>
        {hop.length === 0 ? null : (
          <p class="hop">
            {hop.map((one) => (
              <bdi>{one}</bdi>
            ))}
          </p>
        )}
        {verbatim ? (
          <div class="pre" dir="auto">
            {verbatim}
          </div>
        ) : null}
        {says === undefined || says === null ? null : <p>{says}</p>}
        {more}
      </div>
    </li>
  )
}

export const Timeline = ({ moments }: { readonly moments: readonly Moment[] }) => (
  <ol class="tl">
    {moments.map((moment) => (
      <Entry moment={moment} />
    ))}
  </ol>
)
