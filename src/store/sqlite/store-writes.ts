/**
 * NAME      store-writes - the writing verbs of the port
 * DESCRIPTION
 *   Each is one call to the writer; it resolves after the commit. Two do not
 *   wait: consume() of the daemon answers from memory, and touch() never waits.
 */

import type { Carry } from '../port/carry.js'
import type { Hooks } from '../port/hooks.js'
import type { Jobs } from '../port/jobs.js'
import type { EmailSearch, Ledger } from '../port/ledger.js'
import type { EventLog } from '../port/log.js'
import type { Operations, QueueOrder } from '../port/operations.js'
import type { Queue, Schedule } from '../port/queue.js'
import type { Statistics } from '../port/statistics.js'
import type { Domains } from '../port/tenants/domains.js'
import type { Identity } from '../port/tenants/identity.js'
import type { Tenants } from '../port/tenants/tenants.js'
import type { Upkeep } from '../port/upkeep.js'
import type { Incidents } from '../port/watch/incident.js'
import type { Watch } from '../port/watch/watch.js'
import type { EndpointWrites } from './hooks/endpoints.js'
import type { PostWrites } from './hooks/posts.js'
import { identityVerbs } from './identity/client.js'
import type { Progress } from './operate/orders.js'
import { SUSPENDED } from './operate/suspend.js'
import type { Swept } from './protocol.js'
import type { Verbs } from './session.js'

type IncidentCalls = Pick<Incidents, 'addHardBounce' | 'decideIncident'>

type TenantWrites = Pick<
  Tenants,
  | 'createAccount'
  | 'setPepperMark'
  | 'createWorkspace'
  | 'ownPool'
  | 'updateWorkspace'
  | 'suspendWorkspace'
  | 'resumeWorkspace'
  | 'deleteWorkspace'
  | 'createKey'
  | 'revokeKey'
  | 'touch'
  | 'createCredential'
  | 'importCredentials'
  | 'revokeCredential'
  | 'createPool'
  | 'updatePool'
  | 'rotateToken'
  | 'deletePool'
  | 'addSuppression'
  | 'removeSuppression'
  | 'consume'
>

type MailWrites = Omit<Queue, 'body' | 'nextDue' | 'duePools'> &
  Schedule &
  Pick<Ledger, 'onSettled'> &
  Pick<EventLog, 'addNotice'> &
  Pick<Upkeep, 'followClock' | 'recover' | 'sweep'>

/** Small steps, so that others write in between; all done when it resolves. */
const inSteps = async (step: (cursor: Progress['next']) => Promise<Progress>): Promise<number> => {
  let changed = 0
  let cursor: Progress['next'] = null
  do {
    const done: Progress = await step(cursor)
    changed += done.changed
    cursor = done.next
  } while (cursor !== null)
  return changed
}

/** Until a step finds nothing more. */
const inRounds = async (step: () => Promise<number>): Promise<number> => {
  let changed = 0
  for (let n = -1; n !== 0; changed += Math.max(0, n)) n = await step()
  return changed
}

const resume = (current: () => Verbs, id: string, now: number): Promise<number> =>
  inRounds(() => current().client.call('resumeStep', id, now))

/** Ends what waits of a workspace that was deleted. */
const discard = (
  current: () => Verbs,
  { id, accountId }: { readonly id: string; readonly accountId: string },
  reason: string,
  now: number,
): Promise<number> => {
  const scope = { accountId, workspaceId: id, poolId: null, domain: null, emailId: null }
  return operate(current, { action: 'discard', scope, to: null, reason, now })
}

const operate = (current: () => Verbs, order: QueueOrder): Promise<number> => {
  const client = current().client.asOrder()
  return inSteps((cursor) => client.call('operateStep', order, cursor))
}

/** What one order calls: it has one entry in the audit, however many calls it takes. */
const asOrder = (current: () => Verbs): (() => Verbs) => {
  const client = current().client.asOrder()
  return () => ({ ...current(), client })
}

type CarryVerbs = Pick<Carry, 'addLot' | 'markLot' | 'closeLot' | 'endLot' | 'carryIn'>
type DomainWrites = Pick<Domains, 'createDomain' | 'updateDomain' | 'removeDomain'>
type OperationWrites = Pick<Operations, 'hold' | 'operate'> &
  DomainWrites &
  Pick<Statistics, 'addStatistics'> &
  Pick<EmailSearch, 'indexMails'> &
  Pick<Jobs, 'addJob' | 'advanceJob' | 'cancelJob'> &
  Pick<Watch, 'foldAlarms' | 'noteOutage'>

const operationWrites = (current: () => Verbs): OperationWrites => ({
  addStatistics: async (from, to, rows) => current().client.call('addStatistics', from, to, rows),
  addJob: async (row) => current().client.call('addJob', row),
  advanceJob: async (...args) => current().client.call('advanceJob', ...args),
  cancelJob: async (...args) => current().client.call('cancelJob', ...args),
  async indexMails(limit) {
    const { client, reads } = current()
    const { from, to, mails } = reads.toIndex(limit)
    if (mails.length === 0) return 0
    return (await client.call('addIndexed', from, to, mails)) ? mails.length : 0
  },
  createDomain: async (row) => current().client.call('createDomain', row),
  updateDomain: async (...args) => current().client.call('updateDomain', ...args),
  removeDomain: async (accountId, id) => current().client.call('removeDomain', accountId, id),
  foldAlarms: async (fold) => current().client.call('foldAlarms', fold),
  noteOutage: async (...args) => current().client.call('noteOutage', ...args),
  async hold(hold) {
    const { client } = asOrder(current)()
    await client.call('addHold', hold)
    return inSteps((cursor) => client.call('holdStep', hold, cursor))
  },
  operate: (order) => operate(current, order),
})

const ENDABLE = {
  taken_back: ['marking', 'exported', 'taken_back'],
  forgotten: ['exported', 'forgotten'],
} as const

const carryWrites = (current: () => Verbs): CarryVerbs => ({
  addLot: async (lot) => current().client.call('addLot', lot),
  markLot: (id, scope, reason, now) =>
    inSteps((cursor) => current().client.call('markStep', id, scope, reason, now, cursor)),
  closeLot: async (id) =>
    (await current().client.call('turnLot', id, ['marking'], 'exported')) === 'exported',
  async endLot(id, as, now) {
    const { client } = asOrder(current)()
    const state = await client.call('turnLot', id, ENDABLE[as], as)
    if (state !== as) return state ?? 'imported'
    return inRounds(() => client.call('lotStep', id, now))
  },
  async carryIn(mail, to, now) {
    const { id, raw } = mail
    const { client, bodyStore, reads } = current()
    // the body of a mail that is known is here already, unless retention took it
    if (raw === null || reads.hasBody(id))
      return client.call('carryIn', { ...mail, raw: null }, to, now, null)
    return bodyStore.carry({ id, raw }, (size) =>
      client.call('carryIn', size === null ? mail : { ...mail, raw: new Uint8Array(0) }, to, now, size),
    )
  },
})

const tenantWrites = (current: () => Verbs): TenantWrites & IncidentCalls => ({
  createAccount: async (account, beginning) => current().client.call('createAccount', account, beginning),
  setPepperMark: async (mark) => current().client.call('setPepperMark', mark),
  createWorkspace: async (workspace, own) => current().client.call('createWorkspace', workspace, own),
  ownPool: async (workspaceId, fresh) => current().client.call('ownPool', workspaceId, fresh),
  async updateWorkspace(id, change, moving) {
    const order = asOrder(current)
    const written = await order().client.call('updateWorkspace', id, change)
    if (written === 'done' && moving !== undefined) {
      const { accountId, from, to, now } = moving
      const scope = { accountId, workspaceId: id, poolId: null, domain: null, emailId: null }
      const reason = 'the workspace has another pool'
      await operate(order, { action: 'reroute', scope, to: null, routing: { from, to }, reason, now })
    }
    return written
  },
  async suspendWorkspace({ id, accountId }, reason, now) {
    // what an earlier resume has left is freed first, and rests again
    if ((await current().client.call('resuming')).includes(id)) await resume(current, id, now)
    const { client } = asOrder(current)()
    await client.call('suspendWorkspace', id, reason, now)
    const scope = { accountId, workspaceId: id, poolId: null, domain: null, emailId: null }
    const hold = { ...scope, id, reason: reason ?? SUSPENDED, owner: 'operator', createdAt: now } as const
    return inSteps((cursor) => client.call('holdStep', hold, cursor))
  },
  async deleteWorkspace(accountId, id, reason, now) {
    const order = asOrder(current)
    const result = await order().client.call('deleteWorkspace', accountId, id, now)
    if (result === 'done') await discard(order, { id, accountId }, reason, now)
    return result
  },
  async resumeWorkspace(id, now) {
    const order = asOrder(current)
    await order().client.call('resumeWorkspace', id, now)
    return resume(order, id, now)
  },
  createKey: async (key) => current().client.call('createKey', key),
  revokeKey: async (accountId, id) => current().client.call('revokeKey', accountId, id),
  touch: (kind, id, at) => current().touches.touch(kind, id, at),
  createCredential: async (credential) => current().client.call('createCredential', credential),
  importCredentials: async (credentials) => current().client.call('importCredentials', credentials),
  revokeCredential: async (accountId, id) => current().client.call('revokeCredential', accountId, id),
  createPool: async (pool) => current().client.call('createPool', pool),
  updatePool: async (pool) => current().client.call('updatePool', pool),
  rotateToken: async (was, is) => current().client.call('rotateToken', was, is),
  deletePool: async (accountId, id) => current().client.call('deletePool', accountId, id),
  addSuppression: async (row) => current().client.call('addSuppression', row),
  addHardBounce: async (dead) => current().client.call('addHardBounce', dead),
  async decideIncident(...args) {
    const { client } = asOrder(current)()
    let changed = 0
    for (let isFirst = true; ; isFirst = false) {
      const step = await client.call('decideStep', ...args, isFirst)
      if (typeof step === 'string') return step
      changed += step.changed
      if (!step.again) return changed
    }
  },
  removeSuppression: async (workspaceId, ref) => current().client.call('removeSuppression', workspaceId, ref),
  consume: async (bucket, window, n, limit) =>
    current().daemon
      ? current().window.consume(bucket, window, n, limit)
      : current().client.call('consume', bucket, window, n, limit),
})

const mailWrites = (current: () => Verbs): MailWrites => ({
  accept: async (batch) => current().queue.accept(batch),
  claimKey: async (claim) => current().queue.claimKey(claim),
  releaseKey: async (claim) => current().queue.releaseKey(claim),
  claim: async (...args) => current().queue.claim(...args),
  attempting: async (marks) => current().queue.attempting(marks),
  settle: async (outcomes) => current().queue.settle(outcomes),
  release: async (leases, dueAt) => current().queue.release(leases, dueAt),
  adjustTimes: async (...args) => current().queue.adjustTimes(...args),
  onDue: (wake) => current().queue.onDue(wake),
  onLeased: (take) => current().queue.onLeased(take),
  ready: (poolIds) => current().queue.ready(poolIds),
  onSettled: (listener) => current().client.onSettled(listener),
  followClock: async () => current().client.call('followClock'),
  recover: async (now) => current().client.call('recover', now),
  addNotice: async (notice) => current().client.call('addNotice', notice),
  reschedule: async (...args) => current().client.call('reschedule', ...args),
  cancel: async (...args) => current().client.call('cancel', ...args),
  async sweep(now, keep) {
    const { client, bodyStore, daemon } = current()
    let removed = 0
    const steps = async (step: () => Promise<Swept>): Promise<void> => {
      for (let again = true; again; ) {
        const swept = await step()
        removed += swept.removed
        await bodyStore.drop(swept.files)
        again = swept.again
      }
    }
    await steps(() => client.call('sweepStep', now, keep))
    for (const deleted of await client.call('erasing')) {
      removed += await discard(current, deleted, 'the workspace was deleted', now)
      await steps(() => client.call('eraseStep', deleted.id, now))
    }
    for (const id of await client.call('resuming')) removed += await resume(current, id, now)
    if (daemon) removed += await bodyStore.tidy(now)
    while (await client.call('shrinkStep')) {}
    return removed
  },
})

type HookWrites = Pick<Hooks, keyof EndpointWrites | keyof PostWrites>

const hookWrites = (current: () => Verbs): HookWrites => ({
  createEndpoint: async (row, mark) => current().client.call('createEndpoint', row, mark),
  updateEndpoint: async (...args) => current().client.call('updateEndpoint', ...args),
  rotateEndpoint: async (...args) => current().client.call('rotateEndpoint', ...args),
  enableEndpoint: async (...args) => current().client.call('enableEndpoint', ...args),
  disableEndpoint: async (...args) => current().client.call('disableEndpoint', ...args),
  deleteEndpoint: async (...args) => current().client.call('deleteEndpoint', ...args),
  savePosts: async (posts) => current().client.call('savePosts', posts),
  addReplay: async (row) => current().client.call('addReplay', row),
  advanceReplay: async (...args) => current().client.call('advanceReplay', ...args),
  keepPlaces: async (kept) => current().client.call('keepPlaces', kept),
  adjustPosts: async (...args) => current().client.call('adjustPosts', ...args),
})

export const writesOf = (
  current: () => Verbs,
): TenantWrites & IncidentCalls & Identity & MailWrites & OperationWrites & CarryVerbs & HookWrites => ({
  ...tenantWrites(current),
  ...identityVerbs(current),
  ...mailWrites(current),
  ...operationWrites(current),
  ...carryWrites(current),
  ...hookWrites(current),
})
