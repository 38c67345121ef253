/**
 * NAME      contract-search - finding mail: each kind of term, pages, what is removed
 */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { NewEmail } from '../../src/lifecycle/facts.js'
import { parseQuery } from '../../src/mail/query.js'
import type { SearchFilter } from '../../src/store/port/mail.js'
import type { Store } from '../../src/store/port/store.js'
import {
  accepted,
  addWorkspace,
  claimOne,
  filterOf,
  HOUR,
  indexMails,
  newAccount,
  type OpenStore,
  ofLease,
  page,
  report,
  T0,
  type TestAccount,
  toOne,
} from './fixture.js'

const DAY = 24 * HOUR
const TIMES = {
  day: (text: string) => Date.parse(`${text}T00:00Z`),
  time: (text: string) => Date.parse(text),
}

export const searchFor = (at: TestAccount, q: string, over: Partial<SearchFilter> = {}): SearchFilter => {
  const parsed = parseQuery(q, TIMES)
  if ('mistake' in parsed) throw new Error(parsed.mistake.message)
  return { ...filterOf(at), subjects: true, query: parsed.query, ...over }
}

const index = async (store: Store): Promise<void> => {
  for (let n = 1; n > 0; ) n = await indexMails(store, 7)
}

const found = async (store: Store, filter: SearchFilter): Promise<readonly string[]> =>
  (await store.searchEmails(filter, page({ limit: 100 }))).rows.map(({ subject }) => subject)

const termsContract = async (t: Test, store: Store): Promise<void> => {
  const at = await newAccount(store)
  const put = (subject: string, over: Partial<NewEmail> = {}) => accepted(store, at, { subject, ...over })
  await put('Your receipt 4711', { tags: [{ name: 'kind', value: 'Receipt' }] })
  await put('Größe wählen: Straße', {
    recipients: [toOne('bob+news@münchen.example'.replace('münchen', 'xn--mnchen-3ya'))],
  })
  await put('注文確認のお知らせ 第3回', { recipients: [toOne('yuki@shop.example.jp')] })
  await put('ยืนยันคำสั่งซื้อ')
  await put('Password reset', {
    mode: 'test',
    from: 'Support <help@acme.test>',
    attachments: [{ filename: 'a.pdf', content_type: 'application/pdf', size: 3, content_id: null }],
  })
  const first = await put('Reset your password', {
    createdAt: T0 - 3 * DAY,
    recipients: [toOne('Carla@Example.org')],
  })
  await put('ΠΡΟΣΦΟΡΑ', { messageId: '<carla@example.org>' })
  const foreign = await put('From outside', { source: 'smtp', messageId: '<Abc.123@client.example>' })
  await put('Sent again', { extras: { resent_from: first.id } })
  await index(store)
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['receipt', ['Your receipt 4711']],
    ['rec', ['Your receipt 4711']],
    ['"rec"', []],
    ['rec your', []],
    ['YOUR rece', ['Your receipt 4711']],
    ['"your receipt"', ['Your receipt 4711']],
    ['"receipt your"', []],
    ['subject:password', ['Reset your password', 'Password reset']],
    ['"password reset"', ['Password reset']],
    ['grosse', ['Größe wählen: Straße']],
    ['strasse wahlen', ['Größe wählen: Straße']],
    ['確認', ['注文確認のお知らせ 第3回']],
    ['文確認の', ['注文確認のお知らせ 第3回']],
    ['第3回', ['注文確認のお知らせ 第3回']],
    ['第32回', []],
    ['確', ['注文確認のお知らせ 第3回']],
    ['คำสั่ง', ['ยืนยันคำสั่งซื้อ']],
    ['bob+n', ['Größe wählen: Straße']],
    ['to:bob+news@münchen.example', ['Größe wählen: Straße']],
    ['domain:münchen.example', ['Größe wählen: Straße']],
    ['shop.example.jp', ['注文確認のお知らせ 第3回']],
    ['domain:example.jp', []],
    ['to:carla@example.org', ['Reset your password']],
    ['carla@example.org', ['ΠΡΟΣΦΟΡΑ', 'Reset your password']],
    ['προσ', ['ΠΡΟΣΦΟΡΑ']],
    ['ΠΡΟΣ', ['ΠΡΟΣΦΟΡΑ']],
    ['carl', ['Reset your password']],
    ['from:help', ['Password reset']],
    ['from:help@acme.test', ['Password reset']],
    ['tag:kind', ['Your receipt 4711']],
    ['tag:kind:receipt', ['Your receipt 4711']],
    ['tag:kind=receipt', ['Your receipt 4711']],
    ['tag:kind:other', []],
    ['has:attachment', ['Password reset']],
    ['password -has:attachments', ['Reset your password']],
    ['is:test', ['Password reset']],
    ['password is:live', ['Reset your password']],
    ['is:resent', ['Sent again']],
    ['before:2026-11-18', ['Reset your password']],
    ['after:2026-11-18 password', ['Password reset']],
    [`pool:sandbox receipt`, ['Your receipt 4711']],
    ['pool:none receipt', []],
    [first.id, ['Reset your password']],
    [`message-id:${first.messageId}`, ['Reset your password']],
    ['Abc.123@client.example', ['From outside']],
    [foreign.messageId, ['From outside']],
    ['status:bounced', []],
    ['is:held', []],
    ['reason:spam', []],
    ['receipt OR is:resent', ['Sent again', 'Your receipt 4711']],
    ['password is:test OR carla@example.org', ['Reset your password', 'Password reset']],
    ['password NOT is:test', ['Reset your password']],
    [`receipt OR id:${first.id}`, ['Reset your password', 'Your receipt 4711']],
    ['from:help OR -status:queued', ['Password reset']],
    ['status:queued OR status:sent receipt', ['Your receipt 4711']],
    ['pool:none OR Abc.123@client.example', ['From outside']],
    ['-password -receipt -is:resent -確認 -"from outside" -wählen -προσφορα', ['ยืนยันคำสั่งซื้อ']],
  ]
  for (const [q, subjects] of cases) t.same(await found(store, searchFor(at, q)), subjects, q)
  t.same(
    await found(store, searchFor(at, 'receipt', { subjects: false })),
    [],
    'who sees no subjects finds none',
  )
  t.same(await found(store, searchFor(at, 'subject:receipt', { subjects: false })), [])
  t.same(await found(store, searchFor(at, '-receipt carla', { subjects: false })), ['Reset your password'])
  t.same(await found(store, searchFor(at, 'password', { mode: 'test' })), ['Password reset'])
  t.same(await found(store, searchFor(at, 'password', { to: 'carla@example.org' })), ['Reset your password'])
  t.same(await found(store, searchFor(at, 'your', { tag: { name: 'kind', value: 'Receipt' } })), [
    'Your receipt 4711',
  ])
  t.same(await found(store, searchFor(at, 'password', { createdBefore: T0 - DAY })), ['Reset your password'])
}

const unknownContract = async (t: Test, store: Store): Promise<void> => {
  const at = await newAccount(store)
  await accepted(store, at, { tags: [{ name: 'kind', value: 'Receipt' }], submittedBy: 'key_gone' })
  const other = await newAccount(store)
  await accepted(store, other, { tags: [{ name: 'theirs', value: 'x' }] })
  await index(store)
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['key:nope -key:neither', ['nope', 'neither']],
    ['key:key_gone', []],
    ['pool:sandbox pool:nope', ['nope']],
    ['tag:kind tag:kind=receipt', []],
    ['tag:theirs tag:kind:other', ['theirs', 'kind:other']],
    ['reason:mailbox_full -reason:mailbox_ful', ['mailbox_ful']],
    ['pool:sandbox OR pool:nope', ['nope']],
    ['nobody@nowhere.test status:bounced is:held', []],
  ]
  for (const [q, unknown] of cases) {
    const found = await store.searchEmails(searchFor(at, q), page({ limit: 1 }))
    t.same(
      found.unknown.map(({ value }) => value),
      unknown,
      q,
    )
  }
}

const scopeContract = async (t: Test, store: Store): Promise<void> => {
  const at = await newAccount(store)
  const other = await addWorkspace(store, at, 'other')
  const stranger = await newAccount(store)
  for (const one of [at, other, stranger])
    await accepted(store, one, { subject: `secret of ${one.workspace.slug}` })
  await index(store)
  const all = { ...searchFor(at, 'secret'), workspaceId: null }
  t.same(await found(store, searchFor(at, 'secret')), ['secret of default'])
  t.same(await found(store, all), ['secret of other', 'secret of default'])
  t.same(await found(store, { ...all, accountId: stranger.accountId }), ['secret of default'])
  const id = { ...searchFor(at, 'ana@example.com'), workspaceId: at.workspace.id }
  t.equal((await found(store, id)).length, 1)
}

const troubleContract = async (t: Test, store: Store): Promise<void> => {
  const at = await newAccount(store)
  const send = async (subject: string, over: Parameters<typeof ofLease>[1] = {}) => {
    await accepted(store, at, { subject })
    const claimed = await claimOne(store, at, T0 + 1)
    await store.settle([ofLease(claimed, over)])
    return claimed.recipientId
  }
  await send('later', { seen: 'postponed', retryAt: T0 + 9 * HOUR })
  await send('fine')
  const annoyed = await send('too much')
  const doubted = await send('who says so')
  await store.settle([
    report(annoyed, { seen: 'complained', source: 'arf', reason: 'abuse' }),
    report(doubted, { seen: 'complained', source: 'arf', trusted: false }),
  ])
  await index(store)
  t.same(await found(store, searchFor(at, 'is:deferred')), ['later'])
  t.same(await found(store, searchFor(at, 'is:complained')), ['too much'])
  t.same(await found(store, searchFor(at, 'example.com is:complained')), ['too much'])
  t.same(await found(store, searchFor(at, '-is:complained -is:deferred')), ['who says so', 'fine'])
  t.same(await found(store, searchFor(at, 'is:deferred OR is:complained')), ['too much', 'later'])
  const stranger = await newAccount(store)
  t.same(await found(store, searchFor(stranger, 'is:complained')), [])
}

const stateContract = async (t: Test, store: Store): Promise<void> => {
  const at = await newAccount(store)
  await accepted(store, at, { subject: 'bounces' })
  const claimed = await claimOne(store, at, T0 + 1)
  await store.settle([ofLease(claimed, { seen: 'rejected', reason: 'mailbox_full' })])
  await accepted(store, at, { subject: 'rests' })
  await store.hold({
    id: newId('hold'),
    accountId: at.accountId,
    workspaceId: at.workspace.id,
    poolId: null,
    domain: null,
    emailId: null,
    reason: 'look first',
    owner: 'operator',
    createdAt: T0,
  })
  await index(store)
  t.same(await found(store, searchFor(at, 'status:bounced')), ['bounces'])
  t.same(await found(store, searchFor(at, 'reason:mailbox_full')), ['bounces'])
  t.same(await found(store, searchFor(at, '-reason:mailbox_full')), ['rests'])
  t.same(await found(store, searchFor(at, 'is:held')), ['rests'])
  t.same(await found(store, searchFor(at, 'example.com -is:held')), ['bounces'])
  t.same(await found(store, searchFor(at, 'status:bounced OR is:held')), ['rests', 'bounces'])
  t.same(await found(store, searchFor(at, '-status:queued')), ['bounces'])
  t.same(await found(store, searchFor(at, '-status:bounced')), ['rests'])
  t.same(await found(store, searchFor(at, 'example.com', { status: 'bounced' })), ['bounces'])
}

/** All pages in one direction. */
const walk = async (store: Store, filter: SearchFilter, limit: number): Promise<readonly string[]> => {
  const subjects: string[] = []
  let anchor: string | null = null
  for (let more = true; more; ) {
    const { rows, hasOlder, older } = await store.searchEmails(filter, page({ limit, anchor }))
    subjects.push(...rows.map(({ subject }) => subject))
    more = hasOlder
    anchor = older
  }
  return subjects
}

const pagesContract = async (t: Test, store: Store): Promise<void> => {
  const at = await newAccount(store)
  for (let i = 0; i < 23; i++) await accepted(store, at, { subject: `${i % 2 === 0 ? 'even' : 'odd'} n${i}` })
  await index(store)
  const odd = Array.from({ length: 11 }, (_, i) => `odd n${21 - 2 * i}`)
  for (const limit of [1, 3, 11, 50])
    t.same(await walk(store, searchFor(at, 'odd'), limit), odd, `${limit} a page`)
  t.same(await walk(store, searchFor(at, '-even'), 4), odd)
  // a busy machine may spend what a look may last before all is counted: then it says no total
  let first = await store.searchEmails(searchFor(at, 'odd'), page({ limit: 3, countUpTo: 100 }))
  for (let i = 0; i < 50 && first.total === null; i++)
    first = await store.searchEmails(searchFor(at, 'odd'), page({ limit: 3, countUpTo: 100 }))
  t.match(first, { total: 11, hasOlder: true, hasNewer: false })
  const second = await store.searchEmails(searchFor(at, 'odd'), page({ limit: 3, anchor: first.older }))
  t.equal(second.hasNewer, true)
  const back = await store.searchEmails(
    searchFor(at, 'odd'),
    page({ limit: 3, anchor: second.newer, direction: 'newer' }),
  )
  t.same(
    back.rows.map(({ subject }) => subject),
    odd.slice(0, 3),
  )
  t.match(back, { hasNewer: false, hasOlder: true })
}

/** Whoever polls sees each mail once, however late it comes into the index. */
const pollContract = async (t: Test, store: Store): Promise<void> => {
  const at = await newAccount(store)
  const seen: string[] = []
  const start = await store.searchEmails(searchFor(at, 'poll'), page())
  let anchor = start.newer
  const look = async (): Promise<void> => {
    const next = await store.searchEmails(
      searchFor(at, 'poll'),
      page({ limit: 3, anchor, direction: 'newer' }),
    )
    seen.push(...next.rows.map(({ subject }) => subject).reverse())
    anchor = next.newer
  }
  const all: string[] = []
  for (let i = 0; i < 40; i++) {
    all.push(`poll ${i}`)
    await accepted(store, at, { subject: `poll ${i}` })
    if (i % 3 === 0) await look()
    if (i % 5 === 0) await indexMails(store, 4)
  }
  await index(store)
  for (let i = 0; i < 20; i++) await look()
  t.same(seen, all)
}

const placeContract = async (t: Test, open: OpenStore): Promise<void> => {
  const store = await open(t)
  const at = await newAccount(store)
  t.equal(await store.notIndexedSince(), null)
  await accepted(store, at, { subject: 'early', createdAt: T0 })
  await accepted(store, at, { subject: 'late', createdAt: T0 + 5 })
  t.equal(await store.notIndexedSince(), T0)
  t.same(await found(store, searchFor(at, 'is:live')), [], 'nothing above the place of the index')
  t.equal(await indexMails(store, 1), 1)
  t.equal(await store.notIndexedSince(), T0 + 5)
  t.same(await found(store, searchFor(at, 'ana@example.com')), ['early'])
  const both = await Promise.all([indexMails(store, 5), indexMails(store, 5)])
  t.ok(both.includes(1))
  t.same(await found(store, searchFor(at, 'ana@example.com')), ['late', 'early'])
  t.equal(await indexMails(store, 5), 0)
}

const movedContract = async (t: Test, store: Store): Promise<void> => {
  const at = await newAccount(store)
  await accepted(store, at, { subject: 'moves', scheduledAt: T0 + HOUR })
  const relay = (await store.allPools()).find(
    (pool) => pool.accountId === at.accountId && pool.kind === 'relay',
  )
  t.ok(relay)
  const mail = await accepted(store, at, { subject: 'moves', poolId: relay?.id ?? '' })
  await index(store)
  const own = await found(store, searchFor(at, `pool:${relay?.id} moves`))
  t.equal(own.length, 1)
  t.equal((await found(store, searchFor(at, `pool:${at.poolId} moves`))).length, 1)
  const [target] = (await store.allPools()).filter(
    (pool) => pool.accountId === at.accountId && pool.id !== relay?.id,
  )
  const moved = await store.operate({
    action: 'reroute',
    scope: { accountId: at.accountId, workspaceId: null, poolId: null, domain: null, emailId: mail.id },
    to: target?.id ?? '',
    reason: 'test',
    now: T0 + 1,
  })
  t.equal(moved, 1)
  t.equal((await found(store, searchFor(at, `pool:${relay?.id} moves`))).length, 0)
  t.equal(
    (await found(store, searchFor(at, `pool:${target?.id} moves`))).length,
    target?.id === at.poolId ? 2 : 1,
  )
}

/** `copy` puts so many copies of the newest mail above it. */
export const deepContract = async (
  t: Test,
  store: Store,
  copy: (count: number) => void | Promise<void>,
): Promise<void> => {
  const at = await newAccount(store)
  await accepted(store, at, { subject: 'long ago' })
  const claimed = await claimOne(store, at, T0 + 1)
  await store.settle([ofLease(claimed, { seen: 'rejected', reason: 'mailbox_full' })])
  await accepted(store, at, { subject: 'to come', scheduledAt: T0 + HOUR })
  await copy(20_000)
  while ((await indexMails(store, 2_000)) > 0) {}
  for (const q of ['-status:scheduled', 'status:bounced OR status:sent', 'NOT status:scheduled subject:ago'])
    t.match(
      await store.searchEmails(searchFor(at, q), page({ limit: 2 })),
      { rows: [{ subject: 'long ago' }], hasOlder: false, searchedTo: null },
      q,
    )
}

export const searchContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await t.test('every term', (t) => termsContract(t, store))
  await t.test('what a query names in vain', (t) => unknownContract(t, store))
  await t.test('of whom', (t) => scopeContract(t, store))
  await t.test('what became of it', (t) => stateContract(t, store))
  await t.test('what went wrong with it', (t) => troubleContract(t, store))
  await t.test('pages', (t) => pagesContract(t, store))
  await t.test('polling', (t) => pollContract(t, store))
  await t.test('the place of the index', (t) => placeContract(t, open))
  await t.test('another pool', (t) => movedContract(t, store))
}
