/**
 * NAME      watch - the tables of what is watched
 * DESCRIPTION
 *   `alarmed` of a workspace has the alarms that stand.
 */
import { WATCH } from '../../sql/schema/counts.js'

export const WATCH_STEP = `
ALTER TABLE workspaces ADD COLUMN alarms TEXT NOT NULL DEFAULT '{}';
ALTER TABLE workspaces ADD COLUMN on_alarm TEXT NOT NULL DEFAULT 'notify';
ALTER TABLE workspaces ADD COLUMN alarmed TEXT NOT NULL DEFAULT '{}';${WATCH}`

export const SOFT_BOUNCES_STEP = `
ALTER TABLE workspaces ADD COLUMN suppress_soft TEXT NOT NULL DEFAULT '{}'; -- JSON
`
