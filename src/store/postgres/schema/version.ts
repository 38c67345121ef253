/**
 * NAME      version - which schema a database has, and who may serve it
 *   A row says the version, and from which one on a Postern can serve it: one of the release before can. Who joins looks at
 *   it again as a writer, and waits there for a migration that is under way. So of a migration that leaves somebody behind
 *   and a daemon that joins one sees the other.
 */
import { NewerDatabaseError } from '../../port/upkeep.js'
import { timeOf } from '../../sql/pages.js'
import { type Asking, all, first, type Row, run } from '../../sql/query.js'
import { NOW } from '../cluster.js'
import { SCHEMA } from './steps.js'

export const VERSION = `
CREATE TABLE IF NOT EXISTS schema_version (version int NOT NULL, compatible_from int NOT NULL, made_by text NOT NULL);
INSERT INTO schema_version SELECT 0, 0, '' WHERE NOT EXISTS (SELECT 1 FROM schema_version);`

export interface SchemaVersion {
  readonly version: number
  readonly compatibleFrom: number
  readonly madeBy: string
}

const READ = 'SELECT version, compatible_from, made_by FROM schema_version'

export function* readVersion(lock: '' | 'FOR UPDATE' | 'FOR SHARE' = ''): Asking<SchemaVersion> {
  const found = yield* first(`${READ} ${lock}`)
  return {
    version: Number(found?.version ?? 0),
    compatibleFrom: Number(found?.compatible_from ?? 0),
    madeBy: String(found?.made_by ?? ''),
  }
}

/** Null: nobody has made anything here. */
export function* versionThere(): Asking<SchemaVersion | null> {
  const found = yield* first("SELECT to_regclass('schema_version') IS NOT NULL AS made")
  if (found?.made !== true) return null
  const there = yield* readVersion()
  return there.version === 0 ? null : there
}

/** Which Postern is wanted, in words. */
const wantedFor = ({ madeBy }: SchemaVersion): string =>
  madeBy === '' ? 'a newer Postern' : `Postern ${madeBy} or newer`

export const refuseNewer = (found: SchemaVersion, known: number = SCHEMA): void => {
  if (found.compatibleFrom <= known) return
  throw new NewerDatabaseError(
    `the database has schema version ${found.version}, this Postern knows ${known}: install ${wantedFor(found)}`,
  )
}

/** For whoever wants to serve, once it is a writer. */
export function* refuseUnknown(known: number = SCHEMA): Asking<void> {
  refuseNewer(yield* readVersion('FOR SHARE'), known)
}

/** Who has not moved for so long may be gone; if it is not, its epoch is what keeps it from writing. */
const GONE_MS = 30_000

interface Living {
  readonly schema: number
  /** What it is called, for people. */
  readonly name: string
}

const livingOf = ({ schema, about }: Row): Living => {
  const { host = '', version = '' } = JSON.parse(String(about)) as { host?: string; version?: string }
  return { schema: Number(schema), name: `Postern ${version} on ${host}` }
}

/** The daemons that serve now, but for one. */
export function* living(but: string | null): Asking<readonly Living[]> {
  const rows = yield* all(
    `SELECT schema, about, frontier, ${NOW} AS now FROM writers
     WHERE role = 'main' AND boot IS NOT NULL AND owner <> ? ORDER BY n`,
    but ?? '',
  )
  return rows.filter(({ now, frontier }) => Number(now) - timeOf(Number(frontier)) < GONE_MS).map(livingOf)
}

/** Nothing more is written by those who know less than this: without its boot none goes on under a new epoch (writer.ts). */
export const endOlder = (compatibleFrom: number): Asking<number> =>
  run(
    'UPDATE writers SET epoch = epoch + 1, owner = NULL, boot = NULL WHERE boot IS NOT NULL AND schema < ?',
    compatibleFrom,
  )
