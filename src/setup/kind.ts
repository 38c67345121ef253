/**
 * NAME      kind - what a kind of a setup is, and what several kinds are read with
 *   A kind describes a row in the words of the files, and says what a row would be described as once a file's words
 *   are applied: where the two differ, something is to be done. What a file leaves out stays as it is.
 *   Secrets are compared, never described: `the same` or `another`, or a keyed hash.
 */
import { resolve } from 'node:path'
import { Fault, type FieldError, invalid } from '../base/fault.js'
import type { ManagedKind, ManagedRow } from '../store/port/tenants.js'
import { SECTIONS } from './fields.js'
import { type Declared, refText } from './files.js'
import { type FileRef, outPlace, secretAt, secretIn, writeSecret } from './secrets.js'
import { type SetupDeps, type World, workspaceNamed } from './world.js'

/** A row in the words of the files, secrets as marks. */
export type Described = Readonly<Record<string, unknown>>

export interface Context {
  /** Its store knows the pools of the files, too. */
  readonly deps: SetupDeps
  readonly world: World
  /** Slugs of the workspaces that the files describe. */
  readonly planned: ReadonlySet<string>
}

/** What a file wants of a thing, beside the row that is there. */
export interface Wanted {
  /** Only of what the file says. */
  readonly fields: Described
  readonly errors: readonly FieldError[]
  /** Texts by which two things that are to be made would be one and the same, whatever the files call them. */
  readonly alike?: readonly string[]
  /** Resolves with the id of the object. */
  make(deps: SetupDeps): Promise<string>
  change(deps: SetupDeps): Promise<unknown>
}

export interface OwnedRow {
  readonly id: string
  readonly createdAt: number
}

export interface Kind<Row extends OwnedRow> {
  rows(world: World): readonly Row[]
  load(deps: SetupDeps, accountId: string, id: string): Promise<Row | null>
  /** A row that nobody's setup made and that the file would make again. */
  matches(context: Context, one: Declared, row: Row): boolean
  /** It comes with an account, and nobody changes it. */
  isBuiltIn?(row: Row): boolean
  /** As the files name it. */
  keyOf(world: World, row: Row): { readonly workspace: string; readonly name: string }
  describe(context: Context, row: Row, managed: ManagedRow | null): Described
  want(context: Context, one: Declared, row: Row | null, managed: ManagedRow | null): Promise<Wanted>
  remove?(deps: SetupDeps, accountId: string, row: Row): Promise<unknown>
}

export const SAME = 'the same'
export const ANOTHER = 'another'

export const errorsOf = (error: unknown): readonly FieldError[] => {
  if (error instanceof Fault && error.options.errors !== undefined) return error.options.errors
  if (error instanceof Fault) return [{ field: '', kind: 'unknown', message: error.message }]
  throw error
}

/** The value, or what is wrong with it. */
export const tried = async <T>(errors: FieldError[], work: () => T | Promise<T>): Promise<T | undefined> => {
  try {
    return await work()
  } catch (error) {
    errors.push(...errorsOf(error))
    return undefined
  }
}

/** Of a record what a file says in the same words. */
export const saidOf = (kind: ManagedKind, record: object): Described =>
  Object.fromEntries(
    Object.entries(record).filter(([name]) => SECTIONS[kind].fields[name]?.isOfRecord === true),
  )

export const sorted = (list: readonly string[]): readonly string[] => [...list].sort()

/** The row of the workspace that a thing is in, and what is wrong where the file names none. */
export const ownerOf = (world: World, slug: string, errors: FieldError[], planned: ReadonlySet<string>) => {
  const row = slug === '' ? null : workspaceNamed(world, slug)
  if (slug !== '' && row === null && !planned.has(slug))
    errors.push({
      field: '',
      kind: 'unknown',
      message: `there is no workspace ${slug}, here or in the files`,
    })
  return row
}

/** The secret that a file names, or that is in the one that `out` names; null where one is to be made. */
export const givenSecret = (deps: SetupDeps, { given, folder, isInline }: Declared): string | null => {
  const { secret_file: from, out } = given as { readonly secret_file?: FileRef; readonly out?: string }
  if (isInline === true && from === undefined) return null
  if ((from === undefined) === (out === undefined))
    throw invalid([
      { field: 'secret_file', kind: 'missing', message: 'one of secret_file and out is needed' },
    ])
  if (from !== undefined) return secretIn(folder, from, 'secret_file')
  return secretAt(outPlace(resolve(folder, out ?? ''), deps.dataDir, 'out'), 'out')
}

/** Of a new secret: two things in one file would have the same. */
export const outOf = (deps: SetupDeps, { given, folder }: Declared): readonly string[] =>
  ['out', 'ses_out'].flatMap((field) => {
    const path = given[field]
    if (typeof path !== 'string') return []
    try {
      return [`file ${outPlace(resolve(folder, path), deps.dataDir, field)}`]
    } catch {
      // told as a mistake already
      return []
    }
  })

/** The same once more, and a new one is written to its file first. */
export const secretFor = (deps: SetupDeps, one: Declared, make: () => string): string => {
  const known = givenSecret(deps, one)
  if (known !== null) return known
  const secret = make()
  if (one.isInline === true) deps.told?.(refText(one), secret)
  else writeSecret(outPlace(resolve(one.folder, String(one.given.out)), deps.dataDir, 'out'), secret)
  return secret
}

/** Of a thing whose secret is in `secret_file`; where `out` names a file, it was made with what was written there. */
export const secretField = async (
  one: Declared,
  secret: string | null,
  isSame: (secret: string) => boolean | Promise<boolean>,
): Promise<Described> =>
  one.given.secret_file === undefined || secret === null
    ? {}
    : { secret_file: (await isSame(secret)) ? SAME : ANOTHER }

export const plainOf = ({ given }: Declared): Described => {
  const { secret_file: _, out: __, ses_out: ___, ...rest } = given
  return rest
}
