/** Rows by which sends are decided: at hand, and never believed when the rules have moved. */
import t, { type Test } from 'tap'
import { newId } from '../../../../src/base/id.js'
import { openSqliteStore } from '../../../../src/store/sqlite/open.js'
import { eventually } from '../../../parts/eventually.js'
import { credentialFor, keyFor } from '../../contract-tenants.js'
import { mailFor, newAccount, T0 } from '../../fixture.js'

const open = async (t: Test) => {
  const dataDir = t.testdir()
  const store = openSqliteStore({ dataDir, daemon: true })
  // another process, as the command line is
  const other = openSqliteStore({ dataDir, daemon: false })
  await store.open()
  await other.open()
  t.teardown(async () => {
    await other.close()
    await store.close()
  })
  const { known } = store
  if (known === undefined) throw new Error('a daemon has rows at hand')
  const at = await newAccount(store)
  const key = keyFor(at)
  await store.createKey(key)
  known.look()
  const send = (rules = known.rules()) =>
    store.accept({ mails: [mailFor(at)], idempotency: null, rules, now: T0 })
  return { store, other, known, at, key, send }
}

t.test('another process has none at hand', async (t) => {
  const { other } = await open(t)
  t.equal(other.known, undefined)
})

t.test('what another process changes is stale for a send, and seen by a look', async (t) => {
  const { other, known, at, key, send } = await open(t)
  t.equal(known.key(at.accountId, key.id)?.id, key.id)
  t.equal(await send(), 'accepted')
  const before = known.rules()
  await other.revokeKey(at.accountId, key.id)
  t.equal(known.rules(), before, 'nothing tells of it')
  t.equal(known.key(at.accountId, key.id)?.id, key.id)
  t.equal(await send(), 'stale', 'but accept finds out')
  t.not(known.rules(), before, 'and tells of it')
  t.equal(known.key(at.accountId, key.id), null)
  t.equal(await send(), 'accepted')
  await other.createKey(key)
  t.equal(known.key(at.accountId, key.id)?.id, key.id, 'what is not there is asked for again')
  await other.revokeKey(at.accountId, key.id)
  known.look()
  t.equal(known.key(at.accountId, key.id), null, 'a look sees it at once')
})

t.test('every row by which a send is decided counts, and nothing else', async (t) => {
  const { store, other, known, at, key, send } = await open(t)
  const { accountId, workspace } = at
  const moves = async (what: string, does: () => Promise<unknown>, expected = true) => {
    known.look()
    const before = known.rules()
    await does()
    known.look()
    t.equal(known.rules() !== before, expected, what)
    t.equal(await send(before), expected ? 'stale' : 'accepted', what)
  }
  const credential = credentialFor(at)
  const domain = {
    ...{ id: newId('dom'), accountId, workspaceId: null, name: 'acme.test', keys: [] },
    ...{ verifiedAt: null, checkedAt: null, createdAt: T0, updatedAt: T0 },
  }
  for (const by of [store, other]) {
    const another = () => keyFor(at, { id: newId('key'), lookup: newId('key').slice(-12) })
    const second = another()
    await moves('a key is made', () => by.createKey(second))
    await moves('a key is rotated', () => by.rotateKey(accountId, second.id, another(), T0 + 5))
    await moves('a key is revoked', () => by.revokeKey(accountId, second.id))
    await moves('a credential is made', () => by.createCredential(credential))
    await moves('a credential is revoked', () => by.revokeCredential(accountId, credential.id))
    await moves('a workspace is restricted', () =>
      by.updateWorkspace(workspace.id, { restrictSenders: true }),
    )
    await moves('a workspace is suspended', () => by.suspendWorkspace(workspace, null, T0))
    await moves('a workspace is resumed', () => by.resumeWorkspace(workspace.id, T0))
    await moves('a route is set', () =>
      by.updateWorkspace(workspace.id, { routes: [{ domain: 'eu.test', poolId: at.poolId }] }),
    )
    await moves('a domain is made', () => by.createDomain(domain))
    await moves('a domain goes', () => by.removeDomain(accountId, domain.id))
    await moves(
      'a suppression',
      () =>
        by.addSuppression({
          ...{ id: newId('sup'), accountId, list: workspace.id, email: 'a@x.test', origin: 'manual' },
          ...{ sourceId: null, reason: null, expiresAt: null, createdAt: T0 },
        }),
      false,
    )
    await moves('a sweep', () => by.sweep(T0, { bodiesMs: 1e12, emailsMs: 1e12 }), false)
  }
  const touched = async () => {
    store.touch('key', key.id, T0 + 1, '192.0.2.1')
    const isSo = async () => (await other.key(accountId, key.id))?.lastUsedAt === T0 + 1
    await eventually('the use is written down', isSo)
  }
  await moves('a use of a key', touched, false)
})

t.test('a commit that fails tells nothing, and what is known stays good', async (t) => {
  const { store, known, at, key, send } = await open(t)
  const before = known.rules()
  const bad = { ...mailFor(at), workspaceId: newId('ws') }
  const [one, two] = await Promise.allSettled([
    store.accept({ mails: [bad], idempotency: null, rules: before, now: T0 }),
    send(before),
  ])
  t.equal(one.status, 'rejected')
  t.match(two, { status: 'fulfilled', value: 'accepted' }, 'others of the batch are stored')
  t.equal(known.rules(), before)
  t.equal(known.key(at.accountId, key.id)?.id, key.id)
})

t.test('of a crowd those that were decided under other rules are stale, each by itself', async (t) => {
  const { store, known, at, send } = await open(t)
  const now = known.rules()
  const all = await Promise.all([now, now - 1, now, now + 1, now].map((rules) => send(rules)))
  t.same(all, ['accepted', 'stale', 'accepted', 'stale', 'accepted'])
  const page = { limit: 10, direction: 'older', anchor: null, countUpTo: 10 } as const
  const filter = { accountId: at.accountId, workspaceId: null, mode: null, status: null, to: null, tag: null }
  const { rows } = await store.emails({ ...filter, createdAfter: null, createdBefore: null }, page)
  t.equal(rows.length, 3)
})
