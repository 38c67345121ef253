/**
 * NAME      entries - the list of who changed what
 * DESCRIPTION
 *   An object or an actor is found by its index; other filters look at the rows
 *   of the account, of which there are as many as people do things in 400 days.
 */
import type { Page, Rows } from '../../../lifecycle/page.js'
import { type Actor, AUDIT_KEPT_MS, type AuditFilter, type AuditRow } from '../../port/identity.js'
import { insertInto, type Places } from '../insert.js'
import { listOfBranches, pageOf } from '../pages/pages.js'
import { type Asking, first, run } from '../query.js'
import { LAST, table } from '../table.js'

interface Stored extends Omit<AuditRow, 'actor' | 'object'> {
  readonly actorKind: Actor['kind']
  readonly actorId: string
  readonly actorName: string | null
  readonly actorAddress: string | null
  readonly objectType: string
  readonly objectId: string | null
}

const AUDIT = table<Stored>('audit', {
  id: 'plain',
  accountId: 'plain',
  at: 'plain',
  actorKind: 'plain',
  actorId: 'plain',
  actorName: 'plain',
  actorAddress: 'plain',
  action: 'plain',
  objectType: 'plain',
  objectId: 'plain',
  workspaceId: 'plain',
  detail: 'json',
})

export const insertEntry = (places: Places) => {
  const insert = insertInto(AUDIT, places)
  return ({ actor, object, ...row }: AuditRow): Asking<number> => {
    const { kind: actorKind, id: actorId, name: actorName, address: actorAddress } = actor
    const [objectType, objectId] = [object.type, object.id]
    return insert({ ...row, actorKind, actorId, actorName, actorAddress, objectType, objectId })
  }
}

const entryOf = ({
  actorKind,
  actorId,
  actorName,
  actorAddress,
  objectType,
  objectId,
  ...row
}: Stored): AuditRow => ({
  ...row,
  actor: { kind: actorKind, id: actorId, name: actorName, address: actorAddress },
  object: { type: objectType, id: objectId },
})

const clausesOf = ({ action, ...filter }: AuditFilter): readonly (readonly [string, unknown])[] =>
  (
    [
      ['actor_id = ?', filter.actorId],
      ['object_id = ?', filter.objectId],
      ['action >= ?', action],
      ['action <= ?', action === null ? null : `${action}${LAST}`],
      ['workspace_id = ?', filter.workspaceId],
      ['at >= ?', filter.since],
      ['at < ?', filter.until],
    ] as const
  ).filter(([, value]) => value !== null)

export const auditReads = {
  audit(accountId: string, filter: AuditFilter, page: Page): Asking<Rows<AuditRow>> {
    const given = clausesOf(filter)
    const where = ['account_id = ?', ...given.map(([text]) => text)].join(' AND ')
    const params = [accountId, ...given.map(([, value]) => value)]
    const own = { from: 'audit WHERE account_id = ?', params: [accountId] }
    const ids = { from: 'audit WHERE true', params: [], own }
    const list = listOfBranches([{ from: 'audit', ord: 'ord', where, params }], ids)
    return pageOf(list, page, function* (ord: number) {
      const row = yield* first(`SELECT ${AUDIT.columns} FROM audit WHERE ord = ?`, ord)
      return row === null ? null : entryOf(AUDIT.decode(row))
    })
  },
}

const STEP = 200

/** What is too old goes, a page at a time; the number of entries. */
export const sweepAudit = (now: number): Asking<number> =>
  run(
    `DELETE FROM audit WHERE ord IN (SELECT ord FROM audit ORDER BY ord LIMIT ${STEP}) AND at < ?`,
    now - AUDIT_KEPT_MS,
  )
