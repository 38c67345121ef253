/**
 * NAME      lots - the table of what was exported and imported
 * DESCRIPTION
 *   What Postern 0.1 exported had no lot: it becomes one together.
 */
const FIRST = 'lot_00000000000000000000000000'

export const LOTS_STEP = `
CREATE TABLE lots (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id),
  file TEXT NOT NULL,
  state TEXT NOT NULL,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO lots SELECT '${FIRST}', id, 'exported by Postern 0.1', 'exported', created_at FROM accounts
  WHERE EXISTS (SELECT 1 FROM recipients WHERE held = 'exported') ORDER BY id LIMIT 1;
UPDATE recipients SET held = '${FIRST}' WHERE held = 'exported';
`
