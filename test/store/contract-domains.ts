/**
 * NAME      contract-domains - sending domains
 */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { Store } from '../../src/store/port/store.js'
import type { DomainRow } from '../../src/store/port/tenants.js'
import { poolFor } from './contract-tenants.js'
import { addWorkspace, newAccount, page, T0, type TestAccount } from './fixture.js'

export const domainFor = (at: TestAccount, name: string, over: Partial<DomainRow> = {}): DomainRow => ({
  id: newId('dom'),
  accountId: at.accountId,
  workspaceId: null,
  name,
  keys: [
    {
      ...{ selector: 'pn1r', algorithm: 'rsa', sealed: 'sealed', record: 'v=DKIM1; p=AAAA' },
      ...{ state: 'active', createdAt: T0, retiredAt: null },
    },
  ],
  verifiedAt: null,
  checkedAt: null,
  createdAt: T0,
  updatedAt: T0,
  ...over,
})

export const domainsContract = async (t: Test, store: Store): Promise<void> => {
  const at = await newAccount(store)
  const other = await newAccount(store)

  await t.test('found by id and by name, in its account alone', async (t) => {
    const row = domainFor(at, 'a.example')
    t.equal(await store.createDomain(row), 'done')
    t.equal(await store.createDomain(domainFor(at, 'a.example')), 'not_unique')
    t.equal(await store.createDomain(domainFor(other, 'a.example')), 'done')
    for (const ref of [row.id, 'a.example']) t.same(await store.domain(at.accountId, ref), row)
    t.equal(await store.domain(other.accountId, row.id), null)
    t.ok((await store.allDomains()).some(({ id }) => id === row.id))
  })

  await t.test('listed newest first, of the account or of one workspace', async (t) => {
    const second = await addWorkspace(store, at, 'of-domains')
    const bound = domainFor(at, 'b.example', { workspaceId: second.workspace.id })
    await store.createDomain(bound)
    const names = async (workspaceId?: string) =>
      (await store.domains(at.accountId, page(), workspaceId)).rows.map(({ name }) => name)
    t.same(await names(), ['b.example', 'a.example'])
    t.same(await names(second.workspace.id), ['b.example'])
    t.same(await names(at.workspace.id), [])
  })

  await t.test('changed only as it was read; removed once, by its own account', async (t) => {
    const row = domainFor(at, 'c.example')
    await store.createDomain(row)
    const later = { ...row, verifiedAt: T0 + 1, updatedAt: T0 + 1 }
    t.equal(await store.updateDomain({ ...later, accountId: other.accountId }, T0, null), false)
    t.equal(await store.updateDomain(later, T0, null), true)
    t.equal(await store.updateDomain({ ...row, updatedAt: T0 + 2 }, T0, null), false, 'somebody was faster')
    t.same(await store.domain(at.accountId, row.id), later)
    t.equal(await store.removeDomain(other.accountId, row.id), false)
    t.equal(await store.removeDomain(at.accountId, row.id), true)
    t.equal(await store.removeDomain(at.accountId, row.id), false)
    t.equal(await store.updateDomain(later, T0 + 1, null), false)
  })

  await t.test('the mark of what a relay goes by is another after each change of it', async (t) => {
    const [row, pool, ring] = [domainFor(at, 'mark.example'), poolFor(at), await store.returnPathRing()]
    const changes: Readonly<Record<string, () => Promise<unknown>>> = {
      'a pool': () => store.createPool(pool),
      'its upstreams': () => store.updatePool({ ...pool, upstreams: [], updatedAt: T0 + 1 }),
      'whom pools follow': () => store.updateWorkspace(at.workspace.id, { poolId: pool.id }),
      'a domain': () => store.createDomain(row),
      'its keys': () => store.updateDomain({ ...row, keys: [], updatedAt: T0 + 1 }, T0, null),
      'a domain gone': () => store.removeDomain(at.accountId, row.id),
      'a new key of return paths': () => store.replaceReturnPathRing(ring, 'another'),
    }
    const isKept = store.system === 'postgresql'
    for (const [what, change] of Object.entries(changes)) {
      const before = await store.relayMark()
      t.equal(before !== null, isKept, 'none where the rows are at hand')
      t.equal(await store.relayMark(), before)
      t.not(await change(), false, what)
      t.equal((await store.relayMark()) !== before, isKept, what)
    }
  })
}
