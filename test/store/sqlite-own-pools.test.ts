/**
 * A database of 0.1.0 whose workspaces shared the pool `default`: each gets its
 * own, and its waiting mail with it.
 */
import t from 'tap'
import { newId } from '../../src/base/id.js'
import type { Store } from '../../src/store/port/store.js'
import { type Db, openWriter, prepareFile } from '../../src/store/sqlite/connect.js'
import { runStep, STEPS } from '../../src/store/sqlite/migrate/steps.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { page, T0 } from './fixture.js'

const OLD_VERSION = 8
const ACCOUNT = newId('acct', T0)

interface OldMail {
  readonly emailId: string
  readonly recipientId: string
}

const addPool = (db: Db, name: string, kind = 'relay'): string => {
  const id = newId('pool', T0)
  db.prepare(
    `INSERT INTO pools (id, account_id, name, kind, return_path, notify_success, relayed_means, upstreams,
       created_at, updated_at) VALUES (?, ?, ?, ?, 'verp', 1, 'delivered', '[]', ?, ?)`,
  ).run(id, ACCOUNT, name, kind, T0, T0)
  return id
}

const addWorkspace = (db: Db, slug: string, poolId: string | null): string => {
  const id = newId('ws', T0)
  db.prepare(
    `INSERT INTO workspaces (id, account_id, name, slug, is_default, pool_id, ambiguous, line_endings, sender_dsn,
       restrict_senders, created_at) VALUES (?, ?, ?, ?, ?, ?, 'retry', 'strict', 0, 0, ?)`,
  ).run(id, ACCOUNT, slug, slug, slug === 'default' ? 1 : 0, poolId, T0)
  return id
}

/** `rest`: what of the queue's columns it has. */
const addMail = (db: Db, workspaceId: string, poolId: string, status: string, rest: object): OldMail => {
  const [emailId, recipientId] = [newId('em', T0), newId('em', T0)]
  const n = (table: string, id: string) => db.prepare(`SELECT n FROM ${table} WHERE id = ?`).pluck().get(id)
  const [workspace, pool] = [n('workspaces', workspaceId), n('pools', poolId)]
  db.prepare(
    `INSERT INTO emails (id, workspace, test, status, total, ${status}, created_at, updated_at, pool, body, size,
       source, utf8, message_id, sender, subject, lists)
     VALUES (?, ?, 0, ?, 1, 1, ?, ?, ?, 0, 0, 'api', 0, '<x>', 'a@b.test', 'x', ?)`,
  ).run(
    emailId,
    workspace,
    status,
    T0,
    T0,
    pool,
    '{"to":[],"cc":[],"bcc":[],"replyTo":[],"tags":[],"attachments":[]}',
  )
  const row = {
    id: recipientId,
    email_id: emailId,
    workspace,
    pool,
    kind: 'to',
    status,
    updated_at: T0,
    queued_at: T0,
    address: 'ana@example.com',
    address_lc: 'ana@example.com',
    ...rest,
  }
  db.prepare(
    `INSERT INTO recipients (${Object.keys(row).join(', ')}) VALUES (${Object.keys(row).map(() => '?')})`,
  ).run(...Object.values(row))
  return { emailId, recipientId }
}

const poolOf = async (store: Store, { emailId }: OldMail) => {
  const record = await store.email({ accountId: ACCOUNT, workspaceId: null, mode: null }, emailId)
  const scope = { accountId: ACCOUNT, workspaceId: null, poolId: null, domain: null, emailId }
  const {
    rows: [entry],
  } = await store.queueEntries(scope, page({ limit: 1 }))
  return [record?.poolId, entry?.poolId]
}

t.test('workspaces without a pool get one, and what waits for them comes along', async (t) => {
  const dataDir = t.testdir()
  const db = openWriter(prepareFile(dataDir))
  for (const step of STEPS.slice(0, OLD_VERSION)) runStep(db, step, T0)
  db.prepare('INSERT INTO accounts (id, name, created_at) VALUES (?, ?, ?)').run(ACCOUNT, 'default', T0)
  addPool(db, 'sandbox', 'sandbox')
  const shared = addPool(db, 'default')
  const main = addPool(db, 'main')
  addPool(db, 'blog')
  const home = addWorkspace(db, 'default', null)
  const shop = addWorkspace(db, 'shop', null)
  const blog = addWorkspace(db, 'blog', null)
  const own = addWorkspace(db, 'own', main)
  const due = { due_at: T0 }
  const old = {
    home: addMail(db, home, shared, 'queued', due),
    due: addMail(db, shop, shared, 'queued', due),
    later: addMail(db, shop, shared, 'deferred', { due_at: T0 + 3600_000, attempts: 3 }),
    held: addMail(db, shop, shared, 'queued', { held: 'hold_x', held_due: T0 }),
    leased: addMail(db, blog, shared, 'queued', { boot: 7, lease_gen: 1, lease_until: T0 }),
    done: addMail(db, shop, shared, 'sent', {}),
    elsewhere: addMail(db, shop, main, 'queued', due),
    own: addMail(db, own, main, 'queued', due),
  }
  db.pragma(`user_version = ${OLD_VERSION}`)
  db.close()

  const store = openSqliteStore({ dataDir, daemon: true })
  t.teardown(() => store.close())
  await store.open()
  const pool = async (slug: string) => {
    const workspace = await store.workspace(ACCOUNT, slug)
    return store.pool(ACCOUNT, workspace?.poolId ?? '')
  }
  t.match(await pool('default'), { id: shared, follows: null })
  const shops = await pool('shop')
  t.match(shops, { name: 'shop', upstreams: [], kind: 'relay', follows: shared })
  const blogs = await pool('blog')
  t.match(blogs, { name: 'blog-2', follows: shared }, 'a name that was taken')
  t.match(await pool('own'), { id: main })
  t.same(await poolOf(store, old.home), [shared, shared])
  for (const mail of [old.due, old.later, old.held]) t.same(await poolOf(store, mail), [shops?.id, shops?.id])
  t.same(await poolOf(store, old.leased), [blogs?.id, blogs?.id])
  t.same(await poolOf(store, old.done), [shared, undefined], 'what is over stays where it was')
  t.same(await poolOf(store, old.elsewhere), [main, main], 'what was rerouted stays there')
  t.same(await poolOf(store, old.own), [main, main])
  const claimed = await store.claim(shops?.id ?? '', 10, T0 + 60_000, T0)
  t.same(
    claimed.map(({ recipientId }) => recipientId),
    [old.due.recipientId],
    'and is claimed there',
  )
})
