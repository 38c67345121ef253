/**
 * NAME      people - who may sign in, who stays an owner, and whose sessions end
 * DESCRIPTION
 *   Pure. An engine finds the rows, asks here before it changes any, and writes what it is told.
 */
import type { SignedIn, SignIn, UserChange, UserRow } from '../port/tenants/identity.js'

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
