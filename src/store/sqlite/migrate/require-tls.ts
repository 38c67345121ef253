/**
 * NAME      require-tls - mail that may only travel under verified TLS
 * DESCRIPTION
 *   1 when the submitting client said REQUIRETLS (RFC 8689).
 */
export const REQUIRE_TLS_STEP = `
ALTER TABLE emails ADD COLUMN require_tls INTEGER NOT NULL DEFAULT 0;
`
