/**
 * NAME      short - what of a mail can be made of its other columns
 * DESCRIPTION
 *   A Message-ID that we gave is the id of its mail and the name of this host; an
 *   address is stored as it was written only where that differs from `address_lc`; a
 *   body has the number of its mail's place. The whole texts are columns that SQLite
 *   makes when they are read. Rows from before stay as they are.
 */

/** Word for word in the index and in each query, or SQLite would not use it. */
export const FOREIGN_MESSAGE_ID = 'message_host IS NULL AND substr(message, 2, 29) <> id'

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

/** In a SELECT of recipients: whose they are. */
export const EMAIL_ID = '(SELECT e.id FROM emails e WHERE e.ord = email_ord) AS email_id'

/** In a condition on recipients: those of one mail. */
export const OF_EMAIL = 'email_ord = (SELECT ord FROM emails WHERE id = ?)'

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

export const shortMessageId = (id: string, messageId: string) => {
  const start = `<${id}@`
  return messageId.startsWith(start) && messageId.endsWith('>')
    ? { message: '', message_host: messageId.slice(start.length, -1) }
    : { message: messageId, message_host: null }
}

export const shortAddress = (address: string) => {
  const address_lc = address.toLowerCase()
  return { written: address === address_lc ? '' : address, address_lc }
}
