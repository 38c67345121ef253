/** The queue moves from one installation to another: whole, once, and back when it did not. */
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Store } from '../../src/store/port.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { accepted, type Ground, HOUR, ofLease, toOne } from '../store/fixture.js'
import { type Desk, openDesk } from './desk.js'

const withStore = async <T>(desk: Desk, use: (store: Store, at: Ground) => Promise<T>): Promise<T> => {
  const store = openSqliteStore({ dataDir: join(desk.dir, 'data'), daemon: false })
  await store.open()
  try {
    const accountId = (await store.accounts())[0]?.id ?? ''
    const workspace = await store.workspace(accountId, 'default')
    const pool = await store.pool(accountId, 'sandbox')
    if (workspace === null || pool === null) throw new Error('no ground')
    return await use(store, { accountId, workspace, poolId: pool.id })
  } finally {
    await store.close()
  }
}

const due = (desk: Desk) =>
  withStore(desk, async (store, at) => {
    const later = Date.now() + 9 * HOUR
    const claimed = await store.claim(at.poolId, 100, later + HOUR, later)
    await store.release(claimed, Date.now())
    return claimed.map(({ emailId, address, attempts }) => `${emailId} ${address} ${attempts}`).sort()
  })

t.test('there, once, and as it was', async (t) => {
  const [here, there] = [openDesk(t), openDesk(t)]
  await here.json(['workspace', 'list'])
  await there.json(['workspace', 'list'])
  const file = join(here.dir, 'queue.jsonl')
  const mails = await withStore(here, async (store, at) => {
    const now = Date.now()
    const small = await accepted(store, at, {
      createdAt: now,
      recipients: [toOne('a@x.test'), toOne('b@x.test')],
    })
    const large = await accepted(store, at, { createdAt: now, raw: Buffer.alloc(100_000, 'x\r\n') })
    const later = await accepted(store, at, { createdAt: now, scheduledAt: now + 8 * HOUR })
    const [first] = await store.claim(at.poolId, 1, now + HOUR, now)
    if (first === undefined) throw new Error('nothing is due')
    await store.settle([ofLease(first, { seen: 'postponed', retryAt: now + HOUR, at: now })])
    const [busy] = (await store.claim(at.poolId, 10, now + HOUR, now)).filter(
      (one) => one.emailId === large.id,
    )
    await store.release([busy as never], now)
    await store.release([{ recipientId: small.recipients[1]?.id ?? '', leaseGen: 1 }], now)
    return { small, large, later }
  })
  const before = await due(here)
  t.equal(before.length, 4)
  t.match(await here.json(['queue', 'export', file, '--all', '--dry-run']), { dry_run: true })
  t.match(await here.run(['queue', 'export', file, '--all']), { code: 64, stderr: /--yes/ })
  t.match(await here.json(['queue', 'export', file, '--all', '--yes']), { mails: 3, waiting: 0 })
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.same(await due(here), [], 'nothing is sent from here')
  await here.json(['queue', 'release', '--all', '--reason', 'x'])
  await here.json(['queue', 'purge', '--all', '--reason', 'x', '--yes'])
  t.same(await due(here), [], 'not by other orders either')

  t.match(await there.json(['queue', 'import', file, '--dry-run']), { imported: 0, mails: 3 })
  t.match(await there.json(['queue', 'import', file, '--yes']), { imported: 3 })
  t.same(await due(there), before)
  t.match(await there.json(['queue', 'import', file, '--yes']), { imported: 0, known: 3 }, 'only once')
  t.equal((await due(there)).length, 4)
  await withStore(there, async (store) => {
    t.same(Buffer.from((await store.body(mails.large.id)) ?? ''), Buffer.alloc(100_000, 'x\r\n'))
    t.equal((await store.content(mails.small.id)) !== null, true)
  })
  const shown = await there.run(['email', 'show', mails.small.id])
  t.match(shown, { code: 0, stdout: /carried over/ })
  t.equal((await there.json(['email', 'show', mails.later.id])).id, mails.later.id)
})

t.test('an export that did not happen is taken back; one that was cut off is repeated', async (t) => {
  const here = openDesk(t)
  await here.json(['workspace', 'list'])
  await withStore(here, (store, at) => accepted(store, at, { createdAt: Date.now() }))
  const file = join(here.dir, 'a.jsonl')
  await here.json(['queue', 'export', file, '--all', '--yes'])
  t.match(await here.run(['queue', 'export', file, '--all', '--yes']), { code: 73 })
  const again = join(here.dir, 'b.jsonl')
  t.match(await here.json(['queue', 'export', again, '--all', '--yes']), { mails: 1 })
  t.match(await here.json(['queue', 'take-back', '--all', '--yes']), { mails: 1, changed: 1 })
  t.equal((await due(here)).length, 1)
})

t.test('what is held stays, and that is said', async (t) => {
  const here = openDesk(t)
  await here.json(['workspace', 'list'])
  await withStore(here, (store, at) => accepted(store, at, { createdAt: Date.now() }))
  await here.json(['queue', 'hold', '--all', '--reason', 'moving', '--yes'])
  const said = await here.run(['queue', 'export', join(here.dir, 'a.jsonl'), '--all', '--yes'])
  t.match(said, { code: 0, stdout: / 0 mails/, stderr: /1 recipients stayed here.*queue release/ })
  t.notMatch(said.stderr, /next, on the other machine/)
  await here.json(['queue', 'release', '--all', '--reason', 'moving', '--yes'])
  const file = join(here.dir, 'b.jsonl')
  t.match(await here.json(['queue', 'export', file, '--all', '--yes']), { mails: 1, held: 0 })
})

t.test('a file that is not whole, or does not fit, changes nothing', async (t) => {
  const [here, there] = [openDesk(t), openDesk(t)]
  await here.json(['workspace', 'list'])
  await withStore(here, (store, at) => accepted(store, at, { createdAt: Date.now() }))
  const file = join(here.dir, 'a.jsonl')
  await here.json(['queue', 'export', file, '--all', '--yes'])
  const whole = readFileSync(file, 'utf8')
  const refused = async (text: string, words: RegExp): Promise<void> => {
    writeFileSync(file, text)
    t.match(await there.run(['queue', 'import', file, '--yes']), { code: 65, stderr: words })
  }
  await refused(`${whole.split('\n').slice(0, 2).join('\n')}\n`, /ends early/)
  await refused('{"a":1}\n', /no export/)
  await refused('hello\n', /a\.jsonl:1: is no JSON/)
  await refused(whole.replaceAll('"workspace":"default"', '"workspace":"other"'), /no workspace other/)
  truncateSync(file, whole.length - 20)
  t.match(await there.run(['queue', 'import', file, '--yes']), { code: 65 })
  t.same(await due(there), [])
})

t.test("dev takes no service's mail", async (t) => {
  const here = openDesk(t)
  await here.json(['workspace', 'list'])
  await withStore(here, (store, at) => accepted(store, at, { createdAt: Date.now() }))
  t.match(await here.run(['dev']), { code: 78, stderr: /1 recipients wait there.*POSTERN_DATA_DIR=/ })
  t.equal((await due(here)).length, 1, 'it waits still')
})
