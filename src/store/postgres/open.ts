/**
 * NAME      open - a store kept by PostgreSQL
 * DESCRIPTION
 *   Not whole yet: verbs that are missing say so when they are called, and no configuration offers it. Several stores,
 *   in several processes and on several machines, are one on the same database.
 */
import { randomUUID } from 'node:crypto'
import { systemClock } from '../../base/clock.js'
import { OutageError } from '../../base/fault.js'
import type { Acceptance } from '../../lifecycle/facts.js'
import type { Store } from '../port/store.js'
import { type Connection, connect } from './connect/connection.js'
import { TakenOverError } from './connect/failure.js'
import { type Server, serversOf } from './connect/servers.js'
import { settingsFaults } from './connect/settings.js'
import { createReaders, type Readers } from './readers.js'
import { migrate } from './schema/migrate.js'
import { type AnyVerb, missing, READS, writesOf } from './verbs.js'
import { createAccept } from './write/accept.js'
import { startHeartbeat } from './write/heartbeat.js'
import { addDefaults } from './write/tenants.js'
import { joinAsWriter, type Writer } from './write/writer.js'

export interface PostgresOptions {
  /** The text that has the URLs (connect/servers.ts). */
  readonly urls: string
  /** Of this Postern. */
  readonly version?: string
}

interface Session {
  readonly readers: Readers
  readonly writer: Writer
  readonly accept: ReturnType<typeof createAccept>
  readonly writes: Readonly<Record<string, AnyVerb>>
  connect(): Promise<Connection>
  stopHeartbeat(): void
}

const begin = async (
  servers: readonly Server[],
  version: string,
  lost: (error: Error) => void,
): Promise<Session> => {
  const owner = randomUUID()
  const open = (part: string) => (): Promise<Connection> =>
    connect(servers, `postern/${owner.slice(0, 8)}/${part}`)
  const first = await open('migrate')()
  try {
    const now = systemClock.now()
    await migrate(first, version, now, (next) => addDefaults({ next }, now))
  } finally {
    await first.close()
  }
  const writer = await joinAsWriter(owner, open('writer'))
  const readers = createReaders(open('reader'))
  const stopHeartbeat = startHeartbeat(writer, (error) => {
    if (error instanceof TakenOverError) lost(error)
  })
  const writes = writesOf(writer.places) as unknown as Record<string, AnyVerb>
  return { readers, writer, accept: createAccept(writer), writes, connect: open('check'), stopHeartbeat }
}

/** The verbs of the port, each answered by the database. */
const forwarded = (current: () => Session, lost: (error: Error) => void): Partial<Store> => {
  const told = (error: unknown): never => {
    if (error instanceof TakenOverError) lost(error)
    throw error
  }
  const read = (name: string, verb: AnyVerb) => [
    name,
    async (...args: readonly unknown[]) => current().readers.read(() => verb(...args)),
  ]
  const write = (name: string) => [
    name,
    async (...args: readonly unknown[]) => {
      const { writer, writes } = current()
      const verb = writes[name] as AnyVerb
      return writer.write(() => verb(...args)).catch(told)
    },
  ]
  return Object.fromEntries([
    ...Object.entries(READS).map(([name, verb]) => read(name, verb as unknown as AnyVerb)),
    ...Object.keys(writesOf({ next: () => 0 })).map(write),
    ...(['onDue', 'onSettled', 'ready'] as const).map((name) => [
      name,
      (given: never) => current().writer.hints[name](given),
    ]),
    ['accept', async (acceptance: Acceptance) => current().accept(acceptance).catch(told)],
  ]) as Partial<Store>
}

/** Nothing is touched before `open`, which throws DatabaseRefusedError or NewerDatabaseError. */
export const openPostgresStore = ({ urls, version = '' }: PostgresOptions): Store => {
  const servers = serversOf(urls)
  let session: Session | null = null
  const current = (): Session => {
    if (session === null) throw new OutageError('the store is not open')
    return session
  }
  let lost: (error: Error) => void = () => {}
  const broken = new Promise<Error>((resolve) => {
    lost = resolve
  })
  const verbs = forwarded(current, lost)
  const own = {
    system: 'postgresql',
    broken,
    async open() {
      session ??= await begin(servers, version, lost)
    },
    async migrate() {},
    async check() {
      const connection = await current().connect()
      return settingsFaults(connection).finally(() => connection.close())
    },
    async close() {
      const closing = session
      session = null
      closing?.stopHeartbeat()
      await closing?.writer.leave()
      await closing?.readers.close()
    },
  }
  return { ...missing({ ...verbs, ...own }), ...verbs, ...own } as unknown as Store
}
