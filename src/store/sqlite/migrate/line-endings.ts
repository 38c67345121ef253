/**
 * NAME      line-endings - bare CR and LF are mended where nobody chose otherwise
 * DESCRIPTION
 *   Every workspace was made with `strict`, and old clients lost mail by it. Mending
 *   is safe: only CRLF.CRLF ends a message, and what leaves has no bare CR or LF.
 *   Whoever once came back to `strict` chose it: the audit says so, and it stays.
 */
export const LINE_ENDINGS_STEP = `
UPDATE workspaces SET line_endings = 'normalize' WHERE line_endings = 'strict' AND NOT EXISTS (
  SELECT 1 FROM audit a WHERE a.account_id = workspaces.account_id AND a.object_id = workspaces.id
    AND a.detail ->> '$.line_endings.after' = 'strict');
`
