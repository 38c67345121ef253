/**
 * NAME      erase - a workspace that was deleted, and what is left of it
 */
import { isOpen } from '../../../src/lifecycle/schedule.js'
import { suppressionList } from '../../../src/lifecycle/suppress.js'
import type { QueueOrder } from '../../../src/store/port/operations.js'
import { isRoutedTo, type Tenants, type WorkspaceRow } from '../../../src/store/port/tenants.js'
import { PERSONAL } from '../../../src/store/rules/watch.js'
import { createSuppressionEvents } from '../../../src/store/sql/suppressions.js'
import type { Plain } from '../plain.js'
import type { QueueParts } from '../queue.js'
import type { State } from '../state.js'
import { dropEndpoints } from './hooks.js'

const NOBODY = { to: [], cc: [], bcc: [], replyTo: [], tags: [], attachments: [] }
const NAMELESS = {
  subject: '',
  from: '',
  messageId: '',
  mailFrom: null,
  envid: null,
  raw: null,
  content: null,
  extras: null,
}

const eraseMail = ({ mails, recipients, events, reports, pending }: State, id: string): void => {
  mails.change(id, { ...NOBODY, ...NAMELESS })
  const isOf = ({ emailId }: { readonly emailId: string | null }): boolean => emailId === id
  reports.drop(isOf)
  pending.drop(isOf)
  for (const one of recipients.where(isOf)) {
    const dsn = one.dsn && { ...one.dsn, orcpt: null }
    recipients.change(one.id, { address: '', dsn, lastResponse: null })
  }
  for (const { id: event } of events.where(isOf))
    events.change(event, { reply: null, mta: null, detail: null })
}

const createEraseLists = ({ suppressions }: State, addNotice: QueueParts['log']['addNotice']) => {
  const tell = createSuppressionEvents(addNotice)
  return (id: string, now: number): void => {
    const [live, test] = [suppressionList(id, 'live'), suppressionList(id, 'test')]
    for (const row of suppressions.where((one) => [live, test].includes(one.list))) {
      suppressions.delete(row.id)
      const isOnAll = suppressions.where((one) => one.list === row.accountId && one.email === row.email)
      if (row.origin !== 'complaint' || row.list !== live || isOnAll.length > 0) continue
      const above = { ...row, list: row.accountId, sourceId: null }
      suppressions.add(row.id, above)
      tell.added(above, now)
    }
  }
}

const createEraseOne = (state: State, addNotice: QueueParts['log']['addNotice']) => {
  const { workspaces, deleted, mails, pools, statistics, idempotency, events, audit, hardBounces } = state
  const eraseLists = createEraseLists(state, addNotice)
  return (row: WorkspaceRow, now: number): void => {
    const { id, poolId } = row
    idempotency.drop((one) => one.workspaceId === id)
    eraseLists(id, now)
    const own = mails.where((mail) => mail.workspaceId === id)
    for (const mail of own) if (!isOpen(mail.counts)) eraseMail(state, mail.id)
    const isPersonal = (dimension: string): boolean => (PERSONAL as readonly string[]).includes(dimension)
    statistics.drop((one) => one.workspaceId === id && isPersonal(one.dimension))
    if (own.some((mail) => isOpen(mail.counts))) return
    events.drop((one) => one.emailId === null && one.workspaceId === id)
    for (const one of audit.where(({ workspaceId }) => workspaceId === id))
      if (JSON.stringify(one.detail).includes('@')) audit.change(one.id, { detail: {} })
    hardBounces.drop(({ list }) => [suppressionList(id, 'live'), suppressionList(id, 'test')].includes(list))
    deleted.change(id, { suspendedAt: null, suspendedReason: null, poolId: '', routes: [] })
    const pool = pools.get(poolId)
    const isUsed = workspaces.where((one) => isRoutedTo(one, poolId)).length > 0
    if (pool?.kind === 'relay' && pool.upstreams.length === 0 && !isUsed) pools.delete(poolId)
  }
}

export const createErase = (
  { state, log }: QueueParts,
  operate: (order: QueueOrder) => number,
): { deleteWorkspace: Plain<Tenants>['deleteWorkspace']; erase(now: number): number } => {
  const { workspaces, deleted } = state
  const eraseOne = createEraseOne(state, log.addNotice)

  const discard = ({ id, accountId }: WorkspaceRow, reason: string, now: number): number => {
    const scope = { accountId, workspaceId: id, poolId: null, domain: null, emailId: null }
    return operate({ action: 'discard', scope, to: null, reason, now })
  }

  return {
    deleteWorkspace(accountId, id, reason, now) {
      const row = workspaces.get(id)
      if (row === null || row.accountId !== accountId) return 'not_found'
      if (row.isDefault) return 'is_default'
      const suspendedAt = row.suspendedAt ?? now
      const after = { suspendedAt, suspendedReason: 'the workspace was deleted', slug: id, name: '' }
      deleted.add(id, { ...row, ...after, defaultFrom: null }, workspaces.ordOf(id))
      workspaces.delete(id)
      const { keys, credentials, holds, domains, jobs, incidents, pendingSuppressions } = state
      const isOf = (one: { readonly workspaceId: string | null }): boolean => one.workspaceId === id
      state.domainReports.drop(({ domainId }) => domains.get(domainId)?.workspaceId === id)
      for (const table of [keys, credentials, holds, domains, jobs, incidents]) table.drop(isOf)
      pendingSuppressions.drop(({ list }) => list === id)
      dropEndpoints(state, isOf)
      discard(row, reason, now)
      return 'done'
    },
    erase(now) {
      const left = deleted.where(({ suspendedAt }) => suspendedAt !== null)
      return left.reduce((sum, row) => {
        const ended = discard(row, 'the workspace was deleted', now)
        eraseOne(row, now)
        return sum + ended
      }, 0)
    },
  }
}
