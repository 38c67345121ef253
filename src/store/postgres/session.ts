/**
 * NAME      session - what one thread has open with the database
 *   A writer with its connection and its heartbeat, and connections that only read. The first session of a process brings
 *   the database up to date; with the lock of a data folder it has the id of the daemon that lives there, which outlives
 *   it, so that its successor knows the writers of a predecessor for dead.
 */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { systemClock } from '../../base/clock.js'
import type { Pass } from '../../base/crash.js'
import type { Log } from '../../base/log.js'
import type { About, Cluster, ClusterView, WriterRole } from '../port/cluster.js'
import { type Known, TakenOverError } from '../port/upkeep.js'
import { first } from '../sql/query.js'
import { createTouches, type Touches } from '../sql/tenants.js'
import { beginning, bringUpToDate, refuseUnfit, storesNothing } from './begin.js'
import { createView, createWork, followDatabase, NOW } from './cluster.js'
import { BY_KEY, type Connection } from './connection.js'
import { createBeat, startHeartbeat } from './heartbeat.js'
import { knownBy } from './known.js'
import { createLeased, type Leased } from './leased.js'
import { createLight, type Light, touchAll } from './light.js'
import { type Hints, listening, startNotifying } from './notify.js'
import { createPoints, type Points } from './points.js'
import { type QueueVerbs, queueVerbs } from './queue.js'
import { createReaders, type Readers, resting } from './readers.js'
import { persistently, unavailable } from './run.js'
import { type Pooling, serversNow, type Urls } from './servers.js'
import { type Calls, createCalls } from './verbs.js'
import { joinAsWriter, logPutBack, type Observe, type PostgresWriter, sessionName } from './writer.js'

interface SessionOptions {
  readonly urls: Urls
  readonly pooler?: Pooling | undefined
  /** Of this Postern. */
  readonly version: string
  /** The id of the daemon; a program beside the daemons has one of its own. */
  readonly owner: string | null
  readonly role: WriterRole
  /** What others can read of it. */
  readonly about?: Partial<Omit<About, 'version'>> | undefined
  readonly log?: Log | undefined
  /** The first session of a process tells other daemons, and one that stays hears them; false: it polls only. */
  readonly listens?: boolean | undefined
  /** Is told of commits. */
  readonly observe?: Observe
  /** Where crash tests may end the process. */
  readonly pass?: Pass
}

export interface PostgresSession {
  readonly owner: string
  readonly readers: Readers
  readonly points: Points
  readonly known: Known
  readonly light: Light
  readonly writer: PostgresWriter
  readonly calls: Calls
  readonly touches: Touches
  readonly leased: Leased
  readonly holdsWork: Cluster['holdsWork']
  view(): ClusterView
  readonly queue: QueueVerbs
  connect(): Promise<Connection>
  close(): Promise<void>
}

const byKey = (open: () => Promise<Connection>) => async (): Promise<Connection> => {
  const connection = await open()
  await connection.set(BY_KEY)
  return connection
}

/** The heartbeat of a writer, and what it tells. */
const beating = (writer: PostgresWriter, log: Log | undefined) => {
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
  /** Before the first place is given: a clock that is wrong here would be that of all who come later. */
  const setClock = async (): Promise<void> => {
    const sent = systemClock.tick()
    const found = await writer.look(first(`SELECT ${NOW} AS now`))
    follow(Number(found?.now), sent, systemClock.tick())
  }
  return { view, beat, setClock }
}

/** Who cannot begin gives its row back. */
const beginBeating = async (
  { look, leave }: PostgresWriter,
  { setClock, beat }: ReturnType<typeof beating>,
): Promise<void> => {
  try {
    await look(refuseUnfit())
    await setClock()
    await beat()
  } catch (error) {
    await leave()
    throw error
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

const inTurn =
  (...steps: readonly (() => unknown)[]) =>
  async (): Promise<void> => {
    for (const step of steps) await step()
  }

/** `failed` hears of all that failed, heartbeats too. */
export const begin = (...given: Parameters<typeof beginSession>): Promise<PostgresSession> =>
  beginning(() => beginSession(...given))

const beginSession = async (
  { urls, pooler, version, owner: given, role, about, log, listens = true, ...seen }: SessionOptions,
  hints: Hints,
  isFirst: boolean,
  failed: (error: unknown) => void,
): Promise<PostgresSession> => {
  // what needs no database does not pay for its client
  const { connect, connectAgain } = await import('./connection.js')
  const owner = given ?? randomUUID()
  const reach = resting((name) => connectAgain(() => serversNow(urls, pooler), name), log)
  const open = (part: string) => (): Promise<Connection> => reach(sessionName(owner, part))
  const openFirst = (deadline?: number): Promise<Connection> =>
    connect(serversNow(urls, pooler), sessionName(owner, 'migrate'), deadline)
  if (isFirst) await bringUpToDate(openFirst, { postern: version, daemon: given, log })
  const member = { role, about: { version, host: hostname(), settings: null, pools: null, ...about } }
  const isTeller = isFirst && listens
  const isHearer = isTeller && role === 'main' && pooler !== 'transaction'
  const openWriter = isHearer ? listening(open('writer'), owner, hints) : open('writer')
  const writer = await persistently(() =>
    joinAsWriter(owner, openWriter, systemClock.now, hints, member, seen.observe, seen.pass),
  ).catch(async (error: unknown) => {
    throw await storesNothing(error, open('look'))
  })
  const heartbeat = beating(writer, log)
  const { view, beat } = heartbeat
  await beginBeating(writer, heartbeat)
  const readers = createReaders(open('reader'))
  const points = createPoints(open('points'))
  const light = createLight(byKey(open('light')))
  const stopHeartbeat = startHeartbeat(beat, failed)
  const told = (error: unknown): never => {
    failed(error)
    throw error instanceof TakenOverError ? unavailable(error) : error
  }
  const { touches, flush } = touching(readers)
  const leased = createLeased()
  const hasOthers = (): boolean => view().daemons > 1
  const stopTelling = isTeller ? startNotifying({ owner, hints, hasOthers, send: readers.read }) : flush
  return {
    ...{ owner, readers, points, light, writer, touches, leased, view },
    ...{ known: knownBy(points), calls: createCalls(writer, told), connect: open('check') },
    holdsWork: createWork({ ...writer, ...points }),
    queue: queueVerbs(writer, readers, leased, told),
    close: inTurn(stopHeartbeat, flush, stopTelling, writer.leave, readers.close, points.close, light.close),
  }
}
