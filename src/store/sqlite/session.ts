/**
 * NAME      session - an open store's parts
 * DESCRIPTION
 *   Begun in order (lock, writer, reader) and finished in reverse: a session
 *   that could not begin leaves nothing held.
 */
import type { Log } from '../../base/log.js'
import { type Db, openReader, prepareFile } from './connect.js'
import { takeDaemonLock } from './lock.js'
import { createDomainReads } from './operate/domains.js'
import { createQueueReads } from './operate/queue-reads.js'
import { createOwedReads } from './owed/owed.js'
import type { FaultPoint } from './protocol.js'
import { createQueueWrites, type QueueWrites } from './queue-client.js'
import { createDepthReads } from './read/depth.js'
import { createEmailReads } from './read/emails.js'
import { createEventReads } from './read/events.js'
import { createStatements } from './read/statements.js'
import { createTenantReads } from './read/tenants.js'
import { createLine, type Line } from './thread/line.js'
import { createWindow, type Window } from './thread/window.js'
import { startWriter, type Writer } from './thread/writer.js'
import { createTouches, type Touches } from './touches.js'

export interface SqliteOptions {
  readonly dataDir: string
  /** True takes the daemon lock and counts rates in memory. */
  readonly daemon: boolean
  readonly log?: Log
  /** Crash tests only. */
  readonly faultPoint?: FaultPoint
}

export type Reads = ReturnType<typeof createReads>

const createReads = (db: Db) => {
  const sql = createStatements(db)
  return {
    ...createEmailReads(sql),
    ...createEventReads(sql),
    ...createTenantReads(sql),
    ...createDepthReads(sql),
    ...createQueueReads(sql),
    ...createDomainReads(sql),
    ...createOwedReads(sql),
  }
}

export interface Session {
  readonly file: string
  readonly daemon: boolean
  readonly db: Db
  readonly reads: Reads
  readonly writer: Writer
  readonly line: Line
  readonly queue: QueueWrites
  readonly window: Window
  readonly touches: Touches
  readonly unlock: () => void
}

export const begin = async (options: SqliteOptions): Promise<Session> => {
  const file = prepareFile(options.dataDir)
  const unlock = options.daemon ? takeDaemonLock(options.dataDir) : () => {}
  let writer: Writer | null = null
  try {
    writer = await startWriter({
      file,
      daemon: options.daemon,
      faultPoint: options.faultPoint ?? null,
    })
    const line = createLine(writer.connect())
    const db = openReader(file)
    const reads = createReads(db)
    const window = createWindow(reads.usedIn, (used) => line.post('addUsed', used))
    const touches = createTouches((touched) => line.post('touchAll', touched))
    const writes = createQueueWrites(line)
    const queue: QueueWrites = {
      ...writes,
      accept: (batch) => {
        window.flush()
        return writes.accept(batch)
      },
    }
    return { file, daemon: options.daemon, db, reads, writer, line, queue, window, touches, unlock }
  } catch (error) {
    await writer?.end()
    unlock()
    throw error
  }
}

export const finish = async (session: Session): Promise<void> => {
  session.window.flush()
  session.touches.flush()
  await session.line.idle()
  session.line.close()
  await session.writer.end()
  session.db.close()
  session.unlock()
}
