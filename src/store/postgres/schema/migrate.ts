/**
 * NAME      migrate - bringing a database up to date
 * DESCRIPTION
 *   Forward only, in one transaction, under the lock of the row that says which schema this is: of several daemons
 *   that start at once one does it. The first step is all tables as they are; what changes later are further steps.
 */
import { NewerDatabaseError } from '../../port/upkeep.js'
import { after } from '../../sql/order/ord.js'
import { type Asking, first, run } from '../../sql/query.js'
import type { Connection } from '../connect/connection.js'
import { DatabaseRefusedError } from '../connect/servers.js'
import { answer } from '../run.js'
import { CLUSTER } from './cluster.js'
import { MAIL } from './mail.js'
import { SEARCH } from './search.js'
import { SUBJECTS } from './subjects.js'
import { TENANTS } from './tenants.js'

/** Position i holds the step to version i + 1. */
const STEPS: readonly string[] = [`${CLUSTER}${TENANTS}${MAIL}${SEARCH}${SUBJECTS}`]

/** The version that they make. */
export const SCHEMA = STEPS.length

const VERSION = `
CREATE TABLE IF NOT EXISTS schema_version (version int NOT NULL, made_by text NOT NULL);
INSERT INTO schema_version SELECT 0, '' WHERE NOT EXISTS (SELECT 1 FROM schema_version);`

const MOST_TRIES = 5
/** Two of the first made the table of the version at once, or another one is about it. */
const OTHERS_TOO = /^(?:23505|42P07|55P03)$/

/** What the role may not do, and a restart does not change. */
const refusalOf = (error: unknown): unknown => {
  const { code, message } = error as { readonly code?: string; readonly message: string }
  if (code === '42501')
    return new DatabaseRefusedError(`${message}: make the role of store.url_file the owner of the database`)
  if (code === '25006')
    return new DatabaseRefusedError(`${message}: set default_transaction_read_only = off for this role`)
  return error
}

function* steps(postern: string): Asking<boolean> {
  const found = yield* first('SELECT version, made_by FROM schema_version FOR UPDATE')
  const version = Number(found?.version ?? 0)
  if (version > STEPS.length) {
    const wanted = found?.made_by ? `Postern ${found.made_by} or newer` : 'a newer Postern'
    throw new NewerDatabaseError(
      `the database has schema version ${version}, this Postern knows ${STEPS.length}: install ${wanted}`,
    )
  }
  for (const step of STEPS.slice(version)) yield { text: step, values: [] }
  if (version < STEPS.length)
    yield* run('UPDATE schema_version SET version = ?, made_by = ?', STEPS.length, postern)
  return version === 0
}

/** `fill` is run in a database that was empty, with what gives places, and all of it is whole or not at all. */
export const migrate = async (
  connection: Connection,
  postern: string,
  now: number,
  fill: (next: () => number) => Asking<void>,
): Promise<void> => {
  const ask = (text: string) => connection.query({ text, values: [] })
  let last = 0
  const next = (): number => {
    last = after(last, now)
    return last
  }
  function* whole(): Asking<void> {
    if (!(yield* steps(postern))) return
    yield* fill(next)
    yield* run('UPDATE order_state SET last = ?', last)
  }
  for (let tries = 1; ; tries++) {
    try {
      await ask(`BEGIN; SET LOCAL lock_timeout = '2s'; ${VERSION}`)
      await answer(connection, whole())
      await ask('COMMIT')
      return
    } catch (error) {
      if (!connection.isLost) await ask('ROLLBACK')
      if (tries === MOST_TRIES || !OTHERS_TOO.test(String((error as { code?: unknown }).code)))
        throw refusalOf(error)
    }
  }
}
