/**
 * NAME      audit - the table of who changed what
 */
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
