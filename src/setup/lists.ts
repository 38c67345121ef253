/**
 * NAME      lists - suppression lists that a setup brings along
 *   CSV with a column of addresses and, where they are known, why, since when, until when and by what: the columns that
 *   `export --setup` and the API write. A line that is no address is a mistake of the setup.
 */
import { createHash } from 'node:crypto'
import { constants, readFileSync, statSync } from 'node:fs'
import { type FieldError, invalid } from '../base/fault.js'
import { parseTime } from '../base/moments.js'
import { type ListLine, readSuppressionList } from '../record/csv.js'
import { SUPPRESSION_ORIGINS } from '../store/port/tenants.js'
import { type ListPlace, suppressionOf } from '../tenant/suppression.js'
import { saidOf } from './files.js'
import type { SetupDeps } from './world.js'

const MOST_OCTETS = 256 * 1024 * 1024
const MOST_TOLD = 10
/** So many lines are one commit. */
const CHUNK = 1000

const timeOf = (text: string, field: string, column: string): number | null => {
  const at = text === '' ? null : parseTime(text)
  if (text !== '' && at === null)
    throw invalid([{ field, kind: 'format', message: `${column}: ${text} is no RFC 3339 time` }])
  return at
}

/** Why, and since when, stay as the file says them. */
const rowOf = (place: ListPlace, line: ListLine, now: number, field: string) => {
  const { email, reason, origin: why, source, list } = line
  const origin = SUPPRESSION_ORIGINS.find((one) => one === why) ?? 'import'
  if (why !== '' && origin !== why)
    throw invalid([
      { field, kind: 'format', message: `origin: must be one of ${SUPPRESSION_ORIGINS.join(', ')}` },
    ])
  const createdAt = Math.min(timeOf(line.created, field, 'created_at') ?? now, now)
  const expiresAt = timeOf(line.expires, field, 'expires_at')
  const mailingList = list === '' ? null : list
  const wish = {
    email,
    mailingList,
    reason,
    expiresAt,
    origin,
    createdAt,
    sourceId: source === '' ? null : source,
  }
  return suppressionOf(place, wish, now, field)
}

const textOf = (path: string, field: string): string => {
  try {
    const { size, ...seen } = statSync(path)
    if (size > MOST_OCTETS) throw new Error('is too large for a setup: postern import')
    if ((seen.mode & constants.S_IFMT) !== constants.S_IFREG) throw new Error('is no file')
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path))
  } catch (error) {
    throw invalid([{ field, kind: 'format', message: `${path}: ${saidOf(error)}` }])
  }
}

/** Of a file, or of a text at hand, which is called `path` then; `isEvery`: for the list of every workspace, which has no mailing lists. */
export const readList = (
  path: string,
  given: string | null,
  now: number,
  { field, isEvery }: { readonly field: string; readonly isEvery: boolean },
) => {
  const text = given ?? textOf(path, field)
  const lines = readSuppressionList(text)
  const errors: FieldError[] = []
  for (const line of lines) {
    try {
      rowOf({ id: isEvery ? '' : 'ws', accountId: '' }, line, now, field)
    } catch {
      if (errors.length < MOST_TOLD)
        errors.push({
          field,
          kind: 'format',
          message: `${path}:${line.at}: is no address with reason, origin and times`,
        })
    }
  }
  return { lines, errors, digest: createHash('sha256').update(text).digest('hex').slice(0, 16) }
}

export const importList = async (
  { store, clock }: SetupDeps,
  place: ListPlace,
  lines: readonly ListLine[],
): Promise<void> => {
  for (let from = 0; from < lines.length; from += CHUNK) {
    const some = lines.slice(from, from + CHUNK)
    await store.importSuppressions(some.map((line) => rowOf(place, line, clock.now(), 'file')))
  }
}
