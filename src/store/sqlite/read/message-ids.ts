/**
 * NAME      message-ids - mails whose Message-ID a client has chosen
 * DESCRIPTION
 *   One that we gave holds the id of its mail. All others are found by an index, by
 *   whatever door they came: before this step, only those of SMTP were.
 */

/** Word for word in the index and in each query, or SQLite would not use it. */
export const FOREIGN_MESSAGE_ID = 'substr(message_id, 2, 29) <> id'

export const MESSAGE_IDS_STEP = `
DROP INDEX emails_message;
CREATE INDEX emails_message ON emails (message_id) WHERE ${FOREIGN_MESSAGE_ID};
`
