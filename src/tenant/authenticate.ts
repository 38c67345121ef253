/**
 * NAME      authenticate - from a credential to a principal
 *   The one place where a caller is let in, for every door. HTTP brings a bearer token (key or session), SMTP a user
 *   name and a password or just an address.
 *   At SMTP the password alone decides who it is; the user name only says which workspace: free for a workspace's key,
 *   unless it names another workspace, and needed for a platform key.
 *   A client of Amazon SES signs its request instead: whom it names is found before the body is read, and proved by it.
 *   Unknown, revoked and expired are one answer, after the same work.
 */
import { LRUCache } from 'lru-cache'
import { andThen } from '../base/and-then.js'
import { Fault } from '../base/fault.js'
import type { CredentialRow, KeyRow, WorkspaceRow } from '../store/port/tenants.js'
import type { Known } from '../store/port/upkeep.js'
import { createPasswordProof, credentialOfAddress, loginText } from './credential.js'
import {
  type Claim,
  isCurrent,
  isSigned,
  keyNamed,
  looksLikeKey,
  readClaim,
  type SignedRequest,
  sesSecretOf,
  signingKey,
  verifyKey,
} from './key.js'
import type { Failures } from './limits.js'
import { type LiveSession, verifySession } from './people.js'
import { type Login, noteUse, type Principal, type TenantDeps } from './principal.js'
import { readingOnly } from './rights.js'

/** A signature that is yet to be proved, and the key that it names. */
export interface SignedClaim extends Claim {
  readonly row: KeyRow
}

interface Authenticate {
  /** A key or session from `Authorization: Bearer`. With an address, failures are counted against it. */
  bearer(token: string, ip?: string): Promise<Principal>
  /** Whose key this is, or null; no failure is counted. By rows that may be old, which accept compares, unless `kept`. */
  key(text: string, ip: string, kept: boolean): Principal | null | Promise<Principal | null>
  /**
   * Who says to have signed it; failures are counted, and who had too many is refused whatever he claims: a body costs
   * more than a key. Its proof is `signed`, with the SHA-256 of the body in hex.
   */
  claim(request: SignedRequest, ip: string): Promise<SignedClaim>
  signed(claimed: SignedClaim, bodyHash: string, ip: string): Principal
  /** As `key`, of a signed request, whose proof is `proved`. Throws for a signature in no good form. */
  claimant(request: SignedRequest, kept: boolean): SignedClaim | null | Promise<SignedClaim | null>
  proved(claimed: SignedClaim, bodyHash: string, ip: string): Principal | null
  password(username: string, password: string, ip: string): Promise<Login>
  /** The range credential of this client address, or null. */
  range(ip: string): Promise<Login | null>
  /** The credential of this client certificate, by its SHA-256 in hex, or null. */
  certificate(fingerprint: string, ip: string): Promise<Login | null>
  /** Whether what opened an SMTP session is still good now. */
  stillValid(principal: Principal): boolean | Promise<boolean>
}

const REFUSED = () => new Fault('auth.credentials_invalid')

const ofKey = (row: KeyRow, perMinute: number): Principal => ({
  accountId: row.accountId,
  via: 'key',
  id: row.id,
  scope: row.scope,
  workspaceId: row.workspaceId,
  mode: row.mode,
  limitPerMinute: row.rateLimitPerMinute ?? perMinute,
  role: null,
  person: null,
  actor: { kind: 'key', id: row.id, name: row.name },
  ...(row.permission === 'sending_access' && { sendsOnly: true as const }),
  ...(row.permission === 'reading_access' && { readsOnly: true as const }),
})

/** What a session of nobody does is done by the session. */
export const actorOf = ({ row, user }: LiveSession): Principal['actor'] =>
  user === null
    ? { kind: row.provider === 'cli' ? 'cli' : 'link', id: row.id, name: null }
    : { kind: 'person', id: user.id, name: user.email }

/** Who came by an identity provider has its second factor. */
const BY_PASSWORD: ReadonlySet<string> = new Set(['local', 'link'])

const mustEnrol = ({ secondFactor }: TenantDeps, { row, user }: LiveSession): boolean =>
  secondFactor === 'required' && user !== null && !user.hasFactor && BY_PASSWORD.has(row.provider)

const ofSession = (deps: TenantDeps, live: LiveSession): Principal => ({
  accountId: live.row.accountId,
  via: 'session',
  id: live.row.id,
  scope: 'platform',
  workspaceId: null,
  mode: 'live',
  limitPerMinute: deps.perMinute,
  role: live.user?.role ?? live.row.role,
  person: live.user,
  mustEnrol: mustEnrol(deps, live),
  actor: actorOf(live),
})

const ofCredential = (row: CredentialRow, perMinute: number): Principal => ({
  accountId: row.accountId,
  via: 'credential',
  id: row.id,
  scope: 'workspace',
  workspaceId: row.workspaceId,
  mode: row.mode,
  limitPerMinute: perMinute,
  role: null,
  person: null,
  actor: { kind: 'credential', id: row.id, name: loginText(row) },
})

const chooseWorkspace = async (
  { store }: TenantDeps,
  principal: Principal,
  username: string,
): Promise<WorkspaceRow> => {
  const ref = username.trim().toLowerCase()
  const named = ref === '' ? null : await store.workspace(principal.accountId, ref)
  const looksLikeId = /^ws_[0-9a-z]+$/.test(ref)
  if (principal.workspaceId === null) {
    if (named !== null) return named
    if (looksLikeId) throw new Fault('workspace.not_found')
    throw new Fault('validation.workspace_header_required', { detail: 'use the workspace id as username' })
  }
  if (named !== null ? named.id !== principal.workspaceId : looksLikeId)
    throw new Fault('workspace.not_found')
  const own = named ?? (await store.workspace(principal.accountId, principal.workspaceId))
  if (own === null) throw REFUSED()
  return own
}

const byKey = (
  deps: TenantDeps,
  text: string,
  ip: string | null,
  rows?: Known,
): Principal | null | Promise<Principal | null> =>
  andThen(verifyKey(deps, text, rows), (row) => {
    if (row === null) return null
    noteUse(deps, 'key', row, deps.clock.now(), ip)
    return ofKey(row, deps.perMinute)
  })

const SES = 'ses'
/** Keys of a day, and so of few clients: without them each signature takes five hashes more. */
const MOST_DAY_KEYS = 1_000

/** Proves signatures; what it has made of secrets stays in memory. */
const createSignatureProof = ({ pepper }: TenantDeps) => {
  const dayKeys = new LRUCache<string, Buffer>({ max: MOST_DAY_KEYS })
  return ({ row, ...claim }: SignedClaim, bodyHash: string): boolean => {
    const name = `${row.id}/${claim.scope}`
    const known = dayKeys.get(name)
    const secret = known === undefined ? sesSecretOf(pepper, row) : null
    const key = secret == null ? known : signingKey(secret, claim.scope)
    if (key === undefined || !isSigned(claim, bodyHash, key)) return false
    // what nobody has proved takes no place
    dayKeys.set(name, key)
    return true
  }
}

const loginOf = async (deps: TenantDeps, row: CredentialRow, ip: string): Promise<Login> => {
  const workspace = await deps.store.workspace(row.accountId, row.workspaceId)
  if (workspace === null) throw REFUSED()
  noteUse(deps, 'credential', row, deps.clock.now(), ip)
  return { workspace, ...ofCredential(row, deps.perMinute) }
}

/** Whether the key or the credential is there, and not expired; who came by a session has neither. */
export const stillGood = (
  rows: Pick<Known, 'key' | 'credential'>,
  { via, id, accountId }: Pick<Principal, 'via' | 'id' | 'accountId'>,
  now: number,
): boolean | Promise<boolean> => {
  if (via === 'key') return andThen(rows.key(accountId, id), (row) => row !== null && isCurrent(row, now))
  return via === 'credential' && andThen(rows.credential(id), (row) => row !== null)
}

/** Ahead of an answer that nobody compares. */
const looked = ({ store }: TenantDeps): unknown => store.known?.lookOnce()

/** Counts a failure against its address; throws when there were too many. */
const refusalOf = (failures: Failures, ip: string | undefined): Fault => {
  if (ip !== undefined) {
    failures.check(ip)
    failures.count(ip)
  }
  return REFUSED()
}

const signaturesFor = (
  deps: TenantDeps,
  failures: Failures,
): Pick<Authenticate, 'claim' | 'signed' | 'claimant' | 'proved'> => {
  const { store, clock } = deps
  const proveSignature = createSignatureProof(deps)

  const refuse = (ip: string): Fault => refusalOf(failures, ip)
  const proved: Authenticate['proved'] = (claimed, bodyHash, ip) => {
    if (!proveSignature(claimed, bodyHash)) return null
    noteUse(deps, 'key', claimed.row, clock.now(), ip)
    return ofKey(claimed.row, deps.perMinute)
  }

  return {
    async claim(request, ip) {
      let claim: Claim
      try {
        claim = readClaim(request, SES, clock.now())
      } catch (fault) {
        if (fault instanceof Fault && fault.code !== 'auth.credentials_missing') refuse(ip)
        throw fault
      }
      const row = await keyNamed(deps, claim.accessKey)
      if (row === null) throw refuse(ip)
      failures.check(ip)
      return { ...claim, row }
    },

    signed(claimed, bodyHash, ip) {
      const principal = proved(claimed, bodyHash, ip)
      if (principal !== null) return principal
      refuse(ip)
      throw new Fault('auth.signature_invalid')
    },

    claimant(request, kept) {
      const claim = readClaim(request, SES, clock.now())
      return andThen(kept && looked(deps), () =>
        andThen(keyNamed(deps, claim.accessKey, store.known), (row) => row && { ...claim, row }),
      )
    },
    proved,
  }
}

export const createAuthenticate = (deps: TenantDeps, failures: Failures): Authenticate => {
  const { store, clock } = deps
  const provePassword = createPasswordProof(deps)
  const refuse = (ip: string | undefined): Fault => refusalOf(failures, ip)

  return {
    async bearer(token, ip) {
      if (token.startsWith('ses_')) {
        const live = await verifySession(deps, token)
        if (live !== null) return ofSession(deps, live)
      } else {
        const principal = await byKey(deps, token, ip ?? null)
        if (principal !== null) return principal
      }
      throw refuse(ip)
    },

    key(text, ip, kept) {
      return andThen(kept && looked(deps), () => byKey(deps, text, ip, store.known))
    },
    ...signaturesFor(deps, failures),
    async password(username, password, ip) {
      if (looksLikeKey(password)) {
        const principal = await byKey(deps, password, ip)
        if (principal === null) throw refuse(ip)
        if (principal.readsOnly) throw readingOnly()
        return { workspace: await chooseWorkspace(deps, principal, username), ...principal }
      }
      const row = await provePassword(username, password, () => failures.check(ip))
      if (row !== null) return loginOf(deps, row, ip)
      throw refuse(ip)
    },

    async range(ip) {
      const row = await credentialOfAddress(deps, ip)
      return row === null ? null : loginOf(deps, row, ip)
    },

    async certificate(fingerprint, ip) {
      const row = await store.credentialByCertificate(fingerprint)
      return row === null ? null : loginOf(deps, row, ip)
    },

    stillValid(principal) {
      return andThen(looked(deps), () => stillGood(store.known ?? store, principal, clock.now()))
    },
  }
}
