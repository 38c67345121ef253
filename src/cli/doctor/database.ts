/**
 * NAME      database - a file or a server: is it ours, whole, and does it keep mail?
 *   Looks without changing: a file is opened for reading only, and nothing is migrated. Whether the settings of a server
 *   keep what is acknowledged is asked of every connection: the first fault is what refuses us here.
 */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from '../../config/config.js'
import { ALIKE, settingsDigest } from '../../daemon/roles.js'
import { adminOf, examineServerOf, placeOf } from '../../store/open.js'
import { type Examined, OPEN_ONCE } from '../../store/port/upkeep.js'
import { spanText } from '../table.js'
import { type Check, type Finding, fail, ok, warn } from './finding.js'

const CLOSED = /^(SQLITE_(CANTOPEN|READONLY|PERM)|EACCES|EPERM)/
const LOG_LARGE = 256 * 1024 ** 2

const tooOld = (version: number, opensFrom: number): Finding =>
  fail(
    'database',
    `schema ${version} was made before 0.9.0, this Postern opens ${opensFrom} and newer`,
    OPEN_ONCE,
    78,
  )

const checkSchema = ({ version, opensFrom, current, wants }: Examined): Finding | null => {
  if (version !== 0 && version < opensFrom) return tooOld(version, opensFrom)
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

/** As a kernel makes it that finds its disk damaged. */
const isReadOnly = (folder: string): boolean => {
  try {
    accessSync(folder, constants.W_OK)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS'
  }
}

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
    if (isReadOnly(dataDir))
      return [fail('database', `${file}: the file system is read-only`, 'mount it for writing', 73)]
    // a sound file that this user may not open is not to be replaced by an old copy
    if (CLOSED.test(`${(error as { code?: unknown }).code}`))
      return [fail('database', `${file}: ${said}`, `chmod -R u+rwX ${dataDir}`, 77)]
    return [fail('database', `${file}: ${said}`, 'postern restore FILE, from the last backup', 74)]
  }
}

type ServerExamined = Awaited<ReturnType<typeof examineServerOf>>

const SNAPSHOT_MS = 300_000
/** A follower that is so many transactions behind keeps as many dead rows, or more. */
const FOLLOWER_BEHIND = 100_000
const CLOCK_MS = 5_000
/** Fewer dead rows than this cost nothing to step over. */
const DEAD_ROWS = 10_000

const schemaOf = (seen: ServerExamined): Finding | null => {
  const { version, opensFrom, current, compatibleFrom, madeBy, mayCreate, role } = seen
  if (version !== 0 && version < opensFrom) return tooOld(version, opensFrom)
  if (version > current) {
    const wanted = madeBy === '' ? 'a newer Postern' : `Postern ${madeBy} or newer`
    const detail = `schema ${version} was made by a newer Postern, this one knows ${current}`
    return compatibleFrom > current
      ? fail('database', detail, `install ${wanted}`, 78)
      : warn('database', `${detail} and can serve it`, `install ${wanted}`)
  }
  if (version < current && !mayCreate)
    return fail(
      'database',
      `the role ${role} may not make tables, and ${version === 0 ? 'there are none yet' : `schema ${current} needs some`}`,
      `GRANT CREATE ON SCHEMA public TO ${role}; or make it the owner of the database`,
      78,
    )
  if (version === 0)
    return warn('database', 'has no tables yet', 'postern serve makes them on the first start')
  return version < current
    ? warn('database', `schema ${version}, ${current} is current`, 'postern migrate')
    : null
}

const poolerOf = ({ pooler, remedy, place }: ServerExamined, { store }: Config): Finding | null => {
  if (pooler === 'none') return null
  const stands = `a pooler stands before ${place} and gives`
  if (pooler === 'session')
    return warn(
      'pooler',
      `${stands} each client a session; it brings nothing`,
      'name the database itself in store.url_file',
    )
  if (pooler === store.pooler)
    return ok('pooler', `${stands} a session for each transaction, as is said here`)
  return fail('pooler', `${stands} sessions away between ${pooler}s: no daemon starts on it`, remedy, 78)
}

/** So long it is told. */
const PUT_BACK_MS = 7 * 24 * 3_600_000

const putBackOf = ({ putBack }: ServerExamined, now: number): Finding | null =>
  putBack !== null && now - putBack.at < PUT_BACK_MS
    ? warn(
        'put back',
        `${spanText(now - putBack.at)} ago a daemon found the database without the last ${spanText(putBack.lostMs)}: mail acknowledged then may be lost, and mail sent then may be sent again`,
        'a synchronous standby loses nothing (synchronous_standby_names); look at what clients sent in that time',
      )
    : null

const clockOf = ({ ahead }: ServerExamined): Finding | null =>
  Math.abs(ahead) > CLOCK_MS
    ? warn(
        'clock of the database',
        `is ${spanText(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'} this machine; mail goes by that of the database`,
        'timedatectl set-ntp true, on both',
      )
    : null

const SLOW = 'what was deleted since is not cleared away, and the queue gets slow'

const snapshotOf = ({ oldest }: ServerExamined): Finding | null =>
  oldest !== null && oldest.ageMs > SNAPSHOT_MS
    ? warn(
        'old snapshot',
        `${oldest.holder} has held one for ${spanText(oldest.ageMs)}: ${SLOW}`,
        'end what reads for so long (a dump, a report, a prepared transaction)',
      )
    : null

const followerOf = ({ follower }: ServerExamined): Finding | null =>
  follower !== null && follower.behind > FOLLOWER_BEHIND
    ? warn(
        'old snapshot',
        `${follower.name} is ${follower.behind} transactions behind: ${SLOW}`,
        'let it catch up, or set hot_standby_feedback = off there; pg_drop_replication_slot when nobody uses it',
      )
    : null

const unconfirmedOf = ({ unconfirmed: n }: ServerExamined): Finding | null =>
  n > 0
    ? fail(
        'synchronous standby',
        `${n === 1 ? 'a commit waits' : `${n} commits wait`} for one that does not answer, and nothing is stored`,
        'start it, or change synchronous_standby_names',
        75,
      )
    : null

const queueOf = ({ queue: { live, dead, cleared } }: ServerExamined, now: number): Finding | null => {
  if (dead < DEAD_ROWS || dead < 10 * live) return null
  const when = cleared === null ? 'never' : `${spanText(now - cleared)} ago`
  const detail = `${dead} dead rows beside ${live}; cleared ${when}`
  return warn('queue table', detail, 'VACUUM queue; and look why autovacuum does not come by')
}

const sizeOf = (octets: number): string => `${Math.ceil(octets / 1e6)} MB`

/** Each daemon has told its own when it started. */
const settingsOf = ({ daemons }: ServerExamined, written: Config): Finding | null => {
  const own = settingsDigest(written)
  const others = daemons.filter(({ settings }) => settings !== null && settings !== own)
  if (others.length === 0) return null
  const hosts = [...new Set(others.map(({ host, daemonId }) => `${host} (${daemonId.slice(0, 8)})`))]
  return warn(
    'settings',
    `the configuration of ${hosts.join(', ')} differs from that of this machine in what daemons must have alike`,
    `compare ${ALIKE} in all of them, and restart`,
  )
}

/** What stands in the place of the checks of a file. */
export const checkServer: Check = async ({ config, written, now }) => {
  const seen = await examineServerOf(config)
  const found = [
    ...[schemaOf(seen), poolerOf(seen, config), settingsOf(seen, written), putBackOf(seen, now)],
    ...[unconfirmedOf(seen), clockOf(seen), snapshotOf(seen), followerOf(seen), queueOf(seen, now)],
  ].filter((one) => one !== null)
  if (found.some(({ check }) => check === 'database')) return found
  const { place, release, room } = seen
  const detail = `${place} keeps what it is told (PostgreSQL ${release}); ${sizeOf(room.total)}, of which bodies ${sizeOf(room.bodies)}`
  return [ok('database', detail), ...found]
}
