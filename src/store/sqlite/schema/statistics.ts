/**
 * NAME      statistics - the tables of statistics
 */
import { STATISTICS } from '../../sql/schema/counts.js'

export const STATISTICS_STEP = `${STATISTICS}ALTER TABLE workspaces ADD COLUMN statistics_tags TEXT NOT NULL DEFAULT '[]'; -- JSON
`
