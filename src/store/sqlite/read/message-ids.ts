/**
 * NAME      message-ids - mails whose Message-ID a client has chosen
 * DESCRIPTION
 *   One that we gave holds the id of its mail. All others are found by an index, by
 *   whatever door they came: before this step, only those of SMTP were.
 */

export const MESSAGE_IDS_STEP = `
DROP INDEX emails_message;
CREATE INDEX emails_message ON emails (message_id) WHERE substr(message_id, 2, 29) <> id;
`
