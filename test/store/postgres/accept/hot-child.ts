/**
 * NAME      hot-child - a daemon that is killed where mail that it has accepted goes to its relay
 * DESCRIPTION
 *   Arguments: URL, and the id of the daemon. It says the id of its account's pool, and accepts five mails at once.
 */
import {
  connectPostgresStore,
  openPostgresStore,
  sharePostgresStore,
} from '../../../../src/store/postgres/open.js'
import { mailFor, newAccount, T0 } from '../../fixture.js'

const [, , urls = '', owner = ''] = process.argv
const store = openPostgresStore({ urls, lock: () => ({ owner, unlock() {} }) })
await store.open()
const relay = await connectPostgresStore(sharePostgresStore(store, 'relay'))
relay.onLeased(() => process.kill(process.pid, 'SIGKILL'))
const at = await newAccount(store)
process.stdout.write(`${at.poolId}\n`)
for (;;)
  await store.accept({ mails: Array.from({ length: 5 }, () => mailFor(at)), idempotency: null, now: T0 })
