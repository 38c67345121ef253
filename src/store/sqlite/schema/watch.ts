/**
 * NAME      watch - the tables of what is watched
 * DESCRIPTION
 *   `alarm_counts` has what happened to the live mail of a workspace, by five
 *   minutes; rows older than a day go with the next ones. `alarm_mark` is how far
 *   the log is counted. `alarmed` of a workspace has the alarms that stand.
 */
export const WATCH_STEP = `
ALTER TABLE workspaces ADD COLUMN alarms TEXT NOT NULL DEFAULT '{}';
ALTER TABLE workspaces ADD COLUMN on_alarm TEXT NOT NULL DEFAULT 'notify';
ALTER TABLE workspaces ADD COLUMN alarmed TEXT NOT NULL DEFAULT '{}';
CREATE TABLE alarm_counts (
  workspace INTEGER NOT NULL,
  span INTEGER NOT NULL,
  tried INTEGER NOT NULL,
  complaints INTEGER NOT NULL,
  hard_bounces INTEGER NOT NULL,
  deferrals INTEGER NOT NULL,
  PRIMARY KEY (workspace, span)
) WITHOUT ROWID;
CREATE TABLE alarm_mark (mark TEXT NOT NULL);
CREATE TABLE outages (upstream_id TEXT PRIMARY KEY, since INTEGER NOT NULL) WITHOUT ROWID;
`

export const SOFT_BOUNCES_STEP = `
ALTER TABLE workspaces ADD COLUMN suppress_soft TEXT NOT NULL DEFAULT '{}'; -- JSON
`
