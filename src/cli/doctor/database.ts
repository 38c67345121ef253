/**
 * NAME      database - is it ours, and whole?
 * DESCRIPTION
 *   Looks without changing: the file is opened for reading only, and nothing is migrated.
 */
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { integrityFaults } from '../../store/sqlite/backup.js'
import { createBodyStore } from '../../store/sqlite/body/body-store.js'
import { type Db, openReader } from '../../store/sqlite/connect.js'
import { createStatements } from '../../store/sqlite/read/statements.js'
import { wantedBy } from '../../store/sqlite/schema/migrate.js'
import { STEPS } from '../../store/sqlite/schema/steps.js'
import { type Check, type Finding, fail, ok, warn } from './finding.js'

const CLOSED = /^(SQLITE_(CANTOPEN|READONLY|PERM)|EACCES|EPERM)/
const WAL_LARGE = 256 * 1024 ** 2

const checkSchema = (db: Db): Finding | null => {
  const version = Number(db.pragma('user_version', { simple: true }))
  const known = STEPS.length
  if (version > known) {
    const detail = `schema ${version} was made by a newer Postern, this one knows ${known}`
    return fail('database', detail, `install ${wantedBy(db)}`, 78)
  }
  return version < known
    ? warn('database', `schema ${version}, ${known} is current`, 'postern migrate')
    : null
}

const checkWhole = (db: Db): Finding | null => {
  const [fault] = integrityFaults(db)
  return fault === undefined
    ? null
    : fail('database', `damaged: ${fault}`, 'postern restore FILE, from the last backup', 74)
}

const checkBodies = async (dataDir: string, db: Db): Promise<Finding | null> => {
  if (Number(db.pragma('user_version', { simple: true })) !== STEPS.length) return null
  const missing = await createBodyStore(dataDir, createStatements(db), () => {}).missing()
  if (missing.length === 0) return null
  const detail = `${missing[0]}${missing.length > 1 ? `, and ${missing.length - 1} more at least` : ''}`
  return fail('bodies', detail, `put the files back into ${join(dataDir, 'bodies')} from a file backup`, 74)
}

const checkWal = (file: string): Finding | null => {
  const wal = `${file}-wal`
  const size = existsSync(wal) ? statSync(wal).size : 0
  if (size < WAL_LARGE) return null
  const detail = `${wal} has grown to ${Math.round(size / 1024 ** 2)} MiB`
  return warn(
    'write-ahead log',
    detail,
    'end what keeps a long read open (an old backup?), or restart the daemon',
  )
}

export const checkDatabase: Check = async ({ config: { data_dir: dataDir } }) => {
  const file = join(dataDir, 'postern.db')
  if (!existsSync(file) || statSync(file).size === 0) {
    return [warn('database', `${file} does not exist yet`, 'postern serve makes it on the first start')]
  }
  let db: Db | null = null
  try {
    db = openReader(file)
    const found = [checkSchema(db), checkWhole(db), await checkBodies(dataDir, db), checkWal(file)].filter(
      (one) => one !== null,
    )
    return found.length > 0 ? found : [ok('database', `${file} is whole`)]
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    // a sound file that this user may not open is not to be replaced by an old copy
    if (CLOSED.test(`${(error as { code?: unknown }).code}`))
      return [fail('database', `${file}: ${said}`, `chmod -R u+rwX ${dataDir}`, 77)]
    return [fail('database', `${file}: ${said}`, 'postern restore FILE, from the last backup', 74)]
  } finally {
    db?.close()
  }
}
