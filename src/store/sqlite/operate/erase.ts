/**
 * NAME      erase - a workspace that was deleted, and what is left of it
 * DESCRIPTION
 *   One commit takes away its keys, credentials, holds, domains and webhooks and frees its
 *   slug; from then on it is in no list, and nothing of it is leased, as of one
 *   that is suspended. What waits is ended by steps over the queue (orders.ts),
 *   and then, a page of mails at a time, bodies, subjects and addresses go. Numbers stay
 *   until retention takes the rows: statuses, times, sizes, and the events
 *   without what was said in them. Cut off anywhere, the sweep begins the walk anew: where
 *   it stands is kept by its caller, so that a step which is rolled back is taken again.
 * NOTES
 *   Mail on the wire ends as it ends, and is erased in a later sweep.
 */
import { suppressionList } from '../../../lifecycle/suppress.js'
import { removeEndpoints } from '../../sql/hooks/endpoints.js'
import { scopeOf } from '../../sql/log/codec.js'
import { NO_LISTS } from '../../sql/mails/lists.js'
import { eraseCounted, UNWALKED, type Walked } from '../../sql/statistics/erase.js'
import { SUPPRESSIONS } from '../../sql/tenants/tables.js'
import type { SuppressionEvents } from '../../suppression-events.js'
import type { Row } from '../connect.js'
import type { Unindex } from '../search/write.js'
import type { WriteContext } from '../write/context.js'
import { DROP_REPORTS } from '../write/reports.js'

const STEP = 200
/** Each is taken out of the search index, which costs the writer a third of a millisecond. */
const MAILS = 50

/** Where a walk stands: over the mails of one workspace, then over what is counted of it. */
export interface ErasePlace {
  readonly test: 0 | 1
  readonly ord: number
  /** Some are on the wire: they are looked for again. */
  readonly open: boolean
  /** Null before the mails are done. */
  readonly counted: Walked | null
}

interface Erased {
  readonly removed: number
  /** Mails whose body files no row names any more. */
  readonly files: readonly string[]
  readonly again: boolean
  readonly place: ErasePlace
}

export interface EraseWrites {
  deleteWorkspace(accountId: string, id: string, now: number): 'done' | 'is_default' | 'not_found'
  /** Those that were deleted and are not erased yet. */
  erasing(): readonly { readonly id: string; readonly accountId: string }[]
  eraseStep(id: string, now: number, place: ErasePlace | null): Erased
}

interface Mail {
  readonly ord: number
  readonly id: string
  readonly body: number
  readonly open: number
}

const START: ErasePlace = { test: 0, ord: -1, open: false, counted: null }

const prepare = ({ db }: WriteContext) => ({
  find: db.prepare<[string, string], { is_default: number }>(
    'SELECT is_default FROM workspaces WHERE account_id = ? AND id = ? AND deleted_at IS NULL',
  ),
  remove: db.prepare(
    `UPDATE workspaces SET deleted_at = @now, suspended_at = coalesce(suspended_at, @now),
       suspended_reason = 'the workspace was deleted', slug = id, name = '', default_from = NULL WHERE id = @id`,
  ),
  removeOf: ['keys', 'credentials', 'holds', 'domains', 'jobs', 'incidents', 'pending_suppressions'].map(
    (table) => db.prepare(`DELETE FROM ${table} WHERE account_id = ? AND workspace_id = ?`),
  ),
  removeResume: db.prepare('DELETE FROM resumes WHERE workspace_id = ?'),
  erasing: db.prepare<[], { id: string; accountId: string }>(
    'SELECT id, account_id AS accountId FROM workspaces WHERE suspended_at IS NOT NULL AND deleted_at IS NOT NULL',
  ),
  answers: db.prepare(
    `DELETE FROM idempotency WHERE n IN (SELECT n FROM idempotency WHERE workspace = ? LIMIT ${STEP})`,
  ),
  tags: db.prepare(
    `DELETE FROM tags WHERE (workspace, name, value, email_ord) IN
       (SELECT workspace, name, value, email_ord FROM tags WHERE workspace = ? LIMIT ${STEP})`,
  ),
  listed: db.prepare<[string, string], Row>(
    `SELECT ${SUPPRESSIONS.columns} FROM suppressions WHERE workspace_id IN (?, ?) LIMIT ${STEP}`,
  ),
  // to the list of all workspaces of the account, in a place of its own; who is on it already stays as he is
  moveUp: db.prepare(
    'UPDATE OR IGNORE suppressions SET workspace_id = account_id, source_id = NULL, ord = ? WHERE id = ?',
  ),
  dropListed: db.prepare('DELETE FROM suppressions WHERE id = ? AND workspace_id <> account_id'),
  mails: db.prepare<[number, number, number], Mail>(
    `SELECT ord, id, body, scheduled + queued + deferred > 0 AS open FROM emails
     WHERE workspace = ? AND test = ? AND ord > ? ORDER BY ord LIMIT ${MAILS}`,
  ),
  body: db
    .prepare<[number, string], number>('DELETE FROM bodies WHERE n = ? AND email_id = ? RETURNING beside')
    .pluck(),
  email: db.prepare(
    `UPDATE emails SET subject = '', sender = '', message = '', message_host = NULL, mail_from = NULL, envid = NULL, submitter = NULL, lists = '${NO_LISTS}' WHERE ord = ?`,
  ),
  recipients: db.prepare(
    "UPDATE recipients SET written = '', address_lc = '', orcpt = NULL, last_response = NULL WHERE email_ord = ?",
  ),
  owed: db.prepare('DELETE FROM owed_dsns WHERE email_id = ?'),
  events: db.prepare('UPDATE events SET more = NULL WHERE email = ?'),
  reports: db.prepare(DROP_REPORTS),
  /** They name addresses. */
  notices: db.prepare('DELETE FROM events WHERE email IS NULL AND scope IN (?, ?)'),
  poolOf: db.prepare<[string], string | null>('SELECT pool_id FROM workspaces WHERE id = ?').pluck(),
  done: db.prepare(
    `UPDATE workspaces SET suspended_at = NULL, suspended_reason = NULL, pool_id = NULL, routes = '[]' WHERE id = ?`,
  ),
  // the pool that was made for it; one with upstreams is an operator's work
  dropPool: db.prepare(
    `UPDATE pools SET deleted_at = ? WHERE id = ? AND kind = 'relay' AND upstreams = '[]'
       AND NOT EXISTS (SELECT 1 FROM workspaces WHERE pool_id = pools.id OR instr(routes, pools.id) > 0)`,
  ),
})

export const createErase = (
  context: WriteContext,
  tell: Pick<SuppressionEvents, 'added'>,
  unindex: Pick<Unindex, 'remove'>,
): EraseWrites => {
  const sql = prepare(context)
  const { names, holds, order } = context

  const eraseLists = (id: string, now: number): number => {
    const live = suppressionList(id, 'live')
    const rows = sql.listed.all(live, suppressionList(id, 'test')).map(SUPPRESSIONS.decode)
    for (const row of rows) {
      const isKept = row.origin === 'complaint' && row.list === live
      if (isKept && sql.moveUp.run(order.next(), row.id).changes === 1)
        tell.added({ ...row, list: row.accountId, sourceId: null }, now)
      sql.dropListed.run(row.id)
    }
    return rows.length
  }

  /** A page of mails; where the walk goes on. */
  const eraseMails = (workspace: number, place: ErasePlace, files: string[]) => {
    const rows = sql.mails.all(workspace, place.test, place.ord)
    for (const { ord, id: emailId, body, open } of rows) {
      if (open !== 0) continue
      if (sql.body.get(body, emailId) === 1) files.push(emailId)
      unindex.remove(ord)
      sql.email.run(ord)
      sql.events.run(ord)
      sql.reports.run(ord)
      sql.recipients.run(ord)
      sql.owed.run(emailId)
    }
    const open = place.open || rows.some((row) => row.open !== 0)
    const last = rows.at(-1)
    const next: ErasePlace =
      last !== undefined
        ? { ...place, ord: last.ord, open }
        : place.test === 0
          ? { ...place, test: 1, ord: -1 }
          : { ...place, counted: UNWALKED }
    return { removed: rows.length, place: next }
  }

  return {
    deleteWorkspace(accountId, id, now) {
      const row = sql.find.get(accountId, id)
      if (row === undefined) return 'not_found'
      if (row.is_default === 1) return 'is_default'
      sql.remove.run({ now, id })
      for (const statement of sql.removeOf) statement.run(accountId, id)
      context.sql.ask(removeEndpoints(accountId, 'workspace_id', id, now))
      sql.removeResume.run(id)
      holds.look()
      return 'done'
    },

    erasing: () => sql.erasing.all(),

    eraseStep(id, now, from) {
      const files: string[] = []
      const place = from ?? START
      const workspace = names.workspace(id)
      const small = sql.answers.run(workspace).changes + sql.tags.run(workspace).changes + eraseLists(id, now)
      if (small > 0) return { removed: small, files, again: true, place }
      if (place.counted === null) return { ...eraseMails(workspace, place, files), files, again: true }
      const counted = context.sql.ask(eraseCounted(workspace, place.counted))
      if (counted !== null) return { removed: 0, files, again: true, place: { ...place, counted } }
      if (place.open) return { removed: 0, files, again: false, place }
      const pool = sql.poolOf.get(id) ?? null
      sql.notices.run(scopeOf(workspace, false), scopeOf(workspace, true))
      sql.done.run(id)
      if (pool !== null) sql.dropPool.run(now, pool)
      holds.look()
      return { removed: 0, files, again: false, place }
    },
  }
}
