/**
 * NAME      suspend-step - workspaces that rest, those that are gone, and orders under way
 * DESCRIPTION
 *   A suspended workspace is a hold that stands (holds.ts): its mail rests
 *   with the workspace's id in `held`. `resumes` has those whose mail is being set
 *   free again, and for how long it rested. One that was deleted stays suspended until nothing of it
 *   waits and its people are erased; its row stays as the owner of its numbers.
 *   `queue_orders` has the orders that are not done yet: what is in it when nobody works on it was cut
 *   off. What is stored above `given` came after the order.
 */
export const QUEUE_ORDERS_STEP = `
CREATE TABLE queue_orders (
  n INTEGER PRIMARY KEY,
  given INTEGER NOT NULL,
  workspace_id TEXT,
  task TEXT NOT NULL -- JSON: an order, or a hold
);
`

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
