/**
 * NAME      audit - what was changed by whom: written, looked for and listed
 *   An object or an actor is found by its index; other filters look at the rows of the account, of which
 *   there are as many as people do things in 400 days.
 *   Both are in one transaction. Calls that share an entry are one order: the first of them writes it, the
 *   others add what they changed to `changed`.
 */

import { newId } from '../../base/id.js'
import type { Page, Rows } from '../../lifecycle/page.js'
import {
  type Actor,
  AUDIT_KEPT_MS,
  type AuditDetail,
  type AuditFilter,
  type AuditRow,
} from '../port/identity.js'
import { json, plain } from '../port/row.js'
import {
  type Acting,
  type AuditDraft,
  countOf,
  type Look,
  type Looked,
  RULES,
  type Rules,
} from '../rules/audit.js'
import { INCIDENTS } from './bounces.js'
import { LOTS } from './carry.js'
import { FACTORS, LINKS, SESSIONS, USERS } from './identity.js'
import { listOfBranches, pageOf } from './pages.js'
import { type Asking, first, run } from './query.js'
import { insertInto, LAST, type Places, type Table, table } from './table.js'
import { CREDENTIALS, DOMAINS, KEYS, POOLS, WORKSPACES } from './tenants.js'
import { WEBHOOKS } from './webhooks.js'

interface Stored extends Omit<AuditRow, 'actor' | 'object'> {
  readonly actorKind: Actor['kind']
  readonly actorId: string
  readonly actorName: string | null
  readonly actorAddress: string | null
  readonly objectType: string
  readonly objectId: string | null
}

const AUDIT = table<Stored>('audit', {
  id: plain(),
  accountId: plain(),
  at: plain(),
  actorKind: plain(),
  actorId: plain(),
  actorName: plain(),
  actorAddress: plain(),
  action: plain(),
  objectType: plain(),
  objectId: plain(),
  workspaceId: plain(),
  detail: json(),
})

const insertEntry = (places: Places) => {
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

type AnyRules = Readonly<Record<string, (...args: unknown[]) => (result: unknown) => AuditDraft | null>>

/** Where the rows stand that rules look at. */
type LookedTables = {
  readonly [Name in keyof Looked]: Pick<Table<Looked[Name]>, 'name' | 'columns' | 'decode'>
}

interface Written {
  readonly places: Places
  readonly now: () => number
}

export const writeEntry = ({ places, now }: Written) => {
  const insert = insertEntry(places)
  return (
    { actor, entry: id }: Acting,
    { workspaceId = null, detail, ...entry }: AuditDraft,
  ): Asking<number> => {
    const at = now()
    const said = { ...(actor.reason && { reason: actor.reason }), ...detail }
    return insert({ ...entry, id: id ?? newId('aud', at), at, actor, workspaceId, detail: said })
  }
}

const createLooking = (tables: LookedTables) => {
  const found = new Map<string, unknown>()
  let wanted: (readonly [table: keyof Looked, id: string])[] = []
  const look = (table: keyof Looked, id: string): unknown => {
    if (!found.has(`${table} ${id}`)) wanted.push([table, id])
    return found.get(`${table} ${id}`) ?? null
  }
  /** Asks again as often as it has looked at a row that was not found before. */
  function* until<T>(decide: () => T): Asking<T> {
    for (;;) {
      wanted = []
      const decided = decide()
      if (wanted.length === 0) return decided
      for (const [table, id] of wanted) {
        const { name, columns, decode } = tables[table]
        const row = yield* first(`SELECT ${columns} FROM ${name} WHERE id = ?`, id)
        found.set(`${table} ${id}`, row === null ? null : decode(row))
      }
    }
  }
  return { look: look as Look, until }
}

function* nothing(): Asking<void> {}

function* addChanged(id: string, changed: number): Asking<void> {
  const row = yield* first('SELECT detail FROM audit WHERE id = ?', id)
  const detail = JSON.parse(String(row?.detail)) as AuditDetail
  const sum = { ...detail, changed: Number(detail.changed ?? 0) + changed }
  yield* run('UPDATE audit SET detail = ? WHERE id = ?', JSON.stringify(sum), id)
}

/** To be asked before the verb; what it answers, after it and with its result. */
export const audited = (tables: LookedTables, written: Written) => {
  const write = writeEntry(written)
  return function* (verb: string, args: readonly unknown[], acting: Acting) {
    const { entry: order } = acting
    if (order !== null && (yield* first('SELECT 1 AS begun FROM audit WHERE id = ?', order)) !== null)
      return (result: unknown) => addChanged(order, countOf(result))
    const rule = (RULES as Rules & AnyRules)[verb]
    if (rule === undefined) return nothing
    const { look, until } = createLooking(tables)
    const tell = yield* until(() => rule(look, ...args))
    return function* (result: unknown): Asking<void> {
      const entry = yield* until(() => tell(result))
      if (entry !== null) yield* write(acting, entry)
    }
  }
}

export const LOOKED: LookedTables = {
  workspaces: WORKSPACES,
  keys: KEYS,
  credentials: CREDENTIALS,
  pools: POOLS,
  domains: DOMAINS,
  webhooks: WEBHOOKS,
  users: USERS,
  factors: FACTORS,
  links: LINKS,
  sessions: SESSIONS,
  incidents: INCIDENTS,
  lots: LOTS,
  mails: {
    name: '(SELECT e.id, e.scheduled_at, e.scheduled, w.id AS workspace_id FROM emails e JOIN workspaces w ON w.n = e.workspace) AS mail',
    columns: 'scheduled_at, scheduled, workspace_id',
    decode: (row) => ({
      scheduledAt: row.scheduled_at as number | null,
      isOver: row.scheduled === 0,
      workspaceId: String(row.workspace_id),
    }),
  },
  pepper: {
    name: "(SELECT 'pepper' AS id, mark, (SELECT id FROM accounts ORDER BY ord LIMIT 1) AS account FROM pepper) AS known",
    columns: 'mark, account',
    decode: (row) => ({ mark: String(row.mark), accountId: row.account as string | null }),
  },
}
