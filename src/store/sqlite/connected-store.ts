/**
 * NAME      connected-store - the whole port, in another thread
 *   Writes go through the port that shareSqliteStore gave, reads run on a connection of the
 *   calling thread. The thread that opened the store begins it, keeps it and ends it.
 */
import { dirname } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import { createLoadCounts } from '../load-counts.js'
import type { Actor } from '../port/identity.js'
import type { Store } from '../port/store.js'
import { attach, detach } from './session.js'
import { actingVerbs, readsOf, writesOf } from './store-verbs.js'
import { createWriterClient } from './thread/writer-client.js'

export type ConnectedStore = Omit<Store, 'open' | 'migrate' | 'by'> & {
  by(actor: Actor, entry?: string | null): ConnectedStore
}

/** Attaches to the writer through a port; call it once, in the thread that owns the port. */
export const connectStore = async (port: MessagePort): Promise<ConnectedStore> => {
  const client = createWriterClient(port)
  const file = await client.file
  const verbs = attach(client, { dataDir: dirname(file), daemon: false }, file, createLoadCounts())
  const plain = {
    ...writesOf(() => verbs),
    ...readsOf(() => verbs),
    broken: Promise.race([client.broken, verbs.failed]),
    close: () => detach(verbs),
  }
  const by = (actor: Actor, entry: string | null = null): ConnectedStore => ({
    ...plain,
    ...writesOf(actingVerbs(() => verbs, actor, entry)),
    by,
  })
  return { ...plain, by }
}
