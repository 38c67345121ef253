/**
 * NAME      migrate - bringing a database up to date
 *   Forward only, and from 0.9.0 on: what is older is refused before anything is touched. Steps are made in short
 *   transactions under the lock of the row that says which schema this is, so of several daemons that start at once
 *   one does it; in an empty database all of them are one. An index on what is there already is made in no
 *   transaction, beside those who write, and what was broken off is made anew.
 *   While other daemons serve, only who was asked to migrates (postern migrate), and only if they can serve the
 *   result.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { refuseOlder, StoreBusyError } from '../../port/upkeep.js'
import { after } from '../../sql/pages.js'
import { type Asking, first, run } from '../../sql/query.js'
import type { Connection } from '../connection.js'
import { answer } from '../run.js'
import { DatabaseRefusedError } from '../servers.js'
import { SCHEMA_NUMBER, SCHEMA_TEXT } from './schema.js'
import { type Index, numberOf, OLDEST, type SchemaStep, STEPS } from './steps.js'
import {
  endOlder,
  living,
  readVersion,
  refuseNewer,
  type SchemaVersion,
  VERSION,
  versionThere,
} from './version.js'

interface Migration {
  /** Of this Postern. */
  readonly postern: string
  readonly now: number
  /** Is run in a database that was empty, with what gives places, and all of it is whole or not at all. */
  readonly fill: (next: () => number) => Asking<void>
  /** The daemon that migrates: its own predecessor serves no more. */
  readonly daemon?: string | null
  /** By its operator: beside daemons that serve. */
  readonly isAsked?: boolean
  /** For statements that take long. */
  readonly patient?: () => Promise<Connection>
  /** Tests have some of their own. */
  readonly steps?: readonly SchemaStep[]
}

export interface Migrated {
  readonly from: number
  readonly to: number
}

const MOST_TRIES = 5
/** In between those who waited go on. */
const PAUSE_MS = 500
/** Two of the first made the table of the version at once, or another one is about it. */
const OTHERS_TOO = /^(?:23505|42P07|55P03|40P01)$/
const LOCKED = /^(?:55P03|40P01)$/

/** What the role may not do, and a restart does not change; what others hold for too long. */
const refusalOf = (error: unknown): unknown => {
  const { code, cause } = error as { readonly code?: string; readonly cause?: unknown }
  if (code === '42501')
    return new DatabaseRefusedError(
      `${(cause as Error).message}: make the role of store.url_file the owner of the database`,
    )
  if (LOCKED.test(code ?? ''))
    return new StoreBusyError(
      'the schema of the database was not changed: others held locks for too long; end long transactions there, then try again',
    )
  return error
}

const indexText = ({ index, on, isUnique }: Index, how: '' | 'CONCURRENTLY'): string =>
  `CREATE ${isUnique ? 'UNIQUE ' : ''}INDEX ${how} IF NOT EXISTS ${index} ON ${on}`.replace('  ', ' ')

/** Daemons that could not serve the result, or that would have to be asked. */
function* refuseOthers({ daemon, isAsked, steps = STEPS }: Migration): Asking<void> {
  const others = yield* living(daemon ?? null)
  const compatibleFrom = steps.at(-1)?.compatibleFrom ?? 0
  const left = others.filter(({ schema }) => schema < compatibleFrom)
  const names = (some: typeof others) => [...new Set(some.map(({ name }) => name))].join(', ')
  if (left.length > 0)
    throw new DatabaseRefusedError(
      `the schema of this Postern is nothing for ${names(left)}, which serves this database: upgrade it to the release in between, or stop it`,
    )
  if (others.length > 0 && isAsked !== true)
    throw new DatabaseRefusedError(
      `the database needs a newer schema, and others serve it (${names(others)}): run postern migrate, which they need not stop for`,
    )
}

const setVersion = (version: number, { compatibleFrom }: SchemaStep, postern: string): Asking<number> =>
  run(
    'UPDATE schema_version SET version = ?, compatible_from = ?, made_by = ?',
    ...[version, compatibleFrom, postern],
  )

/** What can not be brought up to date. */
const refuseUnknown = (found: SchemaVersion, steps: readonly SchemaStep[]): void => {
  refuseOlder(found.version, OLDEST)
  refuseNewer(found, numberOf(steps))
}

const stepTo = (version: number, steps: readonly SchemaStep[]): SchemaStep =>
  steps[version - OLDEST - 1] as SchemaStep

/** Steps up to the next index, or all of them in a database that is empty; whether it was. */
function* tables(migration: Migration): Asking<boolean> {
  const { steps = STEPS, postern } = migration
  const found = yield* readVersion('FOR UPDATE')
  refuseUnknown(found, steps)
  const isEmpty = found.version === 0
  if (found.version >= numberOf(steps)) return false
  if (isEmpty) yield { text: SCHEMA_TEXT, values: [] }
  else yield* refuseOthers(migration)
  let version = isEmpty ? SCHEMA_NUMBER : found.version
  for (const step of steps.slice(version - OLDEST)) {
    if ('index' in step && !isEmpty) break
    yield { text: 'index' in step ? indexText(step, '') : step.text, values: [] }
    version += 1
  }
  const last = stepTo(version, steps)
  yield* setVersion(version, last, postern)
  if (!isEmpty) yield* endOlder(last.compatibleFrom)
  return isEmpty
}

const INDEX = `SELECT i.indisvalid AS valid, p.pid IS NOT NULL AS making FROM pg_index i
  LEFT JOIN pg_stat_progress_create_index p ON p.index_relid = i.indexrelid WHERE i.indexrelid = to_regclass(?)`

/** Null for these errors. */
const otherwise =
  (codes: RegExp) =>
  (error: unknown): null => {
    if (codes.test(String((error as { readonly code?: unknown }).code))) return null
    throw error
  }

/** Somebody else may be making it, or may have been broken off. */
const makeIndex = async (connection: Connection, step: Index): Promise<void> => {
  const ask = (text: string) => connection.query({ text, values: [] })
  // it holds nobody up while it waits for those who are in the middle of something
  await ask('SET lock_timeout = 0')
  for (;;) {
    const found = await answer(connection, first(INDEX, step.index))
    if (found?.valid === true) return
    const isLeft = found !== null && found.making !== true
    const text = isLeft ? `DROP INDEX CONCURRENTLY IF EXISTS ${step.index}` : indexText(step, 'CONCURRENTLY')
    // two that wait for each other: the database ends one of them
    const done = found?.making === true ? null : await ask(text).catch(otherwise(OTHERS_TOO))
    if (done === null) await sleep(Math.random() * PAUSE_MS)
  }
}

/** In one transaction, repeated when others were in the way. */
const inTransaction = async (connection: Connection, work: () => Asking<void>): Promise<void> => {
  const ask = (text: string) => connection.query({ text, values: [] })
  for (let tries = 1; ; tries++) {
    try {
      await ask(`BEGIN; SET LOCAL lock_timeout = '2s'; ${VERSION}`)
      await answer(connection, work())
      await ask('COMMIT')
      return
    } catch (error) {
      if (!connection.isLost) await ask('ROLLBACK')
      const { code } = error as { readonly code?: unknown }
      if (tries === MOST_TRIES || !OTHERS_TOO.test(String(code))) throw refusalOf(error)
      await sleep(PAUSE_MS)
    }
  }
}

/** Makes the index that is next, which is then there, whoever did it. */
const index = async (connection: Connection, migration: Migration, version: number): Promise<void> => {
  const { steps = STEPS, patient, postern } = migration
  const step = stepTo(version + 1, steps)
  if (!('index' in step)) return
  await inTransaction(connection, () => refuseOthers(migration))
  const long = patient === undefined ? connection : await patient()
  await makeIndex(long, step).finally(() => (patient === undefined ? undefined : long.close()))
  await inTransaction(connection, function* () {
    if ((yield* readVersion('FOR UPDATE')).version === version) yield* setVersion(version + 1, step, postern)
  })
}

/** Who has nothing to do waits for nobody. */
export const migrate = async (connection: Connection, migration: Migration): Promise<Migrated> => {
  const { steps = STEPS, fill, now } = migration
  let last = 0
  const next = (): number => {
    last = after(last, now)
    return last
  }
  function* whole(): Asking<void> {
    if (!(yield* tables(migration))) return
    yield* fill(next)
    yield* run('UPDATE order_state SET last = ?', last)
  }
  let from: number | null = null
  for (;;) {
    const found = await answer(connection, versionThere())
    const version = found?.version ?? 0
    from ??= version
    if (found !== null) refuseUnknown(found, steps)
    if (version >= numberOf(steps)) return { from, to: version }
    if (version > 0 && 'index' in stepTo(version + 1, steps)) await index(connection, migration, version)
    else await inTransaction(connection, whole)
  }
}
