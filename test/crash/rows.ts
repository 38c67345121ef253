/**
 * The faults that Postern survives, one row each: how it is made, and what must
 * hold afterwards. Some are made here, under load; others have test files of their
 * own, which run again as part of the report.
 */
import { join } from 'node:path'
import { runFile } from '../run/file.js'
import { clockSteps } from './clocks.js'
import { type FullBooks, fullDisks } from './full.js'
import { ioErrors } from './io-errors.js'
import { AMBIGUOUS, BESIDE, killCycles, POINTS, pointCycles, termCycles } from './kill.js'
import { largeMails, ofLarge } from './large.js'
import { POSTGRES_BESIDE, POSTGRES_POINTS, postgresEnds, postgresKills, postgresPoints } from './postgres.js'
import { powerCuts } from './power.js'
import { type Books, LEAST, type RigOptions, unmet } from './rig.js'
import { type Ended, slowDiskEnds, slowKills, unmetEnds } from './slow.js'
import { type TlsBooks, tlsCuts } from './tls.js'
import { badFiles, noDescriptors, outage, secondDaemon } from './trouble.js'

export interface Verdict {
  /** Empty: it holds. */
  readonly unmet: readonly string[]
  /** Why the fault could not be made here. */
  readonly leftOut?: string
  readonly found: object
}

export interface Row {
  readonly name: string
  readonly fault: string
  /** Of the full tier. */
  readonly times: number
  readonly run: (times: number, options: RigOptions) => Promise<Verdict>
}

const judge =
  (demands: (books: Books) => readonly string[] = () => []) =>
  (books: Books | string, cycles: number): Verdict =>
    typeof books === 'string'
      ? { unmet: [], leftOut: books, found: {} }
      : { unmet: [...unmet(books, cycles), ...demands(books)], found: books }
const sound = judge()
/** Where nothing was on the wire, nothing goes out twice. */
const once = judge(({ duplicated }) => (duplicated > 0 ? [`${duplicated} went out twice`] : []))

export const judgePower = judge(({ control }) =>
  control?.lost === 0 ? ['the control lost nothing: this was no power cut'] : [],
)

const row = (
  name: string,
  fault: string,
  times: number,
  make: (times: number, options: RigOptions) => Promise<Books | string>,
  verdict: (books: Books | string, cycles: number) => Verdict = sound,
  perTime = 1,
): Row => ({
  name,
  fault,
  times,
  run: async (some, options) => verdict(await make(some, options), some * perTime),
})

/** Of books that say more than others. */
const more =
  <T extends Books>(demands: (books: T) => readonly string[]) =>
  (books: Books | string, cycles: number): Verdict =>
    judge((found) => demands(found as T))(books, cycles)

const files = (name: string, fault: string, ...names: readonly string[]): Row => ({
  name,
  fault,
  times: 1,
  run: async () => {
    const found: Record<string, string> = {}
    const bad: string[] = []
    const leftOut: string[] = []
    for (const one of names) {
      const { ok, passed, failed, skipped, tap } = await runFile(
        one,
        join(import.meta.dirname, '..', `${one}.test.js`),
      )
      found[one] = `${passed} passed, ${failed} failed`
      if (!ok) bad.push(`${one}: ${/not ok .*/.exec(tap)?.[0] ?? 'ended early'}`)
      leftOut.push(...skipped.map((why) => `${one}: ${why}`))
    }
    return { unmet: bad, found, ...(leftOut.length > 0 && { leftOut: leftOut.join('; ') }) }
  },
})

const ends = (
  name: string,
  where: string,
  make: (times: number, options: RigOptions) => Promise<Ended | string>,
): Row => ({
  name,
  fault: `SIGTERM with 200 POSTs and 20 messages on their way, ${where}`,
  times: 20,
  run: async (times, options) => {
    const found = await make(times, options)
    return typeof found === 'string'
      ? { unmet: [], leftOut: found, found: {} }
      : { unmet: unmetEnds(found), found }
  },
})

export const ROWS: readonly Row[] = [
  row('kill', 'kill -9 at any moment', 200, killCycles),
  row('points', 'kill -9 at each named point', 20, pointCycles, sound, POINTS.length),
  row(
    'points-hold',
    'kill -9 where a mail may have been taken, policy hold',
    20,
    (times, options) => pointCycles(times, { ...options, ambiguous: 'hold' }, AMBIGUOUS),
    judge(({ duplicated, held }) => [
      ...(duplicated > 0 ? [`${duplicated} went out twice`] : []),
      ...(held === 0 ? ['none was ever held'] : []),
    ]),
    AMBIGUOUS.length,
  ),
  row(
    'points-beside',
    'kill -9 at bodies, leases and those who follow the log',
    20,
    (times, options) => pointCycles(times, options, BESIDE, 3),
    sound,
    BESIDE.length,
  ),
  row('slow-5', 'kill -9 at any moment, fsync slowed by 5 ms', 50, slowKills(5)),
  row('slow-100', 'kill -9 at any moment, fsync slowed by 100 ms', 50, slowKills(100)),
  ends('slow-end', 'fsync slowed by 100 ms', slowDiskEnds),
  row('postgres', 'kill -9 at any moment, with PostgreSQL', 50, postgresKills({})),
  row(
    'postgres-points',
    'kill -9 at each named point, with PostgreSQL',
    20,
    postgresPoints(POSTGRES_POINTS),
    sound,
    POSTGRES_POINTS.length,
  ),
  row(
    'postgres-beside',
    'kill -9 at leases, signs of life and those who follow the log, with PostgreSQL',
    20,
    postgresPoints(POSTGRES_BESIDE, 3),
    sound,
    POSTGRES_BESIDE.length,
  ),
  row('postgres-far', 'kill -9 at any moment, PostgreSQL 100 ms away', 50, postgresKills({ roundTrip: 100 })),
  row(
    'postgres-slow',
    'kill -9 at any moment, fsync of PostgreSQL slowed by 100 ms',
    50,
    postgresKills({ fsync: 100 }),
  ),
  ends('postgres-far-end', 'PostgreSQL 100 ms away', postgresEnds({ roundTrip: 100 })),
  ends('postgres-slow-end', 'fsync of PostgreSQL slowed by 100 ms', postgresEnds({ fsync: 100 })),
  row(
    'tls',
    'connections of 20 upstreams with TLS are cut, and the daemon is killed',
    50,
    tlsCuts,
    more(({ idle }: TlsBooks) => (idle > 0 ? [`${idle} upstreams were handed nothing`] : [])),
  ),
  row('clock', 'the clock is set forward and back, and the daemon is killed', 50, clockSteps),
  row(
    'full',
    'no room for blocks or for files while mail is taken and settled, and the daemon is killed',
    40,
    fullDisks,
    more(({ otherAnswers, refused }: FullBooks) => [
      ...otherAnswers.map((said) => `answered ${said}`),
      ...(refused === 0 ? ['nothing was ever refused'] : []),
    ]),
  ),
  row('large', 'mails of 24 MB beside small ones', 10, largeMails, (books) =>
    typeof books === 'string' ? judge()(books, 0) : more(ofLarge)({ ...books, fewest: LEAST }, 0),
  ),
  row('power', 'power cut under the whole daemon', 200, powerCuts, judgePower),
  row('io', 'fsync and write fail under the whole daemon', 50, ioErrors),
  row('term', 'SIGTERM under load', 50, termCycles, once),
  row('second', 'a second daemon beside one that stands still', 20, secondDaemon),
  row('descriptors', 'no file descriptors', 20, noDescriptors, once),
  row('reload', 'SIGHUP with a bad file', 20, badFiles, once),
  {
    name: 'outage',
    fault: 'the upstream is gone, thousands are queued, the daemon is killed, the upstream returns',
    times: 20_000,
    run: async (times) => {
      const found = await outage(times)
      const bad = [
        ...(found.sent < found.queued ? [`${found.queued - found.sent} not sent`] : []),
        ...(found.secondCopies > 0 ? [`${found.secondCopies} went out twice`] : []),
        ...(found.grownMb > 50 ? [`${found.grownMb} MB more memory`] : []),
      ]
      return { unmet: bad, found }
    },
  },
  files('disk-full', 'the disk fills and is freed', 'crash/disk-full'),
  files(
    'upstream',
    'upstreams that stall, reset, refuse, lie',
    'relay/faults',
    'relay/tls',
    'relay/sink',
    'relay/breaker',
  ),
  files(
    'window',
    'death between the final dot and its answer',
    'e2e/23-ambiguous',
    'crash/idempotent',
    'crash/sender-dsn',
  ),
  files('lifecycle', 'a taken port, a second daemon, a nearly full disk, a hurried end', 'e2e/10-lifecycle'),
  files('store', 'kill -9 at each verb of the store', 'store/sqlite-crash'),
  files('backup', 'a copy taken under load', 'crash/backup-load'),
]
