/**
 * NAME      lists - suppressions of a workspace, of its tests, of a whole account
 * DESCRIPTION
 *   `workspace_id` names a list since then (suppressionList in port/tenants.ts),
 *   not always a workspace, so it refers to no table any more.
 */
import { SUPPRESSION } from '../../sql/bounces.js'

export const LISTS = `
CREATE TABLE suppressions_of_lists (${SUPPRESSION}
  UNIQUE (workspace_id, email)
) WITHOUT ROWID;
INSERT INTO suppressions_of_lists (id, account_id, workspace_id, email, origin, source_id, reason, expires_at, created_at)
  SELECT id, account_id, workspace_id, email, origin, source_id, reason, expires_at, created_at FROM suppressions;
DROP TABLE suppressions;
ALTER TABLE suppressions_of_lists RENAME TO suppressions;
CREATE INDEX suppressions_workspace ON suppressions (workspace_id, id);
`
