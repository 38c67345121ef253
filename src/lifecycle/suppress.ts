/**
 * NAME      suppress - which mail must not be written to whom, and when refusals say more of a server than of addresses
 *   Suppressions are asked when a mail is accepted; between then and an attempt a scheduled or deferred mail may wait
 *   for weeks. So they are asked again when a recipient is claimed, and one that must not be written to any more ends
 *   there. A mail that was sent with the override goes on, and so do reports that we write ourselves.
 *   Addresses do not become bad all at once: where too many bounce for good, none of them is suppressed before a person
 *   has looked. Counted are, in ten minutes of one upstream: one text of one domain; all texts of a domain; and all
 *   domains together, where most of those that it met have refused somebody. What goes on slowly is seen in an hour,
 *   against the seven days before. Pure; the store counts, and acts on it in one commit.
 */
import { type Outcome, observed, type Source } from './facts.js'
import type { Mode } from './page.js'

/**
 * Whose list a suppression stands on. Live and test mail have lists of their own, so that nothing done in a test
 * silences anyone; the account's own id names the list that holds for the live mail of all its workspaces.
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

/*
 * What stands on a list is an address, a whole domain (`*@example.com`, without its subdomains), or an address for the mail
 * of one mailing list alone (`ana@example.com#news`): no domain has a `#`. Addresses are in their normal form, in which nobody
 * is `*@`.
 */

export const MAILING_LIST = /^[a-z0-9][a-z0-9_-]{0,63}$/
/** What its name must be. */
export const MAILING_LIST_FORM = 'must be 1 to 64 of a-z, 0-9, _ and -, and begin with a letter or digit'

export const entryOf = (email: string, mailingList: string | null): string =>
  mailingList === null ? email : `${email}#${mailingList}`

export const partsOfEntry = (
  entry: string,
): { readonly email: string; readonly mailingList: string | null } => {
  const hash = entry.indexOf('#', entry.lastIndexOf('@'))
  return hash < 0
    ? { email: entry, mailingList: null }
    : { email: entry.slice(0, hash), mailingList: entry.slice(hash + 1) }
}

export const isWholeDomain = (entry: string): boolean => entry.startsWith('*@')

/** The entry of the whole domain of an address. */
export const domainEntry = (email: string): string => `*${email.slice(email.lastIndexOf('@'))}`

/** All that suppresses whoever the narrowest of them names, which is given; the one to name comes first. */
export const entriesAgainst = (narrowest: string): readonly string[] => {
  const { email, mailingList } = partsOfEntry(narrowest)
  return mailingList === null ? [email, domainEntry(email)] : [email, domainEntry(email), narrowest]
}

/** For the timeline of a recipient: which entry it was, unless his very address. */
export const entryDetail = (entry: string | null | undefined): Readonly<Record<string, string>> | null => {
  if (entry == null) return null
  const { mailingList } = partsOfEntry(entry)
  if (mailingList !== null) return { list: mailingList }
  return isWholeDomain(entry) ? { entry } : null
}

export const isSuppressing = (expiresAt: number | null, now: number): boolean =>
  expiresAt === null || expiresAt > now

/** What becomes of a recipient who waited while his address was put on a list. */
export const endSuppressed = (recipientId: string, entry: string, now: number): Outcome =>
  observed({
    ...{ recipientId, seen: 'suppressed', at: now, source: 'system', reason: 'suppressed' },
    detail: entryDetail(entry),
  })

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export const INCIDENT_WINDOW_MS = 10 * MINUTE
/** Slow ones: the hour that runs, and the one before. */
export const SLOW_WINDOW_MS = 2 * HOUR
/** What they are measured by. */
export const SLOW_BEFORE_MS = 7 * DAY
/** Nobody has decided by then: the addresses are written to again. */
export const INCIDENT_STANDS_MS = 7 * DAY

/** Fewer distinct addresses are no incident, whatever their share. */
export const MOST_ALONE = 20
const SHARE = 0.3
/** So many of them that took mail before are enough, whatever the share; over several domains with this share. */
export const MOST_LIVING = 10
const LIVING_SHARE = 0.1
/** Fewer are looked at one by one. */
const MOST_DOMAINS = 3
/** Of an hour. */
export const MOST_SLOW = 50
const MORE = 0.05
/** Fewer answers tell nothing of what is usual. */
const KNOWN = 500

/** A mail that was taken then, and not sent back since, reached somebody. */
export const LIVING_WITHIN_MS = 90 * DAY
/** A report may take as long to come back. */
export const LIVING_AFTER_MS = 60 * MINUTE

export interface Refusals {
  /** Distinct addresses, hard. */
  readonly addresses: number
  /** Of those, the ones that were delivered to before. */
  readonly living: number
  /** What upstream and domain had to answer in all, as far as it is known. */
  readonly outcomes: number
}

/** Of one domain. */
export const isIncident = ({ addresses, living, outcomes }: Refusals): boolean =>
  living >= MOST_LIVING || (addresses >= MOST_ALONE && addresses >= SHARE * outcomes)

/** Of all domains that an upstream met. */
export const isWideIncident = (
  { addresses, living, outcomes }: Refusals,
  domains: { readonly refused: number; readonly met: number },
): boolean =>
  domains.refused >= MOST_DOMAINS &&
  domains.refused >= SHARE * domains.met &&
  ((addresses >= MOST_ALONE && addresses >= SHARE * outcomes) ||
    (living >= MOST_LIVING && addresses >= LIVING_SHARE * outcomes))

export interface BouncedShare {
  readonly addresses: number
  readonly outcomes: number
}

/** More of an upstream's answers are hard than in the days before. */
export const isSlowIncident = (now: BouncedShare, before: BouncedShare): boolean =>
  now.addresses >= MOST_SLOW &&
  before.outcomes >= KNOWN &&
  now.addresses / Math.max(now.outcomes, now.addresses) - before.addresses / before.outcomes >= MORE

/** How many more must bounce before it can be an incident, as long as nothing leaves the window; who lives is known from MOST_LIVING on. */
export const bouncesAway = ({ addresses, living, outcomes }: Refusals): number =>
  Math.max(
    1,
    Math.min(
      MOST_LIVING - (addresses < MOST_LIVING ? addresses : living),
      Math.max(MOST_ALONE, SHARE * outcomes) - addresses,
    ),
  )
