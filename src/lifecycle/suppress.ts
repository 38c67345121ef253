/**
 * NAME      suppress - which mail must not be written to whom
 * DESCRIPTION
 *   Suppressions are asked when a mail is accepted; between then and an attempt a scheduled or deferred
 *   mail may wait for weeks. So they are asked again when a recipient is claimed, and one that must not
 *   be written to any more ends there. A mail that was sent with the override goes on, and so do reports
 *   that we write ourselves.
 */
import type { Outcome, Source } from './facts.js'
import { observed } from './observed.js'
import type { Mode } from './page.js'

/**
 * Whose list a suppression stands on. Live and test mail have lists of their own, so that
 * nothing done in a test silences anyone; the account's own id names the list that holds
 * for the live mail of all its workspaces.
 */

export const suppressionList = (workspaceId: string, mode: Mode): string =>
  mode === 'live' ? workspaceId : `${workspaceId}/test`

interface SuppressibleMail {
  readonly source: Source
  /** Sent with the override. */
  readonly ignoresSuppressions: boolean
  readonly accountId: string
  readonly workspaceId: string
  readonly mode: Mode
}

/** The lists that an address must not be on for a mail to leave; none for reports of our own, and with the override. */
export const listsAgainst = ({
  source,
  ignoresSuppressions,
  accountId,
  workspaceId,
  mode,
}: SuppressibleMail): readonly string[] => {
  if (source === 'system' || ignoresSuppressions) return []
  const own = suppressionList(workspaceId, mode)
  return mode === 'live' ? [own, accountId] : [own]
}

export const isSuppressing = (expiresAt: number | null, now: number): boolean =>
  expiresAt === null || expiresAt > now

/** What becomes of a recipient who waited while his address was put on a list. */
export const endSuppressed = (recipientId: string, now: number): Outcome =>
  observed({ recipientId, seen: 'suppressed', at: now, source: 'system', reason: 'suppressed' })
