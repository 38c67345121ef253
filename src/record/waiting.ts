/**
 * NAME      waiting - why something waits, in words
 * DESCRIPTION
 *   Who may mend it, or must find who may, is told what there is to know and which
 *   command mends it; the owner of a workspace, in words that name nothing of others.
 */
import { timeOrNull } from '../base/clock.js'

/** What stops more than one mail, until an operator mends it. */
const STOPPING = ['suspended', 'held', 'no_upstream', 'paused', 'login', 'upstreams_down'] as const

/** The first that is true is the one that is told. */
export const WAITING_REASONS = [...STOPPING, 'throttled', 'rate', 'backoff', 'scheduled'] as const
export type WaitingReason = (typeof WAITING_REASONS)[number]

/** The rest goes by itself. */
export const STOPPING_REASONS: readonly WaitingReason[] = STOPPING

export interface Waiting {
  readonly reason: WaitingReason
  /** Names the pool. */
  readonly plain: string
  /** The same for the owner of the workspace: a pool that is not the workspace's own has no name here. */
  readonly short: string
  readonly more: string | null
  /** The command that mends it, if one does. */
  readonly remedy: string | null
  readonly until: number | null
}

/** Of one mail: why each of its recipients waits, and the first of these reasons. */
export interface MailWaiting {
  readonly first: Waiting | null
  /** By recipient id; those that wait for nothing that we know are not there. */
  readonly recipients: ReadonlyMap<string, Waiting>
}

export type ShowWaiting = (waiting: Waiting | null) => {
  readonly reason: string
  readonly detail: string
  readonly until: string | null
} | null

const REMEDY = '; an operator runs: '

/** A reason as it is told in full, in its parts. */
export const partsOfWaiting = (detail: string): { readonly why: string; readonly remedy: string | null } => {
  const at = detail.lastIndexOf(REMEDY)
  if (at < 0) return { why: detail, remedy: null }
  return { why: detail.slice(0, at), remedy: detail.slice(at + REMEDY.length) }
}

/** What others said, an upstream's reply among it, is never taken for our own advice. */
const withoutRemedy = (text: string): string => text.replaceAll(REMEDY, ', an operator runs: ')

const shown = ({ reason, until }: Waiting, parts: readonly (string | null)[]) => ({
  reason,
  detail: parts.filter((part) => part !== null).join('; '),
  until: timeOrNull(until),
})

export const waitingInFull: ShowWaiting = (waiting) =>
  waiting &&
  shown(waiting, [
    waiting.plain,
    waiting.more && withoutRemedy(waiting.more),
    waiting.remedy && `${REMEDY.slice(2)}${waiting.remedy}`,
  ])

export const waitingInShort: ShowWaiting = (waiting) => waiting && shown(waiting, [waiting.short])

export type WaitingRecord = NonNullable<ReturnType<ShowWaiting>>
