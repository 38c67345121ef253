/**
 * NAME      suspend-step - the columns of workspaces that rest, and of those that are gone
 * DESCRIPTION
 *   A suspended workspace is a hold that stands (holds.ts): its mail rests
 *   with the workspace's id in `held`. `resumes` has those whose mail is being set
 *   free again, and for how long it rested. One that was deleted stays suspended until nothing of it
 *   waits and its people are erased; its row stays as the owner of its numbers.
 */
export const SUSPENDED_STEP = `
ALTER TABLE workspaces ADD COLUMN suspended_at INTEGER;
ALTER TABLE workspaces ADD COLUMN suspended_reason TEXT;
ALTER TABLE workspaces ADD COLUMN deleted_at INTEGER;
CREATE INDEX workspaces_suspended ON workspaces (suspended_at) WHERE suspended_at IS NOT NULL;
CREATE TABLE resumes (
  workspace_id TEXT PRIMARY KEY,
  suspended_at INTEGER NOT NULL,
  resumed_at INTEGER NOT NULL
) WITHOUT ROWID;
`
