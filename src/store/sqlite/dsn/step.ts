/**
 * NAME      step - who submitted a mail, and the DSNs that are pending to its sender
 * DESCRIPTION
 *   `mail_from` is what an SMTP client said at MAIL; '' is the null sender of
 *   our own reports; null is mail of the API. A row of `owed_dsns` lives from the
 *   settlement of which the sender must hear to the acceptance of the DSN, seconds.
 */
export const SENDER_DSNS_STEP = `
ALTER TABLE emails ADD COLUMN mail_from TEXT;
CREATE TABLE owed_dsns (
  email_id TEXT NOT NULL,
  action TEXT NOT NULL,
  recipient_id TEXT NOT NULL,
  event_id TEXT NOT NULL, -- what happened
  at INTEGER NOT NULL,
  PRIMARY KEY (email_id, action, recipient_id)
) WITHOUT ROWID;
`
