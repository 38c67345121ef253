/**
 * NAME      contract-ledger - lists, filters, pages, timelines and look-ups
 */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { NewEmail } from '../../src/lifecycle/facts.js'
import { besideRow, type Page, type Rows } from '../../src/lifecycle/page.js'
import { beginningOf } from '../../src/store/pools.js'
import type { EmailFilter } from '../../src/store/port/mail.js'
import type { Store } from '../../src/store/port/store.js'
import { searchFor } from './contract-search.js'
import {
  accepted,
  addWorkspace,
  claimOne,
  filterOf,
  HOUR,
  indexMails,
  mailFor,
  newAccount,
  ofLease,
  outcome,
  page,
  scopeOf,
  T0,
  toOne,
} from './fixture.js'

/** Both sides of each row of a list, by its id; `foreign` is an id of somebody else's. */
const besideEach = async (
  t: Test,
  list: (page: Page) => Promise<Rows<{ readonly id: string }>>,
  foreign: string,
): Promise<void> => {
  const idsOf = ({ rows }: Rows<{ readonly id: string }>) => rows.map(({ id }) => id)
  const ids = idsOf(await list(page({ limit: 100 })))
  t.ok(ids.length > 2)
  for (const [i, id] of ids.entries()) {
    t.same(idsOf(await list(page({ limit: 2, anchor: besideRow(id) }))), ids.slice(i + 1, i + 3))
    const newer = await list(page({ limit: 2, anchor: besideRow(id), direction: 'newer' }))
    t.same(idsOf(newer), ids.slice(Math.max(0, i - 2), i))
    t.equal(newer.hasNewer, i > 2)
  }
  for (const id of [foreign, newId('em'), 'nothing', ''])
    await t.rejects(list(page({ anchor: besideRow(id) })), { code: 'validation.cursor_invalid' }, id)
}

const besideTests = async (t: Test, store: Store): Promise<void> => {
  const at = await newAccount(store)
  const stranger = await newAccount(store)
  const other = await accepted(store, stranger)
  const mails: string[] = []
  for (let i = 0; i < 5; i++) mails.push((await accepted(store, at, { subject: `row ${i}` })).id)
  const test = await accepted(store, at, { mode: 'test' })
  while ((await indexMails(store, 100)) > 0) {}
  const live = filterOf(at, { mode: 'live' })
  await t.test('of a list', (t) => besideEach(t, (page) => store.emails(live, page), other.id))
  await t.test('of another mode', (t) => besideEach(t, (page) => store.emails(live, page), test.id))
  await t.test('of a search', (t) =>
    besideEach(t, (page) => store.searchEmails(searchFor(at, 'row', { mode: 'live' }), page), other.id),
  )
  const of = {
    ...{
      accountId: at.accountId,
      workspaceId: null,
      accountWide: true,
      mode: null,
      types: null,
      emailId: null,
    },
    ...{ recipient: null, change: null, createdAfter: null, createdBefore: null },
  }
  const [theirs] = (await store.log({ ...of, accountId: stranger.accountId }, page())).rows
  await t.test('of the log', (t) => besideEach(t, (page) => store.log(of, page), theirs?.id ?? ''))
  const [claimed] = await store.claim(at.poolId, 1, T0 + HOUR, T0 + 1)
  if (claimed === undefined) throw new Error('nothing was claimed')
  await store.settle([ofLease(claimed, { seen: 'accepted' })])
  const late = await accepted(store, at, {
    recipients: ['a', 'b', 'c'].map((name) => toOne(`${name}@d.test`)),
  })
  await t.test('of a mail', (t) => besideEach(t, (page) => store.events(late.id, page), theirs?.id ?? ''))
  t.equal(
    (await store.emails({ ...live, status: 'queued' }, page({ anchor: besideRow(claimed.emailId) }))).rows
      .length,
    mails.indexOf(claimed.emailId),
    'what became of the row that is named does not matter',
  )
  for (let i = 0; i < 3; i++) await addWorkspace(store, at, `side-${i}`)
  await t.test('of tenants', (t) =>
    besideEach(t, (page) => store.workspaces(at.accountId, page), stranger.workspace.id),
  )
}

const pagingTests = async (t: Test, store: Store): Promise<void> => {
  await t.test('a walk meets every row once, at any limit, though all share one time', async (t) => {
    const at = await newAccount(store)
    const mails = Array.from({ length: 130 }, () => mailFor(at))
    await store.accept({ mails, idempotency: null, now: T0 })
    const newest = mails.map((mail) => mail.id).reverse()
    for (const limit of [1, 7, 100]) {
      const seen: string[] = []
      let anchor: string | null = null
      for (let pages = 0; pages < 200; pages++) {
        const got = await store.emails(filterOf(at), page({ limit, anchor }))
        seen.push(...got.rows.map((row) => row.id))
        t.equal(got.hasNewer, anchor !== null)
        if (!got.hasOlder) break
        anchor = got.older
      }
      t.same(seen, newest, `limit ${limit}`)
    }
  })

  await t.test('newer pages are the nearest rows, newest first', async (t) => {
    const at = await newAccount(store)
    const mails = Array.from({ length: 50 }, () => mailFor(at))
    await store.accept({ mails: mails.slice(0, 10), idempotency: null, now: T0 })
    const { newer: start } = await store.emails(filterOf(at), page())
    await store.accept({ mails: mails.slice(10), idempotency: null, now: T0 })
    const ids = mails.map((mail) => mail.id)
    const sizes: number[] = []
    const climbed: string[] = []
    let anchor = start
    for (let hop = 0; hop < 3; hop++) {
      const got = await store.emails(filterOf(at), page({ direction: 'newer', anchor }))
      sizes.push(got.rows.length)
      climbed.unshift(...got.rows.map((row) => row.id))
      t.equal(got.hasOlder, true)
      t.equal(got.hasNewer, hop === 0)
      anchor = got.newer
    }
    t.same(sizes, [20, 20, 0])
    t.same(climbed, ids.slice(10).reverse())
    const back = await store.emails(filterOf(at), page({ anchor: start, limit: 3 }))
    t.same(
      back.rows.map((row) => row.id),
      [ids[9], ids[8], ids[7]],
      'what a newer page leads away from, it leads back to',
    )
    t.equal(back.hasNewer, true)
    const bottom = await store.emails(filterOf(at), page({ direction: 'newer', limit: 2 }))
    t.same(
      bottom.rows.map((row) => row.id),
      [ids[1], ids[0]],
    )
    t.match(bottom, { hasOlder: false, hasNewer: true })
  })

  await t.test('a mark needs no row, and an empty page still knows its neighbours', async (t) => {
    const at = await newAccount(store)
    const none = await store.emails(filterOf(at), page())
    t.match(none, { rows: [], hasOlder: false, hasNewer: false })
    const newer = page({ direction: 'newer', anchor: none.newer })
    const still = await store.emails(filterOf(at), newer)
    t.match(still, { rows: [], hasOlder: false, hasNewer: false })
    const mail = await accepted(store, at)
    t.match(await store.emails(filterOf(at), newer), { rows: [{ id: mail.id }], hasOlder: false })
    const found = await store.emails(filterOf(at), page({ direction: 'newer', anchor: still.newer }))
    t.match(found, { rows: [{ id: mail.id }], hasOlder: false })
    const above = await store.emails(filterOf(at), page({ direction: 'newer', anchor: found.newer }))
    t.match(above, { rows: [], hasOlder: true, hasNewer: false })
    t.match(await store.emails(filterOf(at), page({ anchor: above.older })), { rows: [{ id: mail.id }] })
    t.match(await store.emails(filterOf(at), page({ anchor: found.older })), { rows: [], hasNewer: true })
  })

  await t.test('counts are asked for, and capped', async (t) => {
    const at = await newAccount(store)
    await store.accept({
      mails: Array.from({ length: 12 }, () => mailFor(at)),
      idempotency: null,
      now: T0,
    })
    const total = async (countUpTo: number) =>
      (await store.emails(filterOf(at), page({ limit: 2, countUpTo }))).total
    t.equal(await total(0), null)
    t.equal(await total(100), 12)
    t.equal(await total(10), 10)
  })
}

const filterTests = async (t: Test, store: Store): Promise<void> => {
  const ids = async (store: Store, filter: EmailFilter, over: Partial<Page> = {}): Promise<string[]> =>
    (await store.emails(filter, page(over))).rows.map((row) => row.id)

  await t.test('every filter, alone and together', async (t) => {
    const at = await newAccount(store)
    const tag = { name: 'kind', value: 'receipt' }
    const make = (over: Partial<NewEmail>) => accepted(store, at, over)
    const tagged = await make({ tags: [tag], createdAt: T0 })
    const bob = await make({
      recipients: [toOne('Bob@Example.com'), toOne('ana@example.com')],
      createdAt: T0 + 10,
    })
    const test = await make({ mode: 'test', tags: [tag, { name: 'a', value: 'b' }], createdAt: T0 + 20 })
    t.same(await ids(store, filterOf(at)), [test.id, bob.id, tagged.id])
    t.same(await ids(store, filterOf(at, { mode: 'live' })), [bob.id, tagged.id])
    t.same(await ids(store, filterOf(at, { mode: 'test' })), [test.id])
    t.same(await ids(store, filterOf(at, { to: 'bob@example.COM' })), [bob.id])
    t.same(await ids(store, filterOf(at, { to: 'ana@example.com', mode: 'live' })), [bob.id, tagged.id])
    t.same(await ids(store, filterOf(at, { tag })), [test.id, tagged.id])
    t.same(await ids(store, filterOf(at, { tag, mode: 'live' })), [tagged.id])
    t.same(await ids(store, filterOf(at, { tag, to: 'ana@example.com', mode: 'test' })), [test.id])
    t.same(await ids(store, filterOf(at, { createdAfter: T0 + 5 })), [test.id, bob.id])
    t.same(await ids(store, filterOf(at, { createdAfter: T0 + 5, createdBefore: T0 + 15 })), [bob.id])
    t.same(await ids(store, filterOf(at, { tag, createdBefore: T0 + 15 })), [tagged.id])
    t.same(await ids(store, filterOf(at, { status: 'sent' })), [])
    const first = (await store.claim(at.poolId, 1, T0 + 9999, T0))[0]
    if (first === undefined) throw new Error('nothing due')
    await store.settle([ofLease(first)])
    t.same(await ids(store, filterOf(at, { status: 'sent' })), [tagged.id])
    t.same(await ids(store, filterOf(at, { status: 'sent', tag, to: 'ana@example.com' })), [tagged.id])
    t.same(await ids(store, filterOf(at, { status: 'queued', to: 'ana@example.com' })), [test.id, bob.id])
    const counted = await store.emails(filterOf(at, { to: 'ana@example.com' }), page({ countUpTo: 99 }))
    t.equal(counted.total, 3)
  })

  await t.test('an account sees all its workspaces in one order, and no other account', async (t) => {
    const at = await newAccount(store)
    const shop = await addWorkspace(store, at, 'shop')
    const accountId = newId('acct')
    const beginning = beginningOf(accountId, T0)
    const { workspace } = beginning
    await store.createAccount({ id: accountId, name: 'other', createdAt: T0 }, beginning)
    const pool = await store.pool(accountId, 'sandbox')
    t.equal(pool?.kind, 'sandbox', 'every account has its sandbox')
    const other = { accountId, workspace, poolId: pool?.id ?? '' }
    const mails: NewEmail[] = []
    for (const where of [at, shop, other, at, shop]) mails.push(await accepted(store, where))
    const mine = [4, 3, 1, 0].map((i) => mails[i]?.id)
    t.same(await ids(store, { ...filterOf(at), workspaceId: null }), mine)
    const { older } = await store.emails({ ...filterOf(at), workspaceId: null }, page({ limit: 1 }))
    t.same(
      await ids(store, { ...filterOf(at), workspaceId: null }, { limit: 3, anchor: older }),
      mine.slice(1),
    )
    t.same(await ids(store, { ...filterOf(at), workspaceId: null, to: 'ana@example.com' }), mine)
    t.same(await ids(store, filterOf(shop)), [mails[4]?.id, mails[1]?.id])
    t.same(await ids(store, { ...filterOf(other), workspaceId: at.workspace.id }), [], 'a foreign workspace')
    const foreign = mails[2]?.id ?? ''
    t.equal(await store.email({ ...scopeOf(at), workspaceId: null }, foreign), null)
    t.equal((await store.email({ ...scopeOf(other), workspaceId: null }, foreign))?.id, foreign)
    t.equal(await store.email(scopeOf(shop), mails[0]?.id ?? ''), null)
    t.equal(await store.email(scopeOf(at, 'test'), mails[0]?.id ?? ''), null)
  })
}

export const ledgerContract = async (t: Test, store: Store): Promise<void> => {
  await pagingTests(t, store)
  await filterTests(t, store)
  await t.test('pages beside a row that is named by its id', (t) => besideTests(t, store))

  await t.test('the timeline is paged too', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at, {
      recipients: ['a', 'b', 'c'].map((name) => toOne(`${name}@x.test`)),
    })
    const first = await store.events(mail.id, page({ limit: 2, countUpTo: 100 }))
    t.match(first, { rows: [{ recipient: 'c@x.test' }, { recipient: 'b@x.test' }], hasOlder: true, total: 3 })
    const second = await store.events(mail.id, page({ limit: 2, anchor: first.older }))
    t.match(second, { rows: [{ recipient: 'a@x.test' }], hasOlder: false, hasNewer: true })
    t.same((await store.events('em_00000000000000000000000000', page())).rows, [])
  })

  await t.test('a bounce finds its recipient', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at, { envid: 'e1' })
    const claimed = await claimOne(store, at, T0)
    t.same(await store.recipient(claimed.recipientId), {
      recipientId: claimed.recipientId,
      emailId: mail.id,
      accountId: at.accountId,
      workspaceId: at.workspace.id,
      mode: 'live',
      address: 'ana@example.com',
      orcpt: null,
      status: 'queued',
      tried: false,
      poolId: at.poolId,
      messageId: mail.messageId,
      isDeleted: false,
      envid: 'e1',
      createdAt: T0,
    })
    const { recipientId, leaseGen } = claimed
    await store.attempting([{ recipientId, leaseGen, attempt: 1, upstreamId: 'up_1', at: T0 }])
    t.match(await store.recipient(recipientId), { status: 'queued', tried: true })
    t.same(await store.lastWords([mail.id]), [], 'nothing was said yet')
    await store.settle([outcome(recipientId, { seen: 'postponed', leaseGen, attempt: 1, retryAt: T0 })])
    t.match(await store.recipient(recipientId), { status: 'deferred', tried: true })
    t.match(await store.lastWords([mail.id, 'em_x']), [{ emailId: mail.id }], 'a list tells why it waits')
    t.equal(await store.recipient('0000000000000000'), null)
  })

  await t.test('a trace is kept with its mail', async (t) => {
    const at = await newAccount(store)
    const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    t.equal(await store.trace((await accepted(store, at, { trace })).id), trace)
    t.equal(await store.trace((await accepted(store, at)).id), null)
  })

  await t.test('operators find mail by Message-ID and by address', async (t) => {
    const at = await newAccount(store)
    const name = at.accountId.slice(-12)
    const recipients = () => [toOne(`Ana@${name}.test`)]
    const api = await accepted(store, at, { recipients: recipients() })
    const smtp = await accepted(store, at, {
      source: 'smtp',
      messageId: `<${name}@client.test>`,
      content: null,
      recipients: recipients(),
    })
    const find = async (text: string) => (await store.findEmails(text, 10)).map((row) => row.id)
    t.same(await find(api.messageId), [api.id])
    t.same(await find(`<${name}@client.test>`), [smtp.id])
    t.same(await find(`ANA@${name}.test`), [smtp.id, api.id])
    t.same(await find(`nobody@${name}.test`), [])
    t.equal((await store.findEmails(`ana@${name}.test`, 1)).length, 1)
    t.equal(await store.content(smtp.id), null)
  })
}
