/**
 * NAME      cut-off-child - a process that is killed between the steps of an order
 * DESCRIPTION
 *   Arguments: folder, order, point, hit, how many mails wait.
 */
import { newId } from '../../src/base/id.js'
import type { PoolRow } from '../../src/store/port/tenants.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { mailFor, T0 } from './fixture.js'

const [dataDir = '', what = '', name = '', hit = '1', mails = '1'] = process.argv.slice(2)
const store = openSqliteStore({ dataDir, daemon: true, faultPoint: { name, hit: Number(hit) } })
await store.open()
const accountId = (await store.accounts())[0]?.id ?? ''
const workspace = await store.workspace(accountId, 'default')
if (workspace === null) throw new Error('no workspace')
const poolOf = (name: string): PoolRow => ({
  id: newId('pool'),
  accountId,
  name,
  kind: 'relay',
  returnPath: 'verp',
  notifySuccess: false,
  relayedMeans: 'sent',
  upstreams: [],
  createdAt: T0,
  updatedAt: T0,
})
const [first, second] = [poolOf('first'), poolOf('second')]
await store.createPool(first)
await store.createPool(second)
const at = { accountId, workspace, poolId: first.id }
const waiting = Array.from({ length: Number(mails) }, () => mailFor(at))
await store.accept({ mails: waiting, idempotency: null, now: T0 })

const scope = { accountId, workspaceId: workspace.id, poolId: null, domain: null, emailId: null }
const order = { scope, to: null, reason: 'x', now: T0 }
if (what === 'hold' || what === 'release')
  await store.hold({ ...scope, id: 'hold_1', reason: 'x', owner: 'operator', createdAt: T0 })
if (what === 'release' || what === 'purge') await store.operate({ ...order, action: what })
if (what === 'move') {
  const moving = {
    accountId,
    from: { poolId: first.id, routes: [] },
    to: { poolId: second.id, routes: [] },
    now: T0,
  }
  await store.updateWorkspace(workspace.id, { poolId: second.id }, moving)
}
process.exit(3) // the point was never passed
