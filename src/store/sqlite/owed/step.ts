/**
 * NAME      step - who submitted a mail, and what reports its sender is owed
 * DESCRIPTION
 *   `mail_from` is what an SMTP client said at MAIL; '' is the null sender of
 *   our own reports; null is mail of the API. A row of `owed_dsns` lives from the
 *   settlement that owes a report to the acceptance that pays it, seconds.
 */
export const OWED_STEP = `
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
