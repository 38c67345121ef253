/** contract-setups - what a setup made is known by its name in the files; one at a time applies it */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { Actor } from '../../src/store/port/identity.js'
import type { Store } from '../../src/store/port/store.js'
import type { ManagedRow, SetupLock } from '../../src/store/port/tenants.js'
import { newAccount, page, T0, type TestAccount } from './fixture.js'

const lockOf = (at: TestAccount, over: Partial<SetupLock> = {}): SetupLock => ({
  ...{ accountId: at.accountId, setup: 'shop', owner: 'a', until: T0 + 10 },
  ...over,
})

const rowOf = (over: Partial<ManagedRow> = {}): Omit<ManagedRow, 'setup'> => ({
  ...{ kind: 'key', workspace: 'shop', name: 'web', objectId: newId('key') },
  ...{ applied: { mode: 'live', list: ['a', 1] }, at: T0 },
  ...over,
})

export const setupsContract = async (t: Test, store: Store): Promise<void> => {
  await t.test('one owner at a time, until the end of the lock or until it is given back', async (t) => {
    const at = await newAccount(store)
    const [a, b] = [lockOf(at), lockOf(at, { owner: 'b', until: T0 + 30 })]
    t.equal(await store.beginSetup(a, T0), 'done')
    t.equal(await store.beginSetup(b, T0 + 9), 'taken')
    t.equal(await store.beginSetup({ ...b, setup: 'other' }, T0), 'done', 'another setup has its own')
    t.equal(await store.noteManaged({ ...a, until: T0 + 20 }, [], []), true, 'who works on has it for longer')
    t.equal(await store.beginSetup(b, T0 + 19), 'taken')
    t.equal(await store.beginSetup(b, T0 + 20), 'done', 'its end has come')
    t.equal(await store.noteManaged(a, [rowOf()], []), false, 'who lost it writes nothing')
    t.same(await store.managed(at.accountId), [])
    await store.endSetup(a)
    t.equal(await store.beginSetup(a, T0 + 21), 'taken', 'nor gives it back for others')
    await store.endSetup(b)
    t.equal(await store.beginSetup(a, T0 + 21), 'done')
  })

  await t.test('rows are written, replaced and removed by their names', async (t) => {
    const at = await newAccount(store)
    const lock = lockOf(at)
    await store.beginSetup(lock, T0)
    const begun = rowOf({ objectId: null })
    const pool = rowOf({ kind: 'pool', workspace: '', name: 'eu' })
    await store.noteManaged(lock, [pool, begun], [])
    t.same(await store.managed(at.accountId), [
      { ...begun, setup: 'shop' },
      { ...pool, setup: 'shop' },
    ])
    const done = rowOf({ applied: { mode: 'test' }, at: T0 + 1 })
    await store.noteManaged(lock, [done], [pool])
    t.same(await store.managed(at.accountId), [{ ...done, setup: 'shop' }])
    t.same(await store.managed((await newAccount(store)).accountId), [], 'another account has none of it')
  })

  await t.test('objects tell which setup made them, and under which name', async (t) => {
    const at = await newAccount(store)
    await store.beginSetup(lockOf(at), T0)
    const made = Array.from({ length: 150 }, (_, i) => rowOf({ name: `key ${i}` }))
    await store.noteManaged(lockOf(at), [...made, rowOf({ name: 'begun', objectId: null })], [])
    const ids = made.map(({ objectId }) => objectId ?? '')
    const of = ({ kind, workspace, name, objectId }: Omit<ManagedRow, 'setup'>) => ({
      ...{ setup: 'shop', kind, workspace, name, objectId },
    })
    const [first, last] = [made[0] ?? rowOf(), made[149] ?? rowOf()]
    t.same(await store.managedNames(at.accountId, [newId('key'), ids[0] ?? '']), [of(first)])
    t.same(await store.managedNames(at.accountId, []), [])
    const all = await store.managedNames(at.accountId, ids)
    t.equal(all.length, 150)
    t.match(
      all.find(({ objectId }) => objectId === last.objectId),
      of(last),
      'more than one statement takes',
    )
    t.same(await store.managedNames((await newAccount(store)).accountId, ids), [], 'none of another account')
  })

  await t.test('all of one apply is one entry of the audit', async (t) => {
    const at = await newAccount(store)
    const actor: Actor = { kind: 'cli', id: 'cli:1', name: 'bo', address: null }
    const entry = newId('aud')
    const applying = store.by(actor, entry)
    const all = { action: null, actorId: null, objectId: null, workspaceId: null, since: null, until: null }
    const entries = async () => (await store.audit(at.accountId, all, page())).rows
    t.equal(await applying.beginSetup(lockOf(at), T0), 'done')
    t.same(await entries(), [], 'the lock alone changes nothing')
    t.equal(await applying.noteManaged(lockOf(at), [rowOf()], [], true), true)
    t.equal(await store.by(actor).noteManaged(lockOf(at), [rowOf()], []), true, 'no other note is one')
    await applying.deletePool(at.accountId, 'pool_none')
    t.equal(await store.by(actor).noteManaged(lockOf(at, { owner: 'b' }), [rowOf()], [], true), false)
    const rows = await entries()
    t.equal(rows.length, 1)
    t.match(rows[0], { id: entry, action: 'setup.applied', object: { type: 'setup', id: 'shop' } })
  })
}
