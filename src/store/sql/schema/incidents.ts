/**
 * NAME      incidents - the tables of hard bounces that may be the fault of a server
 * DESCRIPTION
 *   `hard_bounces` has who was refused in the last minutes or hours, by `cause`: account and upstream, with domain and
 *   text, with the domain, or alone. `hard_counts` has how many of an upstream were listed in each hour; its row
 *   without a cause tells since when. `pending` are suppressions that wait for a decision; what asks for suppressions does not see them.
 *   `living` is null until it was asked.
 */
/** Columns of who is suppressed. */
export const SUPPRESSION = `
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT NOT NULL,
  email TEXT NOT NULL,
  origin TEXT NOT NULL,
  source_id TEXT,
  reason TEXT,
  expires_at INTEGER,
  created_at INTEGER NOT NULL,`

/** `now` is a number of seconds in the words of the database. */
export const hardCountsStep = (now: string): string => `
CREATE TABLE hard_counts (
  cause TEXT NOT NULL,
  hour BIGINT NOT NULL,
  n BIGINT NOT NULL,
  PRIMARY KEY (hour, cause)
);
CREATE INDEX hard_bounces_email ON hard_bounces (list, email);
INSERT INTO hard_counts SELECT '', CAST(${now} AS BIGINT) / 3600, 0;
`

export const INCIDENTS_STEP = `
CREATE TABLE hard_bounces (
  cause TEXT NOT NULL,
  email TEXT NOT NULL,
  list TEXT NOT NULL,
  recipient TEXT NOT NULL,
  at INTEGER NOT NULL,
  taken_at INTEGER NOT NULL,
  living INTEGER,
  PRIMARY KEY (cause, email, list)
) WITHOUT ROWID;
CREATE INDEX hard_bounces_at ON hard_bounces (at);
CREATE TABLE incidents (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  workspace_id TEXT NOT NULL,
  upstream_id TEXT,
  domain TEXT NOT NULL,
  said TEXT NOT NULL,
  addresses INTEGER NOT NULL,
  living INTEGER NOT NULL,
  outcomes INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  decided_at INTEGER,
  decision TEXT,
  cause TEXT,
  ord INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX incidents_workspace ON incidents (account_id, workspace_id, ord);
CREATE INDEX incidents_account ON incidents (account_id, ord);
CREATE INDEX incidents_open ON incidents (created_at) WHERE decided_at IS NULL;
CREATE TABLE pending_suppressions (${SUPPRESSION}
  incident_id TEXT NOT NULL,
  ord INTEGER NOT NULL,
  UNIQUE (workspace_id, email)
) WITHOUT ROWID;
CREATE INDEX pending_workspace ON pending_suppressions (workspace_id, ord);
CREATE INDEX pending_incident ON pending_suppressions (incident_id, ord);
`
