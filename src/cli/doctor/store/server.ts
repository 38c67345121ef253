/**
 * NAME      server - the PostgreSQL database: does it answer, does it keep mail, is it kept clean?
 * DESCRIPTION
 *   Looks without changing anything. Whether its settings keep what is acknowledged is asked of every connection: the first
 *   fault is what refuses us here.
 */
import { examineServerOf } from '../../../store/open.js'
import { spanText } from '../../time.js'
import { type Check, type Finding, fail, ok, warn } from '../finding.js'

type Examined = Awaited<ReturnType<typeof examineServerOf>>

const SNAPSHOT_S = 300
const CLOCK_MS = 5_000
/** Fewer dead rows than this cost nothing to step over. */
const DEAD_ROWS = 10_000

const schemaOf = ({ version, current, madeBy }: Examined): Finding | null => {
  if (version > current) {
    const wanted = madeBy === '' ? 'a newer Postern' : `Postern ${madeBy} or newer`
    return fail(
      'database',
      `schema ${version} was made by a newer Postern, this one knows ${current}`,
      `install ${wanted}`,
      78,
    )
  }
  if (version === 0)
    return warn('database', 'has no tables yet', 'postern serve makes them on the first start')
  return version < current
    ? warn('database', `schema ${version}, ${current} is current`, 'postern migrate')
    : null
}

const poolerOf = ({ pooler, place }: Examined): Finding | null => {
  if (pooler === 'transaction')
    return fail(
      'pooler',
      `a pooler stands before ${place} and gives sessions away between transactions: no daemon starts on it`,
      'set pool_mode = session there, or name the database itself in store.url_file',
      78,
    )
  return pooler === 'none'
    ? null
    : warn(
        'pooler',
        `a pooler stands before ${place}; it gives each client a session, and brings nothing`,
        'name the database itself in store.url_file',
      )
}

/** So long it is told. */
const PUT_BACK_MS = 7 * 24 * 3_600_000

const putBackOf = ({ putBack }: Examined, now: number): Finding | null =>
  putBack !== null && now - putBack.at < PUT_BACK_MS
    ? warn(
        'put back',
        `${spanText(now - putBack.at)} ago a daemon found the database without the last ${spanText(putBack.lostMs)}: mail acknowledged then may be lost, and mail sent then may be sent again`,
        'a synchronous standby loses nothing (synchronous_standby_names); look at what clients sent in that time',
      )
    : null

const clockOf = ({ ahead }: Examined): Finding | null =>
  Math.abs(ahead) > CLOCK_MS
    ? warn(
        'clock of the database',
        `is ${spanText(Math.abs(ahead))} ${ahead > 0 ? 'ahead of' : 'behind'} this machine; mail goes by that of the database`,
        'timedatectl set-ntp true, on both',
      )
    : null

const snapshotOf = ({ oldest }: Examined): Finding | null =>
  oldest !== null && oldest.seconds > SNAPSHOT_S
    ? warn(
        'old snapshot',
        `${oldest.holder} has held one for ${spanText(oldest.seconds * 1000)}: what was deleted since is not cleared away, and the queue gets slow`,
        'end what reads for so long (a dump, a report, a standby with hot_standby_feedback)',
      )
    : null

const queueOf = ({ queue: { live, dead, cleared } }: Examined, now: number): Finding | null => {
  if (dead < DEAD_ROWS || dead < 10 * live) return null
  const when = cleared === null ? 'never' : `${spanText(now - cleared)} ago`
  const detail = `${dead} dead rows beside ${live}; cleared ${when}`
  return warn('queue table', detail, 'VACUUM queue; and look why autovacuum does not come by')
}

/** What stands in the place of the checks of a file. */
export const checkServer: Check = async ({ config, now }) => {
  const seen = await examineServerOf(config)
  const found = [
    ...[schemaOf(seen), poolerOf(seen), putBackOf(seen, now)],
    ...[clockOf(seen), snapshotOf(seen), queueOf(seen, now)],
  ].filter((one) => one !== null)
  if (found.some(({ check }) => check === 'database')) return found
  return [ok('database', `${seen.place} keeps what it is told (PostgreSQL ${seen.release})`), ...found]
}
