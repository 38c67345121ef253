/**
 * NAME      short - what of a mail can be made of its other columns
 * DESCRIPTION
 *   The whole texts are columns that SQLite makes when they are read. Rows from before
 *   stay as they are.
 */
import { FOREIGN_MESSAGE_ID } from '../../sql/mails.js'

export const SHORT_STEP = `
ALTER TABLE emails RENAME COLUMN message_id TO message;
ALTER TABLE emails ADD COLUMN message_host TEXT;
ALTER TABLE emails ADD COLUMN message_id TEXT
  AS (CASE WHEN message_host IS NULL THEN message ELSE '<' || id || '@' || message_host || '>' END);
DROP INDEX emails_message;
CREATE INDEX emails_message ON emails (message) WHERE ${FOREIGN_MESSAGE_ID};

ALTER TABLE recipients RENAME COLUMN address TO written;
ALTER TABLE recipients ADD COLUMN address TEXT AS (CASE written WHEN '' THEN address_lc ELSE written END);

CREATE TABLE attempt_details (n INTEGER PRIMARY KEY, detail TEXT NOT NULL UNIQUE); -- JSON, with ms: 0
`

/** A recipient is told its mail by the place alone. */
export const RECIPIENTS_STEP = `
DROP INDEX recipients_email;
ALTER TABLE recipients DROP COLUMN email_id;
CREATE INDEX recipients_email ON recipients (email_ord, first); -- in the order of their first events
`

/** Keys and credentials that ever submitted mail are few beside the mail. 0: the body is at the mail's own place. */
export const SUBMITTERS_STEP = `
CREATE TABLE submitters (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
ALTER TABLE emails ADD COLUMN submitter INTEGER;
ALTER TABLE emails RENAME COLUMN body TO body_apart;
ALTER TABLE emails ADD COLUMN body INTEGER AS (CASE body_apart WHEN 0 THEN ord ELSE body_apart END);
`
