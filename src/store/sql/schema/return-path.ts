/**
 * NAME      return-path - the table of the ring of keys that sign return paths: one row, or none
 */
export const RETURN_PATH_STEP = `
CREATE TABLE return_path (ring TEXT NOT NULL); -- JSON
`
