/**
 * NAME      rest-step - when mail came to rest, and when pools were paused
 * DESCRIPTION
 *   `held_at` is when a recipient was put to rest; once it is free again, when that was.
 *   Of those at rest already the last that is known is when their row was written.
 *   `pauses` has each time in which no upstream of a pool was to get mail.
 */
export const REST_STEP = `
ALTER TABLE recipients ADD COLUMN held_at INTEGER;
UPDATE recipients SET held_at = max(queued_at, updated_at) WHERE held IS NOT NULL;
CREATE TABLE pauses (
  pool INTEGER NOT NULL,
  paused_at INTEGER NOT NULL,
  resumed_at INTEGER
);
CREATE INDEX pauses_pool ON pauses (pool, paused_at);
`
