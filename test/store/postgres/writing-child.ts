/**
 * NAME      writing-child - a daemon that accepts without end, and is stopped in the middle
 * DESCRIPTION
 *   Argument: URL. It leases five mails, and then says the id of each mail that is stored. When it was taken over it ends
 *   with 75.
 */
import { openPostgresStore } from '../../../src/store/postgres/open.js'
import { HOUR, mailFor, newAccount, T0 } from '../fixture.js'

const store = openPostgresStore({ urls: process.argv[2] ?? '' })
await store.open()
void store.broken.then(() => process.exit(75))
const at = await newAccount(store)
const first = Array.from({ length: 5 }, () => mailFor(at))
await store.accept({ mails: first, idempotency: null, now: T0 })
await store.claim(at.poolId, 5, T0 + HOUR, T0)

const write = async (): Promise<void> => {
  for (;;) {
    const mail = mailFor(at)
    if ((await store.accept({ mails: [mail], idempotency: null, now: T0 })) === 'accepted')
      process.stdout.write(`${mail.id}\n`)
  }
}
await Promise.all(Array.from({ length: 8 }, write)).catch(() => {})
