/**
 * NAME      suppression-events - lists tell what is added to them and what is taken off
 * DESCRIPTION
 *   Whoever changes a list tells it here, in the same commit. Whose list it is
 *   decides who sees the event; one for test mail tells only those who test.
 */
import { timeOrNull } from '../base/clock.js'
import { partsOfEntry, suppressionList } from '../lifecycle/suppress.js'
import type { Notice } from './port/log.js'
import type { SuppressionRow } from './port/tenants.js'

/** Why it is on the list no more; `pending`: an incident has begun, and the address may be good. */
type Removal = 'removed' | 'expired' | 'pending'

const noticeOf = (
  type: 'suppression.added' | 'suppression.removed',
  row: SuppressionRow,
  now: number,
  more: Readonly<Record<string, unknown>>,
): Notice => {
  const [owner = ''] = row.list.split('/')
  const isOfAccount = owner === row.accountId
  const { email, mailingList } = partsOfEntry(row.email)
  return {
    type,
    accountId: row.accountId,
    workspaceId: isOfAccount ? null : owner,
    mode: row.list === suppressionList(owner, 'test') ? 'test' : 'live',
    now,
    data: {
      suppression_id: row.id,
      email,
      ...(mailingList !== null && { list: mailingList }),
      origin: row.origin,
      scope: isOfAccount ? 'account' : 'workspace',
      source_id: row.sourceId,
      // of a person's own words nothing is told
      reason: ['bounce', 'soft_bounce', 'complaint'].includes(row.origin) ? row.reason : null,
      ...more,
    },
  }
}

/** They answer as whatever writes a notice does. */
export interface SuppressionEvents<Told = unknown> {
  added(row: SuppressionRow, now: number): Told
  removed(row: SuppressionRow, why: Removal, now: number): Told
}

const addedNotice = (row: SuppressionRow, now: number): Notice =>
  noticeOf('suppression.added', row, now, { expires_at: timeOrNull(row.expiresAt) })

export const removedNotice = (row: SuppressionRow, why: Removal, now: number): Notice =>
  noticeOf('suppression.removed', row, now, { cause: why })

/** `addNotice` writes in the commit that runs. */
export const createSuppressionEvents = <Told>(
  addNotice: (notice: Notice) => Told,
): SuppressionEvents<Told> => ({
  added: (row, now) => addNotice(addedNotice(row, now)),
  removed: (row, why, now) => addNotice(removedNotice(row, why, now)),
})
