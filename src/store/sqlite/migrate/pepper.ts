/**
 * NAME      pepper - to which pepper a database belongs
 * DESCRIPTION
 *   One row: a mark that tells one pepper from another and nothing about either.
 */
export const PEPPER_STEP = `
CREATE TABLE pepper (mark TEXT NOT NULL);
`
