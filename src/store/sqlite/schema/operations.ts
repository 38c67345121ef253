/**
 * NAME      operations - the tables of whoever runs the queue
 * DESCRIPTION
 *   Holds that stand, and on each recipient at rest which of them keeps it and
 *   when it would have been due. Sending domains with their keys, sealed.
 */
export const OPERATIONS = `
CREATE TABLE holds (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT REFERENCES workspaces (id),
  pool_id TEXT REFERENCES pools (id),
  domain TEXT,
  email_id TEXT,
  reason TEXT NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
ALTER TABLE recipients ADD COLUMN held TEXT; -- id of a hold, or 'ambiguous'
ALTER TABLE recipients ADD COLUMN held_due INTEGER;
CREATE INDEX recipients_held ON recipients (held) WHERE held IS NOT NULL;
`

export const HOLDS_STEP = `
ALTER TABLE holds ADD COLUMN owner TEXT NOT NULL DEFAULT 'operator';
CREATE INDEX recipients_rest ON recipients (pool, workspace, held) WHERE held IS NOT NULL;
`
