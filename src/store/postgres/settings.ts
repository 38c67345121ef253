/**
 * NAME      settings - whether the database keeps what it acknowledges
 * DESCRIPTION
 *   Asked on every new connection. With any of these a mail that was acknowledged could be lost, or not be
 *   stored as it came. `synchronous_commit` stays in the session as it was found: whoever turns it off later
 *   has it for sessions that begin then, and these are refused.
 */
import type { Found, Query } from '../sql/query.js'

/**
 * For statements that go by keys. A plan is kept from when a table was small, and must not be to read all of it, nor be
 * compiled; and what a batch brings is no reason to plan a statement anew, at the price of half of it.
 */
export const BY_KEY = ['enable_seqscan = off', 'jit = off', 'plan_cache_mode = force_generic_plan']

const ASK = `SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS full_page_writes,
  set_config('synchronous_commit', current_setting('synchronous_commit'), false) AS synchronous_commit, current_setting('server_encoding') AS encoding,
  current_setting('server_version_num') AS version, current_setting('default_transaction_read_only') AS read_only,
  CASE WHEN pg_is_in_recovery() THEN 1 ELSE 0 END AS standby`

const OLDEST = 140_000

/** Each with its remedy. */
export const settingsFaults = async (connection: {
  query(query: Query): Promise<Found>
}): Promise<readonly string[]> => {
  const found = (await connection.query({ text: ASK, values: [] })).rows[0] ?? {}
  const faults: readonly (readonly [boolean, string])[] = [
    [Number(found.version) < OLDEST, 'PostgreSQL is older than 14: upgrade it'],
    [found.standby === 1, 'the server is a standby and takes no writes: name the primary, too'],
    [
      found.read_only === 'on',
      'it is read-only: set default_transaction_read_only = off for this role, or name the primary, too',
    ],
    [found.encoding !== 'UTF8', `the database is in ${found.encoding}: create it with ENCODING 'UTF8'`],
    [found.fsync !== 'on', 'fsync is off, so a power cut loses mail: set fsync = on'],
    [
      found.full_page_writes !== 'on',
      'full_page_writes is off, so a power cut can tear pages: set full_page_writes = on',
    ],
    [
      ['off', 'local'].includes(String(found.synchronous_commit)),
      `synchronous_commit is ${found.synchronous_commit}, so what is acknowledged can be lost: set it to on`,
    ],
  ]
  return faults.filter(([isFault]) => isFault).map(([, text]) => text)
}
