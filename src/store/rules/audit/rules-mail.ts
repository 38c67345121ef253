/**
 * NAME      rules-mail - what is done to mail that waits, and to suppressions
 */

import { suppressionList } from '../../../lifecycle/suppress.js'
import type { EmailScope } from '../../port/ledger.js'
import type { HoldRow, QueueOrder, QueueScope } from '../../port/operations.js'
import type { AuditDetail } from '../../port/tenants/audit.js'
import type { SuppressionRow } from '../../port/tenants/tenants.js'
import type { Entry, Look, Rules } from './entry.js'

const timeOf = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

const ofMail = (look: Look, { accountId }: EmailScope, id: string, action: string) => {
  const mail = look('mails', id)
  const entry = (detail: AuditDetail = {}): Entry => ({
    accountId,
    action: `email.${action}`,
    object: { type: 'email', id },
    workspaceId: mail?.workspaceId ?? null,
    detail,
  })
  return { mail, entry }
}

const scopeDetail = ({ poolId, domain, emailId }: QueueScope): AuditDetail => ({
  ...(poolId !== null && { pool_id: poolId }),
  ...(domain !== null && { domain }),
  ...(emailId !== null && { email_id: emailId }),
})

const ofHold = (hold: HoldRow): Entry => ({
  accountId: hold.accountId,
  action: 'hold.created',
  object: { type: 'hold', id: hold.id },
  workspaceId: hold.workspaceId,
  detail: { ...scopeDetail(hold), reason: hold.reason, changed: 0 },
})

const DONE = { release: 'released', retry: 'retried', reroute: 'rerouted', purge: 'purged' } as const

const ofOrder = (order: QueueOrder): Entry | null => {
  const { action, scope, to, hold, reason, isTold = false } = order
  if (action === 'discard' || isTold) return null
  const detail = { ...scopeDetail(scope), reason, ...(to !== null && { to }) }
  const { accountId, workspaceId } = scope
  return hold == null
    ? { accountId, action: `queue.${DONE[action]}`, object: { type: 'queue', id: null }, workspaceId, detail }
    : { accountId, action: 'hold.removed', object: { type: 'hold', id: hold }, workspaceId, detail }
}

/** Of a list of a workspace its workspace. */
const workspaceOf = ({ accountId, list }: SuppressionRow): string | null =>
  list === accountId ? null : list.replace(suppressionList('', 'test'), '')

const ofSuppression = (row: SuppressionRow, action: string): Entry => ({
  accountId: row.accountId,
  action: `suppression.${action}`,
  object: { type: 'suppression', id: row.id },
  workspaceId: workspaceOf(row),
  detail: { email: row.email, origin: row.origin },
})

/** Addresses of a file are one order, and counted. */
const ofImport = (row: SuppressionRow, changed = 1): Entry => ({
  accountId: row.accountId,
  action: 'suppression.imported',
  object: { type: 'suppression', id: null },
  workspaceId: workspaceOf(row),
  detail: { changed },
})

export const MAIL_RULES: Rules = {
  addSuppression: (_look, row) => (result) => {
    if (result.id !== row.id) return null
    return row.origin === 'import' ? ofImport(row) : ofSuppression(row, 'created')
  },
  importSuppressions:
    (_look, [first]) =>
    ({ changed }) =>
      first === undefined || changed === 0 ? null : ofImport(first, changed),
  removeSuppression: () => (row) => (row === null ? null : ofSuppression(row, 'removed')),
  decideStep(look, accountId, id, decision) {
    const incident = look('incidents', id)
    return (step) =>
      typeof step === 'string' || incident === null
        ? null
        : {
            accountId,
            action: `suppression.${decision}`,
            object: { type: 'incident', id },
            workspaceId: incident.workspaceId,
            detail: { domain: incident.domain, said: incident.said, changed: step.changed },
          }
  },
  beginHold: (_look, hold) => () => ofHold(hold),
  beginOrder: (_look, order) => () => {
    const entry = ofOrder(order)
    return entry && { ...entry, detail: { ...entry.detail, changed: 0 } }
  },
  cancel(look, scope, id) {
    const { mail, entry } = ofMail(look, scope, id, 'canceled')
    // repeating it is done, and changes nothing
    return (result) => (result === 'done' && mail?.isOver === false ? entry() : null)
  },
  addJob:
    (_look, { accountId, id, action, reason, q, matched, workspaceId }) =>
    () => ({
      accountId,
      action: 'job.created',
      object: { type: 'job', id },
      workspaceId,
      detail: { action, reason, matched, ...(q !== null && { q }) },
    }),
  cancelJob: (_look, accountId, id) => (isDone) =>
    isDone ? { accountId, action: 'job.canceled', object: { type: 'job', id } } : null,
  reschedule(look, scope, id, scheduledAt) {
    const { mail, entry } = ofMail(look, scope, id, 'rescheduled')
    const times = { before: timeOf(mail?.scheduledAt ?? null), after: timeOf(scheduledAt) }
    return (result) => (result === 'done' ? entry({ scheduled_at: times }) : null)
  },
  addLot:
    (_look, { id, accountId, state }) =>
    () => ({
      accountId,
      action: state === 'imported' ? 'lot.imported' : 'lot.exported',
      object: { type: 'lot', id },
    }),
  turnLot(look, id, _from, to) {
    const lot = look('lots', id)
    return (state) =>
      state !== to || to === 'exported' || lot === null || lot.state === to
        ? null
        : {
            accountId: lot.accountId,
            action: `lot.${to}`,
            object: { type: 'lot', id },
            detail: { changed: 0 },
          }
  },
}
