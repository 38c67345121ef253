/**
 * NAME      step - the tables of the search index
 * DESCRIPTION
 *   An index of tokens (tokens.ts) whose rows are the places of mails. It keeps no
 *   text and no positions, and what is deleted of it is gone from its pages at once.
 *   `search_state.place` is the last place that is in it: mail of older databases is
 *   added by the same steps as all other. `search_spans` tells where each thousand
 *   mails begin, so that a search can take a bounded part at a time.
 */
export const SEARCH_STEP = `
CREATE VIRTUAL TABLE search USING fts5(
  tokens, content = '', columnsize = 0, detail = none, tokenize = "ascii tokenchars '@.-_+:='"
);
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
CREATE TABLE search_state (place INTEGER NOT NULL);
INSERT INTO search_state VALUES (0);
CREATE TABLE search_spans (first INTEGER PRIMARY KEY, mails INTEGER NOT NULL);
-- few recipients have either, so neither is touched where mail is accepted
CREATE INDEX recipients_held_mail ON recipients (workspace, email_ord) WHERE held IS NOT NULL;
CREATE INDEX recipients_reason ON recipients (workspace, reason, email_ord) WHERE reason IS NOT NULL;
`

/** Where the tokens of a mail have changed: the index is built anew. */
export const SEARCH_AGAIN_STEP = `
INSERT INTO search (search) VALUES ('delete-all');
UPDATE search_state SET place = 0;
DELETE FROM search_spans;
`
