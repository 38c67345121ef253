/**
 * NAME      look - rows as they are, for the rules of the audit
 */
import type { Look, Looked } from '../../rules/audit/entry.js'
import { LINKS, SESSIONS, USERS } from '../../sql/identity/tables.js'
import type { Table } from '../../sql/table.js'
import type { Db, Row } from '../connect.js'
import { WEBHOOKS } from '../hooks/tables.js'
import { DOMAINS } from '../schema/domains.js'
import { LOTS } from '../schema/lots.js'
import { CREDENTIALS, KEYS, POOLS, WORKSPACES } from '../schema/tables.js'
import { INCIDENTS } from '../watch/incident-step.js'

type Tables = { readonly [Name in keyof Looked]: Pick<Table<Looked[Name]>, 'name' | 'columns' | 'decode'> }

const TABLES: Tables = {
  workspaces: WORKSPACES,
  keys: KEYS,
  credentials: CREDENTIALS,
  pools: POOLS,
  domains: DOMAINS,
  webhooks: WEBHOOKS,
  users: USERS,
  links: LINKS,
  sessions: SESSIONS,
  incidents: INCIDENTS,
  lots: LOTS,
  mails: {
    name: '(SELECT e.id, e.scheduled_at, e.scheduled, w.id AS workspace_id FROM emails e JOIN workspaces w ON w.n = e.workspace)',
    columns: 'scheduled_at, scheduled, workspace_id',
    decode: (row) => ({
      scheduledAt: row.scheduled_at as number | null,
      isOver: row.scheduled === 0,
      workspaceId: String(row.workspace_id),
    }),
  },
  pepper: {
    name: "(SELECT 'pepper' AS id, mark, (SELECT id FROM accounts ORDER BY rowid LIMIT 1) AS account FROM pepper)",
    columns: 'mark, account',
    decode: (row) => ({ mark: String(row.mark), accountId: row.account as string | null }),
  },
}

export const createLook =
  (db: Db): Look =>
  (table, id) => {
    const { name, columns, decode } = TABLES[table]
    const row = db.prepare<[string], Row>(`SELECT ${columns} FROM ${name} WHERE id = ?`).get(id)
    return row === undefined ? null : decode(row)
  }
