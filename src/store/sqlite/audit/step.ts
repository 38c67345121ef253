/**
 * NAME      step - the table of who changed what
 */
import type { Actor, AuditRow } from '../../port/tenants/audit.js'
import type { Row } from '../connect.js'

export const AUDIT_STEP = `
CREATE TABLE audit (
  ord INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  account_id TEXT NOT NULL,
  at INTEGER NOT NULL,
  actor_kind TEXT NOT NULL,
  actor_id TEXT NOT NULL,
  actor_name TEXT,
  actor_address TEXT,
  action TEXT NOT NULL,
  object_type TEXT NOT NULL,
  object_id TEXT,
  workspace_id TEXT,
  detail TEXT NOT NULL -- JSON
);
-- each ends with the place
CREATE INDEX audit_account ON audit (account_id);
CREATE INDEX audit_actor ON audit (account_id, actor_id);
CREATE INDEX audit_object ON audit (account_id, object_id);
`

export const decodeEntry = (row: Row): AuditRow => ({
  id: String(row.id),
  accountId: String(row.account_id),
  at: Number(row.at),
  actor: {
    kind: row.actor_kind as Actor['kind'],
    id: String(row.actor_id),
    name: row.actor_name as string | null,
    address: row.actor_address as string | null,
  },
  action: String(row.action),
  object: { type: String(row.object_type), id: row.object_id as string | null },
  workspaceId: row.workspace_id as string | null,
  detail: JSON.parse(String(row.detail)) as AuditRow['detail'],
})
