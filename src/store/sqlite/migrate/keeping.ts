/**
 * NAME      keeping - where bodies are, who wrote this database, who runs on it
 * DESCRIPTION
 *   `beside` is 1 when a body is a file beside the database, and `raw` empty.
 *   `made_by` holds the Postern that last brought the schema forward, so that an
 *   older one can say what to install: its name and shape never change again.
 *   `fence` holds the boot of the daemon that writes; another one finds it changed.
 */
export const KEEPING_STEP = `
ALTER TABLE bodies ADD COLUMN beside INTEGER NOT NULL DEFAULT 0;
CREATE INDEX bodies_beside ON bodies (email_id) WHERE beside = 1;
CREATE TABLE made_by (version TEXT NOT NULL);
INSERT INTO made_by VALUES ('');
CREATE TABLE fence (boot INTEGER NOT NULL);
INSERT INTO fence VALUES (0);
`
