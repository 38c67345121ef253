/**
 * NAME      record - workspaces as /v1 tells of them, and in words
 */

import { SOFT_KINDS, type SoftLimits } from '../../../store/port/watch/soft-bounces.js'
import { isolate } from '../../parts/isolate.js'
import { Note } from '../../parts/page-parts.js'
import { State } from '../../parts/status.js'
import { Time } from '../../parts/time.js'
import type { Visit } from '../../visit.js'

export const ALARM_WORDS = {
  complaints: 'complaints',
  hard_bounces: 'hard bounces',
  deferrals: 'deferrals',
} as const
export type Alarm = keyof typeof ALARM_WORDS

type AlarmLimit = 'off' | { readonly rate: number; readonly at_least: number }

export interface WorkspaceRow {
  readonly id: string
  readonly name: string
  readonly slug: string
  readonly is_default: boolean
  readonly egress_pool_id: string | null
  readonly routes: readonly { readonly domain: string; readonly egress_pool_id: string }[]
  readonly default_from: string | null
  readonly restrict_senders: boolean
  readonly sender_dsn: boolean
  readonly line_endings: 'strict' | 'normalize'
  readonly ambiguous: 'retry' | 'hold'
  readonly alarms: Readonly<Record<Alarm, AlarmLimit>>
  readonly on_alarm: 'notify' | 'hold'
  readonly alarmed: readonly {
    readonly alarm: Alarm
    readonly since: string
    readonly count: number
    readonly tried: number
  }[]
  readonly suppress_soft: SoftLimits
  readonly statistics: { readonly tags: readonly string[] }
  readonly suspended: boolean
  readonly suspended_at: string | null
  readonly suspended_reason: string | null
  readonly created_at: string
}

/** Kinds of bounces by which an address may come to be suppressed, though none of them is for good. */
export const SOFT_WORDS: readonly (readonly [kind: keyof SoftLimits, words: string])[] = SOFT_KINDS.map(
  (kind) => [kind, kind.replaceAll('_', ' ')],
)

/** A share as people write it: 0.3 %. */
const percent = (rate: number): string => `${Number((rate * 100).toFixed(3))} %`

export const limitWords = (limit: AlarmLimit): string =>
  limit === 'off' ? 'never' : `at ${percent(limit.rate)}, and ${limit.at_least} or more`

export const WorkspaceState = ({ row }: { readonly row: WorkspaceRow }) => {
  if (row.suspended)
    return (
      <State tone="wait" icon="held" hue="wait">
        Suspended
      </State>
    )
  const [alarm] = row.alarmed
  if (alarm === undefined) return <span class="st">Sends</span>
  return (
    <State tone="bad" icon="alarm" hue="bad">
      Alarm: {ALARM_WORDS[alarm.alarm]}
    </State>
  )
}

/** The heading of its page. */
export const stateSentence = (row: WorkspaceRow): string => {
  const name = isolate(row.name)
  if (row.suspended) return `${name} is suspended: nothing is taken for it, and what waits rests.`
  const [alarm] = row.alarmed
  if (alarm === undefined) return `${name} sends.`
  return `${name} has too many ${ALARM_WORDS[alarm.alarm]}: ${percent(alarm.count / Math.max(alarm.tried, 1))}.`
}

/** Where the mails behind an alarm are found. */
const SEARCH: Readonly<Record<Alarm, string>> = {
  complaints: 'is:complained',
  hard_bounces: 'status:bounced',
  deferrals: 'status:deferred',
}

export const AlarmNotes = ({ visit, row }: { readonly visit: Visit; readonly row: WorkspaceRow }) => (
  <>
    {row.alarmed.map(({ alarm, since, count, tried }) => (
      <Note tone="bad" icon="alarm">
        <p>
          <strong>
            {count} {ALARM_WORDS[alarm]} of {tried} tried
          </strong>
          , raised <Time at={since} />. Its limit: {limitWords(row.alarms[alarm])}.
        </p>
        <p>
          {row.on_alarm === 'hold' ? 'Its mail is held until somebody releases it: ' : 'Its mail goes on: '}
          <a href={visit.link('/emails', { workspace: row.slug, mode: null, q: SEARCH[alarm] })}>
            those mails
          </a>
          , <a href={visit.link('/queue', { workspace: row.slug })}>what waits</a>.
        </p>
      </Note>
    ))}
  </>
)
