/**
 * NAME      sandbox - the table of the place in the log up to which the sandbox has reported: one row, or none
 */
export const SANDBOX_STEP = `
CREATE TABLE sandbox_place (mark TEXT NOT NULL);
`
