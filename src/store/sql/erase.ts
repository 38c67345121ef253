/**
 * NAME      erase - everything of one address or one mail is removed
 *     One commit takes away its keys, credentials, holds, domains and webhooks and frees its
 *     slug; from then on it is in no list, and nothing of it is leased, as of one
 *     that is suspended. What waits is ended by steps over the queue (orders.ts),
 *     and then, a page of mails at a time, bodies, subjects and addresses go. Numbers stay
 *     until retention takes the rows: statuses, times, sizes, and the events
 *     without what was said in them. Cut off anywhere, the sweep begins the walk anew: where
 *     it stands is kept by its caller, so that a step which is rolled back is taken again.
 *   NOTES
 *     Mail on the wire ends as it ends, and is erased in a later sweep.
 */
import { EXTRA_COLUMNS } from '../../lifecycle/extras.js'
import { suppressionList } from '../../lifecycle/suppress.js'
import { scopeOf } from './log/events.js'
import { NO_LISTS } from './mails.js'
import type { StandingHolds } from './orders.js'
import { type Asking, all, first, run } from './query.js'
import { eraseCounted, UNWALKED, type Walked } from './statistics.js'
import type { SuppressionEvents } from './suppressions.js'
import { isThere, type Places } from './table.js'
import { SUPPRESSIONS } from './tenants.js'
import { removeEndpoints } from './webhooks.js'

const STEP = 200
/** Each is taken out of the search index, which costs SQLite's writer a third of a millisecond. */
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

export interface Erased {
  readonly removed: number
  /** Mails whose body files no row names any more. */
  readonly files: readonly string[]
  readonly again: boolean
  readonly place: ErasePlace
}

const START: ErasePlace = { test: 0, ord: -1, open: false, counted: null }

export interface EraseParts {
  readonly places: Places
  readonly holds: Pick<StandingHolds, 'look'>
  readonly tell: Pick<SuppressionEvents<Asking<unknown>>, 'added'>
  /** The table of recipients that can be written. */
  readonly recipients: string
  /** Nobody else is at these mails until the step is done. */
  lockMails(places: readonly number[]): Asking<void>
  /** Whether a file is left of it. */
  dropBody(body: number, emailId: string): Asking<boolean>
  /** The mail leaves the search index, before it is erased. */
  unindex(place: number): Asking<void>
}

const OWN = ['keys', 'credentials', 'holds', 'domains', 'jobs', 'incidents', 'pending_suppressions']

const REPORTS = `DELETE FROM domain_reports WHERE domain_id IN
  (SELECT id FROM domains WHERE account_id = ? AND workspace_id = ?)`

const REMOVE = `UPDATE workspaces SET deleted_at = ?, suspended_at = coalesce(suspended_at, ?),
  suspended_reason = 'the workspace was deleted', slug = id, name = '', default_from = NULL WHERE id = ?`

const ANSWERS = `DELETE FROM idempotency WHERE (workspace, test, key) IN
  (SELECT workspace, test, key FROM idempotency WHERE workspace = ? LIMIT ${STEP})`
const TAGS = `DELETE FROM tags WHERE (workspace, name, value, email_ord) IN
  (SELECT workspace, name, value, email_ord FROM tags WHERE workspace = ? LIMIT ${STEP})`
const LISTED = `SELECT ${SUPPRESSIONS.columns} FROM suppressions WHERE workspace_id IN (?, ?) LIMIT ${STEP}`
// who is on that list already stays as he is
const MOVE_UP = `UPDATE suppressions SET workspace_id = account_id, source_id = NULL, ord = ? WHERE id = ?
  AND NOT EXISTS (SELECT 1 FROM suppressions o WHERE o.workspace_id = suppressions.account_id AND o.email = suppressions.email)`

const PAGE = `SELECT ord, id, body, scheduled + queued + deferred AS open FROM emails
  WHERE workspace = ? AND test = ? AND ord > ? ORDER BY ord LIMIT ${MAILS}`
const EMAIL = `UPDATE emails SET subject = '', sender = '', message = '', message_host = NULL, mail_from = NULL,
  envid = NULL, submitter = NULL, ${EXTRA_COLUMNS.map(({ name }) => `${name} = NULL, `).join('')}lists = '${NO_LISTS}' WHERE ord = ?`

const DONE = `UPDATE workspaces SET suspended_at = NULL, suspended_reason = NULL, pool_id = NULL, routes = '[]'
  WHERE id = ?`
// the pool that was made for it; one with upstreams is an operator's work
const DROP_POOL = `UPDATE pools SET deleted_at = ? WHERE id = ? AND kind = 'relay' AND upstreams = '[]'
  AND NOT EXISTS (SELECT 1 FROM workspaces w WHERE w.pool_id = pools.id OR replace(w.routes, pools.id, '') <> w.routes)`

function* numberOf(id: string): Asking<number> {
  const row = yield* first('SELECT n FROM workspaces WHERE id = ?', id)
  if (row === null) throw new Error(`no row ${id} in workspaces`)
  return row.n as number
}

/** In what people did there, and in what was refused in the last hours. */
function* eraseNamed(id: string): Asking<void> {
  yield* run(`UPDATE audit SET detail = '{}' WHERE workspace_id = ? AND detail LIKE '%@%'`, id)
  for (const mode of ['live', 'test'] as const)
    yield* run('DELETE FROM hard_bounces WHERE list = ?', suppressionList(id, mode))
}

/** Whoever complained is on the list of all workspaces of the account from now on. */
function* eraseLists({ places, tell }: EraseParts, id: string, now: number): Asking<number> {
  const live = suppressionList(id, 'live')
  const rows = (yield* all(LISTED, live, suppressionList(id, 'test'))).map(SUPPRESSIONS.decode)
  for (const row of rows) {
    const isKept = row.origin === 'complaint' && row.list === live
    if (isKept && (yield* run(MOVE_UP, places.next(), row.id)) === 1)
      yield* tell.added({ ...row, list: row.accountId, sourceId: null }, now)
    yield* run('DELETE FROM suppressions WHERE id = ? AND workspace_id <> account_id', row.id)
  }
  return rows.length
}

function* eraseMail({ recipients, unindex }: EraseParts, ord: number, emailId: string): Asking<void> {
  yield* unindex(ord)
  yield* run(EMAIL, ord)
  yield* run('UPDATE events SET more = NULL WHERE email = ?', ord)
  yield* run('DELETE FROM reports WHERE email = ?', ord)
  yield* run(
    `UPDATE ${recipients} SET written = '', address_lc = '', orcpt = NULL, last_response = NULL WHERE email_ord = ?`,
    ord,
  )
  yield* run('DELETE FROM owed_dsns WHERE email_id = ?', emailId)
}

/** A page of mails; where the walk goes on. */
function* eraseMails(parts: EraseParts, workspace: number, place: ErasePlace, files: string[]) {
  const page = () => all(PAGE, workspace, place.test, place.ord)
  yield* parts.lockMails((yield* page()).map((row) => row.ord as number))
  const rows = yield* page()
  for (const { ord, id, body, open } of rows) {
    if (open !== 0) continue
    if (yield* parts.dropBody(body as number, id as string)) files.push(id as string)
    yield* eraseMail(parts, ord as number, id as string)
  }
  const open = place.open || rows.some((row) => row.open !== 0)
  const last = rows.at(-1)
  const next: ErasePlace =
    last !== undefined
      ? { ...place, ord: last.ord as number, open }
      : place.test === 0
        ? { ...place, test: 1, ord: -1 }
        : { ...place, counted: UNWALKED }
  return { removed: rows.length, place: next }
}

export const eraseWrites = (parts: EraseParts) => ({
  *deleteWorkspace(accountId: string, id: string, now: number): Asking<'done' | 'is_default' | 'not_found'> {
    const mine = 'SELECT is_default FROM workspaces WHERE account_id = ? AND id = ? AND deleted_at IS NULL'
    const row = yield* first(mine, accountId, id)
    if (row === null) return 'not_found'
    if (row.is_default === 1) return 'is_default'
    yield* run(REMOVE, now, now, id)
    yield* run(REPORTS, accountId, id)
    for (const table of OWN)
      yield* run(`DELETE FROM ${table} WHERE account_id = ? AND workspace_id = ?`, accountId, id)
    yield* removeEndpoints(accountId, 'workspace_id', id, now)
    yield* run('DELETE FROM resumes WHERE workspace_id = ?', id)
    yield* parts.holds.look()
    return 'done'
  },

  /** Those that were deleted and are not erased yet. */
  *erasing(): Asking<readonly { readonly id: string; readonly accountId: string }[]> {
    const text = `SELECT id, account_id AS "accountId" FROM workspaces
      WHERE suspended_at IS NOT NULL AND deleted_at IS NOT NULL`
    return (yield* all(text)) as unknown as readonly { readonly id: string; readonly accountId: string }[]
  },

  *eraseStep(id: string, now: number, from: ErasePlace | null): Asking<Erased> {
    const files: string[] = []
    const place = from ?? START
    const workspace = yield* numberOf(id)
    const small =
      (yield* run(ANSWERS, workspace)) + (yield* run(TAGS, workspace)) + (yield* eraseLists(parts, id, now))
    if (small > 0) return { removed: small, files, again: true, place }
    if (place.counted === null)
      return { ...(yield* eraseMails(parts, workspace, place, files)), files, again: true }
    const counted = yield* eraseCounted(workspace, place.counted)
    if (counted !== null) return { removed: 0, files, again: true, place: { ...place, counted } }
    if (place.open) return { removed: 0, files, again: false, place }
    // another daemon may be as far
    if (!(yield* isThere('SELECT 1 FROM workspaces WHERE id = ? AND suspended_at IS NOT NULL', id)))
      return { removed: 0, files, again: false, place }
    const pool = (yield* first('SELECT pool_id FROM workspaces WHERE id = ?', id))?.pool_id ?? null
    // they name addresses
    const scopes = [scopeOf(workspace, false), scopeOf(workspace, true)]
    yield* run('DELETE FROM events WHERE email IS NULL AND scope IN (?, ?)', ...scopes)
    yield* eraseNamed(id)
    yield* run(DONE, id)
    if (pool !== null) yield* run(DROP_POOL, now, pool)
    yield* parts.holds.look()
    return { removed: 0, files, again: false, place }
  },
})

export type EraseWrites = ReturnType<typeof eraseWrites>
