/**
 * NAME      scope - which part of the queue is meant
 * DESCRIPTION
 *   One table of the words, for the flags of the command line and the members of a
 *   request. They become a scope of the store; what names nothing is refused before
 *   anything is touched. A scope that changes something names a part, or says `all`.
 */
import { domainToASCII } from 'node:url'
import { Fault, type FieldError, invalid } from '../../base/fault.js'
import type { Mode } from '../../lifecycle/page.js'
import type { Ledger } from '../../store/port/mail.js'
import type { QueueScope } from '../../store/port/operations.js'
import { isRoutedTo, type Tenants } from '../../store/port/tenants.js'

/** By the word of the command line: the member of a request, and what it means. */
export const SCOPE_PARTS = {
  workspace: { member: 'workspace_id', says: 'Mail of this workspace, by id or slug' },
  pool: { member: 'egress_pool_id', says: 'Mail in this egress pool, by name or id' },
  domain: { member: 'domain', says: 'Mail to recipients of this domain' },
  email: { member: 'email_id', says: 'One mail, by id' },
} as const

export type ScopePart = keyof typeof SCOPE_PARTS
export const SCOPE_WORDS = Object.keys(SCOPE_PARTS) as readonly ScopePart[]
export const SCOPE_ALL = 'The whole queue; with no other part'

export type ScopeWish = { readonly [part in ScopePart]?: string | undefined } & {
  readonly all?: boolean | undefined
}

/** Who names a workspace, or is one, reaches nothing else. */
export interface ScopeCaller {
  readonly accountId: string
  /** null: of the whole account. */
  readonly workspaceId: string | null
  /** It asks for itself: of the pools it knows its own. */
  readonly isWorkspace: boolean
  /** Whose mail it may name; null: both. */
  readonly mode: Mode | null
}

export interface ScopeDeps {
  readonly store: Pick<Tenants, 'workspace' | 'pool'> & Pick<Ledger, 'email'>
}

const normalDomain = (text: string): string | null => {
  const domain = domainToASCII(text.replace(/^@/, '')).toLowerCase()
  return /^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(domain) ? domain : null
}

/** All that is wrong with it by itself. `at` is where it stands; a part that is looked for need not be named. */
export const wrongWithScope = (wish: ScopeWish, at: string, mayBeEmpty = false): readonly FieldError[] => {
  const errors: FieldError[] = []
  const named = SCOPE_WORDS.filter((part) => wish[part] !== undefined)
  if (named.length > 0 && wish.all)
    errors.push({ field: `${at}.all`, kind: 'forbidden', message: 'does not go with a part of the queue' })
  if (named.length === 0 && !wish.all && !mayBeEmpty) {
    const parts = SCOPE_WORDS.map((part) => SCOPE_PARTS[part].member).join(', ')
    errors.push({ field: at, kind: 'missing', message: `must name ${parts}, or all` })
  }
  if (wish.domain !== undefined && normalDomain(wish.domain) === null)
    errors.push({ field: `${at}.domain`, kind: 'format', message: 'must be a domain' })
  return errors
}

/** What these words mean to this caller. */
export const queueScope = async (
  { store }: ScopeDeps,
  caller: ScopeCaller,
  wish: ScopeWish,
  at = 'body.scope',
): Promise<QueueScope> => {
  const wrong = wrongWithScope(wish, at, true)
  if (wrong.length > 0) throw invalid(wrong)
  const { accountId } = caller
  const ref = wish.workspace ?? caller.workspaceId
  const place = ref === null ? null : await store.workspace(accountId, ref)
  const foreign = caller.workspaceId !== null && place?.id !== caller.workspaceId
  if (ref !== null && (place === null || foreign)) throw new Fault('workspace.not_found')
  const pool = wish.pool === undefined ? null : await store.pool(accountId, wish.pool)
  const hidden = caller.isWorkspace && (place === null || !isRoutedTo(place, pool?.id))
  if (wish.pool !== undefined && (pool === null || hidden)) throw new Fault('egress_pool.not_found')
  const seen = { accountId, workspaceId: caller.workspaceId, mode: caller.mode }
  if (wish.email !== undefined && (await store.email(seen, wish.email)) === null)
    throw new Fault('email.not_found')
  return {
    accountId,
    workspaceId: place?.id ?? null,
    poolId: pool?.id ?? null,
    domain: wish.domain === undefined ? null : normalDomain(wish.domain),
    emailId: wish.email ?? null,
  }
}
