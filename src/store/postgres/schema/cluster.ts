/**
 * NAME      cluster - the tables by which several daemons are one
 * DESCRIPTION
 *   `writers` has a row for each that can be (256: their number is 8 bits of every place). Its row is a writer's fence
 *   (epoch), its position in the log (frontier) and its sign of life (heartbeat); what it is can be read beside it.
 *   `order_state` is the last place of what is not mail, and the row that verbs which are not about mail lock, so that they
 *   follow one another.
 */
import { tables } from './words.js'

export const WRITERS = 256

export const CLUSTER = tables(`
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE writers (
  n smallint PRIMARY KEY,
  epoch int NOT NULL,
  owner TEXT, -- id of a daemon; NULL: free
  role TEXT, -- main, relay, followers or command
  about TEXT, -- JSON: what it says of itself
  schema int NOT NULL DEFAULT 0, -- the version that it knows
  boot INTEGER, -- by which its leases are known, from when it joined until it goes
  frontier INTEGER NOT NULL,
  heartbeat INTEGER NOT NULL
) WITH (fillfactor = 10);
INSERT INTO writers (n, epoch, frontier, heartbeat) SELECT n, 0, 0, 0 FROM generate_series(0, ${WRITERS - 1}) AS n;

CREATE TABLE work (kind TEXT PRIMARY KEY, boot INTEGER NOT NULL); -- of the writer who does it

CREATE TABLE order_state (last INTEGER NOT NULL, carried INTEGER NOT NULL);
INSERT INTO order_state VALUES (0, 0);
`)
