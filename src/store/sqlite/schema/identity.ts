/**
 * NAME      identity - the tables of people, links and sessions
 * DESCRIPTION
 *   Whoever was in `users` before roles were acts as before: as an owner.
 */
import { REST_OF_IDENTITY, SESSIONS_SCHEMA, USERS_SCHEMA } from '../../sql/identity.js'

const HOUR = 3_600_000

export const IDENTITY_STEP = `
CREATE TABLE sessions_of_people ${SESSIONS_SCHEMA};
INSERT INTO sessions_of_people (id, account_id, user_id, role, provider, lookup, hash, created_at, last_seen_at,
    expires_at, idle_ms, oidc, ord)
  SELECT id, account_id, user_id, 'owner', 'cli', lookup, hash, created_at, created_at, expires_at,
    max(expires_at - created_at, ${12 * HOUR}), 'null', ord FROM sessions;
DROP TABLE sessions;
ALTER TABLE sessions_of_people RENAME TO sessions;
CREATE INDEX sessions_account ON sessions (account_id, ord);
CREATE INDEX sessions_user ON sessions (user_id, ord) WHERE user_id IS NOT NULL;

CREATE TABLE people ${USERS_SCHEMA};
INSERT INTO people (id, account_id, email, name, role, hash, views, created_at, ord)
  SELECT id, account_id, email, name, 'owner', hash, '[]', created_at, ord FROM users;
DROP TABLE users;
ALTER TABLE people RENAME TO users;
CREATE INDEX users_account ON users (account_id, ord);

${REST_OF_IDENTITY}`
