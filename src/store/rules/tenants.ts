/**
 * NAME      rules/tenants - who may sign in, what becomes of endpoints, which lists a recipient is looked for in, what an import changes
 *   Pure. An engine finds the rows, asks here before it changes any, and writes what it is told.
 *   What becomes of endpoints and of what is posted to them: Ended posts are kept for four days, and of each
 *   endpoint the latest, so that one that refuses everything can not fill the disk. Whoever enables an endpoint
 *   begins a generation. Pure.
 */

import type { Acceptance, AcceptResult, NewEmail } from '../../lifecycle/facts.js'
import { entriesAgainst, suppressionList } from '../../lifecycle/suppress.js'
import type { BriefPost, EndpointState, ListedPost } from '../port/hooks.js'
import type { SignedIn, SignIn, UserChange, UserRow } from '../port/identity.js'
import type { SuppressionRow } from '../port/tenants.js'

/** Whether an owner would be one no longer; the last of an account can not be made so. */
export const endsOwner = ({ role, disabledAt }: UserRow, change: UserChange): boolean =>
  role === 'owner' &&
  disabledAt === null &&
  ((change.role ?? 'owner') !== 'owner' || (change.disabledAt ?? null) !== null)

/** A sign-in does all the same whatever else it would have changed. */
export const keepingOwner = ({ role, disabledAt, ...rest }: UserChange): UserChange => rest

/** Whether the sessions and the unused links of a person end with a change. */
export const locksOut = ({ hash }: UserRow, change: UserChange): boolean =>
  (change.disabledAt ?? null) !== null || (change.hash !== undefined && change.hash !== hash)

/** The addresses that a sign-in gives to its person. */
export const addressesOf = ({ newUser, change }: SignIn): readonly string[] =>
  [newUser?.email, change?.email].filter((email) => email !== undefined)

export interface SignInFacts {
  /** The person as he is or will be made; null for nobody in particular, and for one who is not there. */
  readonly user: UserRow | null
  /** Whether its link, if it has one, is. */
  readonly isLinkOpen: boolean
  /** Another person of the account has one of its addresses. */
  readonly isTaken: boolean
  /** Whose its identity is. */
  readonly boundTo: string | null
}

/** Looked at before anything changes, so that a refusal leaves nothing behind. */
export const judgeSignIn = (
  { linkId, session }: SignIn,
  { user, isLinkOpen, isTaken, boundTo }: SignInFacts,
): SignedIn => {
  if (linkId !== null && !isLinkOpen) return 'link_used'
  if (session.userId === null) return 'done'
  if (user === null || user.disabledAt !== null) return 'disabled'
  return isTaken || (boundTo !== null && boundTo !== session.userId) ? 'not_unique' : 'done'
}

export const POSTS_KEPT_MS = 4 * 86_400_000
export const KEPT_ENDED = 5_000

const GIVEN_UP = 'given up unposted: the endpoint took nothing for too long'

/** Of an endpoint that is enabled again, from this mark or from where it stood. */
export const afresh = (state: EndpointState, from: string | null): EndpointState => ({
  ...{ ...state, generation: state.generation + 1, mark: from ?? state.mark, health: 'healthy' },
  ...{ failingSince: null, failures: 0, firstFailedAt: null, lastFailedAt: null },
  ...{ probes: 0, probeAt: null, told: 0 },
})

/** What is skipped is skipped whole: events that were to be tried again as well. */
export const SKIPPED = 'enabled again from a later event'

/** Posts of these are not to be replayed again. */
export const isReplayed = ({ kind, state }: Pick<ListedPost, 'kind' | 'state'>): boolean =>
  kind === 'replay' && (state === 'waiting' || state === 'succeeded')

export const isLost = (
  { kind, state, eventAt }: Pick<ListedPost, 'kind' | 'state' | 'eventAt'>,
  since: number | null,
  until: number,
): boolean => kind === 'event' && state === 'failed' && eventAt >= (since ?? 0) && eventAt <= until

/** A brief post as a list has it. */
export const listedOf = (endpointId: string, { state, at, status, ms, ...event }: BriefPost): ListedPost => {
  const failed = state === 'failed'
  return {
    ...{ id: null, endpointId, ...event, kind: 'event', state, attempts: failed ? 0 : 1, dueAt: null },
    tries: failed ? [] : [{ at, status, ms: ms ?? 0, cause: null }],
    ...{ url: null, headers: null, status, ms, answer: null, cause: failed ? GIVEN_UP : null },
    ...{ createdAt: at, updatedAt: at },
  }
}

type IsListed = (list: string, entry: string) => boolean

const ask = (mail: NewEmail, isListed: IsListed): NewEmail => {
  const list = suppressionList(mail.workspaceId, mail.mode)
  const recipients = mail.recipients.map((one) => {
    if (one.normal === undefined) return one
    const entry = entriesAgainst(one.normal).find((each) => isListed(list, each)) ?? null
    return { ...one, suppressed: entry !== null, entry }
  })
  return { ...mail, recipients }
}

/** What is to be stored, and what accept answers then; null where an idempotent answer says something else. */
export const asListed = (
  batch: Acceptance,
  isListed: IsListed,
): { readonly batch: Acceptance; readonly result: AcceptResult } | null => {
  const asked = batch.mails.flatMap(({ recipients }) => recipients).filter((one) => one.normal !== undefined)
  if (asked.length === 0) return { batch, result: 'accepted' }
  const mails = batch.mails.map((mail) => ask(mail, isListed))
  const all = new Map(mails.flatMap(({ recipients }) => recipients.map((one) => [one.id, one] as const)))
  if (batch.idempotency !== null && asked.some((one) => all.get(one.id)?.suppressed !== one.suppressed))
    return null
  const suppressed = asked.map(({ id }) => id).filter((id) => all.get(id)?.suppressed)
  return { batch: { ...batch, mails }, result: suppressed.length === 0 ? 'accepted' : { suppressed } }
}

/** Why an address is suppressed, the weakest first: an import never makes it weaker. */
const STRENGTH: readonly SuppressionRow['origin'][] = [
  ...(['import', 'manual', 'soft_bounce', 'bounce', 'unsubscribe', 'complaint'] as const),
]

/** The row that stands, after a list says `given` of its address: the stronger why with its words, the older date, the later end. */
export const strongestOf = (held: SuppressionRow, given: SuppressionRow): SuppressionRow => {
  const isStronger = STRENGTH.indexOf(given.origin) > STRENGTH.indexOf(held.origin)
  const { origin, sourceId, reason } = isStronger ? given : held
  const ends = held.expiresAt !== null && given.expiresAt !== null
  return {
    ...held,
    ...{ origin, sourceId, reason },
    expiresAt: ends ? Math.max(held.expiresAt, given.expiresAt) : null,
    createdAt: Math.min(held.createdAt, given.createdAt),
  }
}

/** One row for each address, in the order in which they were given. */
export const oneForEach = (rows: readonly SuppressionRow[]): Map<string, SuppressionRow> => {
  const found = new Map<string, SuppressionRow>()
  for (const row of rows) {
    const before = found.get(row.email)
    found.set(row.email, before === undefined ? row : strongestOf(before, row))
  }
  return found
}
