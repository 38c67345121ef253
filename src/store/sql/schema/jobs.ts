/**
 * NAME      jobs - the table of what is done to many mails at once
 */
export const JOBS_STEP = `
CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT,
  action TEXT NOT NULL,
  reason TEXT NOT NULL,
  filter TEXT NOT NULL, -- JSON
  q TEXT,
  matched INTEGER NOT NULL,
  is_capped INTEGER NOT NULL,
  state TEXT NOT NULL,
  place TEXT NOT NULL,
  done INTEGER NOT NULL,
  skipped INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  last_error TEXT,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  finished_at INTEGER,
  ord INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX jobs_account ON jobs (account_id, ord);
CREATE INDEX jobs_running ON jobs (ord) WHERE state = 'running';
`
