/**
 * NAME      database - is it ours, and whole?
 * DESCRIPTION
 *   Looks without changing: the file is opened for reading only, and nothing is migrated.
 */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { adminOf, placeOf } from '../../../store/open.js'
import type { Examined } from '../../../store/port/upkeep.js'
import { type Check, type Finding, fail, ok, warn } from '../finding.js'

const CLOSED = /^(SQLITE_(CANTOPEN|READONLY|PERM)|EACCES|EPERM)/
const LOG_LARGE = 256 * 1024 ** 2

const checkSchema = ({ version, current, wants }: Examined): Finding | null => {
  if (version > current) {
    const detail = `schema ${version} was made by a newer Postern, this one knows ${current}`
    return fail('database', detail, `install ${wants}`, 78)
  }
  return version < current
    ? warn('database', `schema ${version}, ${current} is current`, 'postern migrate')
    : null
}

const checkWhole = ({ faults: [fault] }: Examined): Finding | null =>
  fault === undefined
    ? null
    : fail('database', `damaged: ${fault}`, 'postern restore FILE, from the last backup', 74)

const checkBodies = (dataDir: string, { missing }: Examined): Finding | null => {
  if (missing.length === 0) return null
  const detail = `${missing[0]}${missing.length > 1 ? `, and ${missing.length - 1} more at least` : ''}`
  return fail('bodies', detail, `put the files back into ${join(dataDir, 'bodies')} from a file backup`, 74)
}

const checkLog = ({ log: { file, bytes } }: Examined): Finding | null =>
  bytes < LOG_LARGE
    ? null
    : warn(
        'write-ahead log',
        `${file} has grown to ${Math.round(bytes / 1024 ** 2)} MiB`,
        'end what keeps a long read open (an old backup?), or restart the daemon',
      )

export const checkDatabase: Check = async ({ config: { data_dir: dataDir } }) => {
  const file = placeOf(dataDir)
  if (!existsSync(file) || statSync(file).size === 0) {
    return [warn('database', `${file} does not exist yet`, 'postern serve makes it on the first start')]
  }
  try {
    const seen = await (await adminOf(file)).examine()
    const found = [checkSchema(seen), checkWhole(seen), checkBodies(dataDir, seen), checkLog(seen)].filter(
      (one) => one !== null,
    )
    return found.length > 0 ? found : [ok('database', `${file} is whole`)]
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    // a sound file that this user may not open is not to be replaced by an old copy
    if (CLOSED.test(`${(error as { code?: unknown }).code}`))
      return [fail('database', `${file}: ${said}`, `chmod -R u+rwX ${dataDir}`, 77)]
    return [fail('database', `${file}: ${said}`, 'postern restore FILE, from the last backup', 74)]
  }
}
