/**
 * NAME      statistics - the tables of statistics
 * DESCRIPTION
 *   Clustered by time first, so that new rows land at the right edge of their span
 *   and old ones leave at its left. `at` is in minutes since the epoch.
 */
export const STATISTICS_STEP = `
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
ALTER TABLE workspaces ADD COLUMN statistics_tags TEXT NOT NULL DEFAULT '[]'; -- JSON
`
