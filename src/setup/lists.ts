/**
 * NAME      lists - suppression lists that a setup brings along
 * DESCRIPTION
 *   The file is CSV as `postern suppression import` reads it. A line that is no address is a mistake of the setup.
 */
import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { type FieldError, invalid } from '../base/fault.js'
import { parseTime } from '../base/moments.js'
import { type ListLine, readSuppressionList } from '../record/suppression.js'
import { listOfWorkspace, suppressionOf } from '../tenant/suppression.js'
import { saidOf } from './files.js'
import type { SetupDeps } from './world.js'

const MOST_OCTETS = 256 * 1024 * 1024
const MOST_TOLD = 10
/** So many lines are one commit. */
const CHUNK = 1000

type Owner = { readonly id: string; readonly accountId: string }

const rowOf = (owner: Owner, { email, reason, expires }: ListLine, now: number, field: string) => {
  const expiresAt = expires === '' ? null : parseTime(expires)
  if (expires !== '' && expiresAt === null)
    throw invalid([{ field, kind: 'format', message: `expires_at: ${expires} is no RFC 3339 time` }])
  const wish = { email, reason, expiresAt, origin: 'import' } as const
  return suppressionOf(listOfWorkspace(owner, 'live'), wish, now, field)
}

export const readList = (path: string, now: number) => {
  let text: string
  try {
    if (statSync(path).size > MOST_OCTETS)
      throw new Error('is too large for a setup: postern suppression import')
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw invalid([{ field: 'file', kind: 'format', message: `${path}: ${saidOf(error)}` }])
  }
  const lines = readSuppressionList(text)
  const errors: FieldError[] = []
  for (const line of lines) {
    try {
      rowOf({ id: '', accountId: '' }, line, now, 'file')
    } catch {
      if (errors.length < MOST_TOLD)
        errors.push({
          field: 'file',
          kind: 'format',
          message: `${path}:${line.at}: is no address with reason and time`,
        })
    }
  }
  return { lines, errors, digest: createHash('sha256').update(text).digest('hex').slice(0, 16) }
}

export const importList = async (
  { store, clock }: SetupDeps,
  owner: Owner,
  lines: readonly ListLine[],
): Promise<void> => {
  for (let from = 0; from < lines.length; from += CHUNK) {
    const some = lines.slice(from, from + CHUNK)
    await store.importSuppressions(some.map((line) => rowOf(owner, line, clock.now(), 'file')))
  }
}
