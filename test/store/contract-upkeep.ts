/**
 * NAME      contract-upkeep - recovery, retention, depth and life cycle
 */
import type { Test } from 'tap'
import {
  accepted,
  addWorkspace,
  claimOne,
  filterOf,
  HOUR,
  newAccount,
  type OpenStore,
  ofLease,
  page,
  scopeOf,
  T0,
  toOne,
} from './fixture.js'

const KEEP = { bodiesMs: 24 * HOUR, emailsMs: 48 * HOUR }

export const upkeepContract = async (t: Test, open: OpenStore): Promise<void> => {
  await t.test('opening twice, closing twice, migrating again: all fine', async (t) => {
    const store = await open(t)
    await store.open()
    await store.migrate()
    t.same(await store.check(), [])
    await store.close()
    await store.close()
    await t.rejects(store.accounts())
  })

  await t.test('the mark of a pepper is kept, the last one', async (t) => {
    const store = await open(t)
    t.equal(await store.pepperMark(), null)
    for (const mark of ['a', 'b']) await store.setPepperMark(mark)
    t.equal(await store.pepperMark(), 'b')
    await store.setPepperMark('c', true)
    t.equal(await store.pepperMark(), 'b', 'the first one stays for whoever wants to be that')
  })

  await t.test('the ring of return-path keys is replaced by whoever has seen it', async (t) => {
    const store = await open(t)
    t.equal(await store.returnPathRing(), null)
    t.equal(await store.replaceReturnPathRing('x', 'a'), false)
    t.equal(await store.replaceReturnPathRing(null, 'a'), true)
    t.equal(await store.replaceReturnPathRing(null, 'b'), false)
    t.equal(await store.replaceReturnPathRing('a', 'b'), true)
    t.equal(await store.returnPathRing(), 'b')
  })

  await t.test('the place of the sandbox is moved by whoever knows where it is', async (t) => {
    const store = await open(t)
    const place = async () => (await store.readPlaces()).sandbox
    t.equal(await place(), null)
    t.equal(await store.keepRead({ to: 'a', sandbox: { from: 'x' } }), null)
    t.same(await store.keepRead({ to: 'a', sandbox: { from: null } }), [])
    t.equal(await store.keepRead({ to: 'b', sandbox: { from: null } }), null)
    t.same(await store.keepRead({ to: 'b', sandbox: { from: 'a' } }), [])
    t.equal(await place(), 'b')
  })

  await t.test('how the clock stands to the rows', async (t) => {
    const store = await open(t)
    await store.followClock()
    const now = Date.now()
    const lead = await store.clockLead(now)
    t.equal(await store.clockLead(now + HOUR), lead + HOUR)
    t.ok(lead < HOUR)
  })

  await t.test('who writes can be seen, and this one is among them', async (t) => {
    const store = await open(t)
    const [writer, ...others] = await store.writers()
    t.match(writer, { role: String, version: String, host: String, pools: null })
    t.ok(Number(writer?.lagMs) < HOUR)
    t.same(others, [])
    t.ok(((await store.serverState())?.oldest?.ageMs ?? 0) < HOUR)
    const { daemons, self } = store.cluster()
    t.same({ daemons, self }, { daemons: 1, self: writer?.n })
    for (const _ of [1, 2]) t.equal(await store.holdsWork('jobs'), true, 'it has all the work')
  })

  await t.test('only a pool that is ready is handed its mail', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    t.doesNotThrow(() => store.ready([at.poolId]))
    t.equal(typeof store.load().commitSeconds.sum, 'number')
  })

  await t.test('recover leaves the leases of the living alone', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    t.same(await store.recover('earlier', T0), { released: 0, ambiguous: 0 })
    t.match(await store.settle([ofLease(claimed)]), [{ applied: true }])
  })

  await t.test('bodies go first, emails later, and what is under way never', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const old = await accepted(store, at, { tags: [{ name: 'a', value: 'b' }] })
    await store.settle([ofLease(await claimOne(store, at, T0))])
    const waiting = await accepted(store, at)
    const young = await accepted(store, at, { createdAt: T0 + 47 * HOUR })
    t.equal(await store.sweep(T0 + 23 * HOUR, KEEP), 0)
    await store.sweep(T0 + 25 * HOUR, KEEP)
    t.equal(await store.body(old.id), null)
    t.equal(await store.content(old.id), null)
    t.equal((await store.email(scopeOf(at), old.id))?.id, old.id)
    t.ok(await store.body(waiting.id))
    await store.sweep(T0 + 49 * HOUR, KEEP)
    const left = await store.emails(filterOf(at), page())
    t.same(
      left.rows.map((row) => row.id),
      [young.id, waiting.id],
    )
    t.same((await store.events(old.id, page())).rows, [])
    t.same((await store.emails(filterOf(at, { tag: { name: 'a', value: 'b' } }), page())).rows, [])
    t.equal(await store.recipient(old.recipients[0]?.id ?? ''), null)
    t.equal(await store.sweep(T0 + 49 * HOUR, KEEP), 0, 'nothing more')
  })

  await t.test('a mail whose body is gone never shows, nor takes, the body of a later one', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const keep = { bodiesMs: 24 * HOUR, emailsMs: 48 * HOUR }
    const old = await accepted(store, at)
    await store.settle([ofLease(await claimOne(store, at, T0))])
    await store.sweep(T0 + 25 * HOUR, keep)
    const later = await accepted(store, at, {
      createdAt: T0 + 26 * HOUR,
      content: '{"secret":true}',
      raw: Buffer.from('Subject: another\r\n\r\nsecret\r\n'),
    })
    t.equal(await store.content(old.id), null)
    t.equal(await store.body(old.id), null)
    await store.sweep(T0 + 49 * HOUR, keep)
    t.equal(await store.email(scopeOf(at), old.id), null)
    t.same(Buffer.from((await store.body(later.id)) ?? ''), Buffer.from(later.raw))
    t.match(await claimOne(store, at, T0 + 27 * HOUR), { emailId: later.id })
  })

  await t.test('depth counts due, waiting and leased, by pool and workspace', async (t) => {
    const store = await open(t)
    const at = await newAccount(store)
    const shop = await addWorkspace(store, at, 'shop')
    t.same(await store.depth(), [])
    const past = Date.now() - HOUR
    await accepted(store, at, { createdAt: past, recipients: [toOne('a@x.test'), toOne('b@x.test')] })
    await accepted(store, at, { createdAt: past, scheduledAt: Date.now() + HOUR })
    await accepted(store, shop, { createdAt: past })
    await store.claim(at.poolId, 1, past + HOUR, past)
    const depth = await store.depth()
    const of = (id: string) => depth.find((row) => row.workspaceId === id)
    t.same(of(at.workspace.id), {
      poolId: at.poolId,
      workspaceId: at.workspace.id,
      due: 1,
      leased: 1,
      waiting: 1,
      oldestDueAt: past,
    })
    t.match(of(shop.workspace.id), { due: 1, leased: 0, waiting: 0 })
  })
}
