/**
 * NAME      domains - the table of sending domains
 */
export const DOMAINS_STEP = `
CREATE TABLE domains (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT REFERENCES workspaces (id),
  name TEXT NOT NULL,
  keys TEXT NOT NULL, -- JSON
  verified_at INTEGER,
  checked_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (account_id, name)
) WITHOUT ROWID;
CREATE INDEX domains_account ON domains (account_id, id);
`
