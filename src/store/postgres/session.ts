/**
 * NAME      session - what one thread has open with the database
 * DESCRIPTION
 *   A writer with its connection and its heartbeat, and connections that only read. The first session of a process brings
 *   the database up to date; with the lock of a data folder it has the id of the daemon that lives there, which outlives
 *   it, so that its successor knows the writers of a predecessor for dead.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { systemClock } from '../../base/clock.js'
import { Fault, OutageError } from '../../base/fault.js'
import type { Log } from '../../base/log.js'
import type { About, Cluster, ClusterView, WriterRole } from '../port/cluster/cluster.js'
import { TakenOverError } from '../port/upkeep.js'
import { createTouches, type Touches } from '../sql/tenants/touches.js'
import { type Calls, createCalls } from './calls.js'
import { endPredecessor, sessionName } from './cluster/takeover.js'
import { followDatabase } from './cluster/time.js'
import { createView } from './cluster/view.js'
import { createWork } from './cluster/work.js'
import type { Connection } from './connect/connection.js'
import { DatabaseAwayError } from './connect/failure.js'
import { refusePooler } from './connect/pooler.js'
import { serversOf } from './connect/servers.js'
import type { Hints } from './hints.js'
import { refuseHalfMoved } from './move/arrival.js'
import { createPoints, type Points } from './points.js'
import { type QueueVerbs, queueVerbs } from './queue.js'
import { createReaders, type Readers } from './readers.js'
import { answer, persistently } from './run.js'
import { migrate } from './schema/migrate.js'
import { createBeat, startHeartbeat } from './write/heartbeat.js'
import { logPutBack } from './write/put-back.js'
import { addDefaults } from './write/tenants.js'
import { touchAll } from './write/touch.js'
import { joinAsWriter, type Observe, type Writer } from './write/writer.js'

export interface SessionOptions {
  /** The text that has the URLs (connect/servers.ts). */
  readonly urls: string
  /** Of this Postern. */
  readonly version: string
  /** The id of the daemon; a program beside the daemons has one of its own. */
  readonly owner: string | null
  readonly role: WriterRole
  /** What others can read of it. */
  readonly about?: Partial<Omit<About, 'version'>> | undefined
  readonly log?: Log | undefined
  /** Is told of commits. */
  readonly observe?: Observe
}

export interface Session {
  readonly owner: string
  readonly readers: Readers
  readonly points: Points
  readonly writer: Writer
  readonly calls: Calls
  readonly touches: Touches
  readonly holdsWork: Cluster['holdsWork']
  view(): ClusterView
  readonly queue: QueueVerbs
  connect(): Promise<Connection>
  close(): Promise<void>
}

/** The heartbeat of a writer, and what it tells. */
const beating = (writer: Writer, log: Log | undefined) => {
  const { view, told, putBack } = createView(writer)
  writer.onPutBack(putBack)
  writer.onPutBack(logPutBack(log))
  const follow = followDatabase(log)
  const beat = createBeat(writer, systemClock.tick, {
    told(rows, sent, answered) {
      told(rows, sent)
      follow(Number(rows[0]?.now), sent, answered)
    },
    takenOver: ({ owner, n }, recovered) =>
      log?.warn({ daemon: owner, writer: n, ...recovered }, 'a dead daemon was taken over'),
  })
  return { view, beat }
}

/** What can be done nothing about here, in one line. */
const awayError = (error: unknown): unknown => {
  if (!(error instanceof Fault)) return error
  const { message = '' } = (error.cause ?? {}) as Partial<Error>
  return new DatabaseAwayError(
    `the database cannot be reached: ${message}; look whether it runs, then try again`,
  )
}

/** A move back sees who is a writer by then. Who cannot begin gives its row back. */
const beginBeating = async ({ look, leave }: Writer, beat: () => Promise<void>): Promise<void> => {
  try {
    await look(refuseHalfMoved())
    await beat()
  } catch (error) {
    await leave()
    throw error
  }
}

const bringUpToDate = async (
  open: () => Promise<Connection>,
  version: string,
  daemon: string | null,
): Promise<void> => {
  const first = await persistently(open).catch((error: unknown) => {
    throw awayError(error)
  })
  const now = systemClock.now()
  try {
    await refusePooler(first, open)
    await migrate(first, version, now, (next) => addDefaults({ next }, now))
    if (daemon !== null) await persistently(() => answer(first, endPredecessor(daemon)))
  } finally {
    await first.close()
  }
}

/** What was used is written down a second later, and before the end. */
const touching = (readers: Readers) => {
  let last: Promise<unknown> = Promise.resolve()
  const touches = createTouches((touched) => {
    last = readers.read(() => touchAll(touched)).catch(() => {})
  })
  const flush = async (): Promise<void> => {
    touches.flush()
    await last
  }
  return { touches, flush }
}

/** `failed` hears of all that failed, heartbeats too. */
export const begin = async (
  { urls, version, owner: given, role, about, log, observe }: SessionOptions,
  hints: Hints,
  isFirst: boolean,
  failed: (error: unknown) => void,
): Promise<Session> => {
  // what needs no database does not pay for its client
  const { connect, connectAgain } = await import('./connect/connection.js')
  const servers = serversOf(urls)
  const owner = given ?? randomUUID()
  const open = (part: string) => (): Promise<Connection> => connectAgain(servers, sessionName(owner, part))
  const openFirst = (): Promise<Connection> => connect(servers, sessionName(owner, 'migrate'))
  if (isFirst) await bringUpToDate(openFirst, version, given)
  const member = { role, about: { version, host: hostname(), settings: null, pools: null, ...about } }
  const join = () => joinAsWriter(owner, open('writer'), systemClock.now, hints, member, observe)
  const writer = await persistently(join)
  const { view, beat } = beating(writer, log)
  await beginBeating(writer, beat)
  const readers = createReaders(open('reader'))
  const points = createPoints(open('points'))
  const stopHeartbeat = startHeartbeat(beat, failed)
  const told = (error: unknown): never => {
    failed(error)
    throw error instanceof TakenOverError ? new OutageError(error.message) : error
  }
  const { touches, flush } = touching(readers)
  return {
    ...{ owner, readers, points, writer, touches, view },
    ...{
      calls: createCalls(writer, told),
      connect: open('check'),
      holdsWork: createWork({ ...writer, ...points }),
    },
    queue: queueVerbs(writer, readers, told),
    async close() {
      stopHeartbeat()
      await flush()
      await writer.leave()
      await readers.close()
      await points.close()
    },
  }
}
