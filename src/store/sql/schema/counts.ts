/**
 * NAME      counts - the tables of what is counted, and of what is watched
 * DESCRIPTION
 *   `statistics` is clustered by time first, so that new rows land at the right edge of their span
 *   and old ones leave at its left; `at` is in minutes since the epoch.
 *   `alarm_counts` has what happened to the live mail of a workspace, by five
 *   minutes; rows older than a day go with the next ones. `alarm_mark` is how far the log is counted.
 */
export const STATISTICS = `
CREATE TABLE statistics (
  span INTEGER NOT NULL,
  at INTEGER NOT NULL,
  dimension INTEGER NOT NULL,
  workspace INTEGER NOT NULL,
  test INTEGER NOT NULL,
  value TEXT NOT NULL,
  counts TEXT NOT NULL, -- JSON: number of a counter, how often, ...
  PRIMARY KEY (span, at, dimension, workspace, test, value)
) WITHOUT ROWID;
CREATE TABLE statistics_place (mark TEXT);
INSERT INTO statistics_place VALUES (NULL);
`

export const WATCH = `
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
