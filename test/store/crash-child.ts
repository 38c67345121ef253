/**
 * NAME      crash-child - a process that lives to be killed
 * DESCRIPTION
 *   Runs mails through a store until the fault point kills it. Each line on
 *   standard output is a promise: `accepted <id>`, `settled <id>`. Written with
 *   writeSync, so that what was promised is read by the parent. A broken store
 *   ends it with 74, as it ends the daemon.
 *   Arguments: folder, point, hit, ambiguous policy, bytes of a body, `keep`.
 *   With large bodies, what is settled is swept away at once, unless it is kept.
 *   Then it goes on until somebody ends it. So it does while the log is read, where the point is one of that.
 */
import { writeSync } from 'node:fs'
import { systemClock } from '../../src/base/clock.js'
import { silentLog } from '../../src/base/log.js'
import { createReader } from '../../src/followers/reader.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { accepted, HOUR, ofLease, type TestAccount } from './fixture.js'

const [dataDir = '', name = '', hit = '1', ambiguous = 'retry', bytes = '', keep = ''] = process.argv.slice(2)
const promise = (what: string): void => {
  writeSync(1, `${what}\n`)
}

const store = openSqliteStore({ dataDir, daemon: true, faultPoint: { name, hit: Number(hit) } })
await store.open()
void store.broken.then((error) => {
  promise(`broken ${error.message}`)
  process.exit(74)
})
const accountId = (await store.accounts())[0]?.id ?? ''
const workspace = await store.workspace(accountId, 'default')
const pool = await store.pool(accountId, 'sandbox')
if (workspace === null || pool === null) throw new Error('no deps')
await store.updateWorkspace(workspace.id, { ambiguous: ambiguous === 'hold' ? 'hold' : 'retry' })
const at: TestAccount = { accountId, workspace, poolId: pool.id }

const reads = name.startsWith('keepRead')
if (reads) await createReader({ store, clock: systemClock, log: silentLog() }).start()

for (let i = 0; keep !== '' || reads || i < 100; i++) {
  const now = Date.now()
  const body = bytes === '' ? {} : { raw: Buffer.alloc(Number(bytes), 'x') }
  const mail = await accepted(store, at, { createdAt: now, ...body })
  promise(`accepted ${mail.id}`)
  for (const claimed of await store.claim(at.poolId, 10, now + HOUR, now)) {
    await store.attempting([{ ...claimed, attempt: 1, upstreamId: 'up_1', at: now }])
    await store.settle([ofLease(claimed, { at: now })])
    promise(`settled ${claimed.emailId}`)
  }
  if (bytes !== '' && keep === '') await store.sweep(now + 1, { bodiesMs: 0, emailsMs: HOUR })
}
process.exit(3) // the point was never passed
