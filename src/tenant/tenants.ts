/**
 * NAME      tenants - the folder as one value
 *   Every verb of this folder bound to one store, pepper and clock, so that a door is handed a single thing. The verbs
 *   are plain functions in their own files; the command line calls them the same way.
 */
import type { Actor, UserRow } from '../store/port/identity.js'
import { createAuthenticate } from './authenticate.js'
import * as credential from './credential.js'
import { createPersonProof, deviceOf } from './credential.js'
import * as factors from './factors.js'
import { createFactorProof } from './factors.js'
import * as key from './key.js'
import * as window from './limits.js'
import { createFailures } from './limits.js'
import * as links from './people.js'
import * as people from './people.js'
import * as session from './people.js'
import * as pool from './pool.js'
import type { Principal, TenantDeps } from './principal.js'
import * as suppression from './suppression.js'
import * as account from './workspace.js'
import * as workspace from './workspace.js'

const verbsOf = (deps: TenantDeps) => {
  const bind =
    <Rest extends unknown[], Answer>(
      verb: (deps: TenantDeps, ...rest: Rest) => Answer,
    ): ((...rest: Rest) => Answer) =>
    (...rest) =>
      verb(deps, ...rest)
  return {
    deps,
    createAccount: bind(account.createAccount),
    ensureAccount: bind(account.ensureAccount),
    createKey: bind(key.createKey),
    rotateKey: bind(key.rotateKey),
    revokeKey: bind(key.revokeKey),
    createSession: bind(session.createSession),
    newSession: bind(session.newSession),
    verifySession: bind(session.verifySession),
    revokeSession: bind(session.revokeSession),
    createPerson: bind(people.createPerson),
    findPerson: bind(people.findPerson),
    updatePerson: bind(people.updatePerson),
    changeOwnSettings: bind(people.changeOwnSettings),
    beginFactor: bind(factors.beginFactor),
    addFactor: bind(factors.addFactor),
    removeFactor: bind(factors.removeFactor),
    replaceRecoveryCodes: bind(factors.replaceRecoveryCodes),
    resetFactors: bind(factors.resetFactors),
    createLink: bind(links.createLink),
    createSetupLink: bind(links.createSetupLink),
    openLink: bind(links.openLink),
    revokeInvitation: bind(links.revokeInvitation),
    createCredential: bind(credential.createCredential),
    revokeCredential: bind(credential.revokeCredential),
    createWorkspace: bind(workspace.createWorkspace),
    updateWorkspace: bind(workspace.updateWorkspace),
    wrongWithWorkspace: bind(workspace.wrongWithWorkspace),
    deleteWorkspace: bind(workspace.deleteWorkspace),
    findWorkspace: bind(workspace.findWorkspace),
    workspaceForSend: bind(workspace.workspaceForSend),
    workspaceForRead: bind(workspace.workspaceForRead),
    createPool: bind(pool.createPool),
    updatePool: bind(pool.updatePool),
    deletePool: bind(pool.deletePool),
    findPool: bind(pool.findPool),
    suppress: bind(suppression.suppress),
    addSuppression: bind(suppression.addSuppression),
    findSuppression: bind(suppression.findSuppression),
    removeSuppression: bind(suppression.removeSuppression),
  }
}

export const createTenants = (deps: TenantDeps) => {
  const { clock, authFailures, daemons = () => 1 } = deps
  const failures = createFailures(clock, () => Math.max(1, Math.floor(authFailures / daemons())))
  const authenticate = createAuthenticate(deps, failures)
  const proofs = {
    authenticateBearer: authenticate.bearer,
    authenticateKey: authenticate.key,
    claimSignature: authenticate.claim,
    authenticateSigned: authenticate.signed,
    claimantOf: authenticate.claimant,
    provedBy: authenticate.proved,
    authenticatePassword: authenticate.password,
    authenticateRange: authenticate.range,
    authenticateCertificate: authenticate.certificate,
    /** Whether an address has a range credential, used or not. */
    hasRange: async (ip: string) => (await credential.credentialOfAddress(deps, ip)) !== null,
    stillValid: authenticate.stillValid,
    provePerson: createPersonProof(deps, failures),
    proveFactor: createFactorProof(deps, failures),
    deviceOf: (user: UserRow) => deviceOf(deps, user),
    failures,
    sendWindow: {
      /** Counts n sends if all of them fit; at once where the count is at hand. It refuses nobody: ask `allowed`. */
      consume: (principal: Principal, n: number) => window.consumeWindow(deps, principal, n),
      peek: async (principal: Principal) => window.consumeWindow(deps, principal, 0),
      /** The refusal that belongs to a state that was not allowed. */
      exceeded: (state: window.WindowState) => window.windowExceeded(state, deps.clock.now()),
    },
  }
  const by = (actor: Actor) => ({ ...proofs, ...verbsOf({ ...deps, store: deps.store.by(actor) }), by })
  return { ...proofs, ...verbsOf(deps), by }
}

export interface Tenancy extends Readonly<Omit<ReturnType<typeof createTenants>, 'by'>> {
  /** The same, as somebody: what is changed is written down as this one's. */
  by(actor: Actor): Tenancy
}
