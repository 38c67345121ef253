/**
 * NAME      in-backup - the files that go with a database into a backup, and back
 *   A ring of return-path keys that the store has not taken over yet (return-path.ts) always goes along: it holds no
 *   secret, and without it the bounces of older mail are strangers. With --with-secrets the pepper and the certificate
 *   that was made here go too: such a copy opens every door, and is all that a new machine needs.
 */
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findPeppers, type PepperPlace, pepperFile } from './pepper.js'

export interface KeptFile {
  readonly name: string
  readonly mode: number
  readonly bytes: Uint8Array
}

const OPEN = ['return-path.json']
const SECRET = ['self-signed.key', 'self-signed.crt']
const PEPPER = 'pepper'

const readFrom = (dataDir: string, name: string): KeptFile[] => {
  const path = join(dataDir, name)
  return existsSync(path) ? [{ name, mode: statSync(path).mode & 0o777, bytes: readFileSync(path) }] : []
}

export const openFiles = ({ data_dir }: PepperPlace): readonly KeptFile[] =>
  OPEN.flatMap((name) => readFrom(data_dir, name))

/** `credentials` as for `findPeppers`. */
export const secretFiles = (place: PepperPlace, credentials: string | undefined): readonly KeptFile[] => {
  const [pepper] = findPeppers(place, credentials)
  return [
    ...SECRET.flatMap((name) => readFrom(place.data_dir, name)),
    ...(pepper === undefined ? [] : [{ name: PEPPER, mode: 0o600, bytes: pepper.pepper }]),
  ]
}

/** Puts each in its place, unless one is there: what belongs to the database replaces it, secrets never do. */
export const putBack = (
  place: PepperPlace,
  files: readonly KeptFile[],
  asideFolder: string | null,
): string[] => {
  const written: string[] = []
  for (const { name, mode, bytes } of files) {
    const path = name === PEPPER ? pepperFile(place) : join(place.data_dir, name)
    const isKnown = name === PEPPER || OPEN.includes(name) || SECRET.includes(name)
    if (!isKnown || (existsSync(path) && !OPEN.includes(name))) continue
    if (existsSync(path) && asideFolder !== null) renameSync(path, join(asideFolder, name))
    writeFileSync(path, bytes, { mode, flush: true })
    written.push(path)
  }
  return written
}
