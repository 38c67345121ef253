/**
 * NAME      subjects - the tables of what is told of mail: webhooks, jobs, statistics, alarms, incidents
 */
import { HOOKS_STEP } from '../../sql/schema/hooks.js'
import { INCIDENTS_STEP } from '../../sql/schema/incidents.js'
import { JOBS_STEP } from '../../sql/schema/jobs.js'
import { tables } from './words.js'

export const SUBJECTS = tables(`
${JOBS_STEP}${HOOKS_STEP}${INCIDENTS_STEP}
CREATE TABLE statistics (
  span INTEGER NOT NULL,
  at INTEGER NOT NULL,
  dimension INTEGER NOT NULL,
  workspace INTEGER NOT NULL,
  test TRUTH NOT NULL,
  value TEXT NOT NULL,
  counts TEXT NOT NULL, -- JSON: number of a counter, how often, ...
  PRIMARY KEY (span, at, dimension, workspace, test, value)
);
CREATE TABLE statistics_place (mark TEXT);
INSERT INTO statistics_place VALUES (NULL);

CREATE TABLE outages (upstream_id TEXT PRIMARY KEY, since INTEGER NOT NULL);
CREATE TABLE alarm_counts (
  workspace INTEGER NOT NULL,
  span INTEGER NOT NULL,
  tried INTEGER NOT NULL,
  complaints INTEGER NOT NULL,
  hard_bounces INTEGER NOT NULL,
  deferrals INTEGER NOT NULL,
  PRIMARY KEY (workspace, span)
);
CREATE TABLE alarm_mark (mark TEXT NOT NULL);
`)
