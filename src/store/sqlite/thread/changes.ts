/**
 * NAME      changes - a count of the commits that may change what is remembered
 * DESCRIPTION
 *   Keys, credentials, workspaces and pools hardly change, while mail is committed
 *   a hundred times a second. Each commit with any other verb than those of the
 *   mail's own way adds one to a row, in the same transaction and whichever
 *   process commits; read/memory.ts forgets when the row has moved. A verb that
 *   nobody thought of counts, so the worst that a new one can do is cost a read.
 */
import type { Db } from '../connect.js'
import type { Call, Verb } from '../protocol.js'

export const CHANGES_STEP = `
CREATE TABLE changes (n INTEGER NOT NULL) STRICT;
INSERT INTO changes VALUES (0);
`

/** What they write, nobody remembers. */
const OF_MAIL: ReadonlySet<Verb> = new Set<Verb>([
  'accept',
  'claimKey',
  'releaseKey',
  'claim',
  'attempting',
  'settle',
  'release',
  'addUsed',
  'addStatistics',
  'addIndexed',
  'savePosts',
  'keepPlaces',
])

/** Call it inside the transaction. */
export const createCountChanges = (db: Db): ((calls: readonly Call[]) => void) => {
  const add = db.prepare('UPDATE changes SET n = n + 1')
  return (calls) => {
    if (calls.some(([, verb]) => !OF_MAIL.has(verb))) add.run()
  }
}
