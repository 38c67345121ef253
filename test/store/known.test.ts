/** Rows by which sends are decided: at hand, and never believed when the rules have moved. */
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { newId } from '../../src/base/id.js'
import { createKnown } from '../../src/store/known.js'
import type { Store } from '../../src/store/port/store.js'
import type { CredentialRow } from '../../src/store/port/tenants.js'
import { connect } from '../../src/store/postgres/connection.js'
import { openPostgresStore } from '../../src/store/postgres/open.js'
import { serversOf } from '../../src/store/postgres/servers.js'
import { openSqliteStore } from '../../src/store/sqlite/open.js'
import { eventually } from '../parts/eventually.js'
import { noPostgres } from '../parts/postgres.js'
import { credentialFor, keyFor } from './contract-tenants.js'
import { mailFor, newAccount, T0 } from './fixture.js'
import { freshDatabase } from './postgres/database.js'

interface Both {
  /** Of a daemon. */
  readonly store: Store
  /** Another process, as the command line is. */
  readonly other: Store
  /** Whoever writes without either, where the database lets him. */
  readonly sql: ((text: string) => string) | null
  /** The same in a session of its own, which may leave a transaction open. */
  readonly beside: (() => Promise<(text: string) => Promise<unknown>>) | null
}

const never = () => null

const inFile = (t: Test): Both => {
  const dataDir = t.testdir()
  const [store, other] = [true, false].map((daemon) => openSqliteStore({ dataDir, daemon })) as [Store, Store]
  return { store, other, sql: null, beside: null }
}

const onServer = async (t: Test): Promise<Both> => {
  const { urls, sql } = await freshDatabase(t)
  const lock = () => ({ owner: randomUUID(), unlock: () => {} })
  const beside = async () => {
    const connection = await connect(serversOf(urls), 'beside')
    t.teardown(() => connection.close())
    return (text: string) => connection.query({ text, values: [] })
  }
  return { store: openPostgresStore({ urls, lock }), other: openPostgresStore({ urls }), sql, beside }
}

const holds = (both: (t: Test) => Both | Promise<Both>) => async (t: Test) => {
  const open = async (t: Test) => {
    const { store, other, sql, beside } = await both(t)
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
    await known.look()
    const send = async (rules?: number) =>
      store.accept({
        mails: [mailFor(at)],
        idempotency: null,
        rules: rules ?? (await known.rules()),
        now: T0,
      })
    return { store, other, sql, beside, known, at, key, send }
  }

  await t.test('another process has none at hand', async (t) => {
    const { other } = await open(t)
    t.equal(other.known, undefined)
  })

  await t.test('what another process changes is stale for a send, and seen by a look', async (t) => {
    const { other, known, at, key, send } = await open(t)
    const find = async () => (await known.key(at.accountId, key.id))?.id
    t.equal(await find(), key.id)
    t.equal((await known.keyByLookup(key.lookup))?.id, key.id)
    t.equal(await send(), 'accepted')
    const before = await known.rules()
    await other.revokeKey(at.accountId, key.id)
    t.equal(await known.rules(), before, 'nothing tells of it')
    t.equal(await find(), key.id)
    t.equal(await send(), 'stale', 'but accept finds out')
    t.not(await known.look(), before)
    t.equal(await find(), undefined)
    t.equal(await known.keyByLookup(key.lookup), null)
    t.equal(await send(), 'accepted')
    await other.createKey(key)
    t.equal(await find(), key.id, 'what is not there is asked for again')
    await other.revokeKey(at.accountId, key.id)
    await known.lookOnce()
    t.equal(await find(), undefined, 'a look sees it at once')
  })

  await t.test('every row by which a send is decided counts, and nothing else', async (t) => {
    const { store, other, known, at, key, send } = await open(t)
    const { accountId, workspace } = at
    const moves = async (what: string, does: () => Promise<unknown>, expected = true) => {
      const before = await known.look()
      await does()
      t.equal((await known.look()) !== before, expected, what)
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

  await t.test('whoever writes moves the rules, and who takes it back has not', async (t) => {
    const { sql, known, at, key, send } = await open(t)
    if (sql === null) return
    const by = async (text: string, expected: 'stale' | 'accepted') => {
      const before = await known.look()
      sql(text)
      t.equal(await send(before), expected, text)
    }
    const revoke = `DELETE FROM keys WHERE id = '${key.id}'`
    await by(`BEGIN; ${revoke}; ROLLBACK`, 'accepted')
    t.equal((await known.key(at.accountId, key.id))?.id, key.id)
    await by(`UPDATE keys SET last_used_at = 1 WHERE id = '${key.id}'`, 'accepted')
    await by(`UPDATE workspaces SET alarmed = '{}' WHERE id = '${at.workspace.id}'`, 'accepted')
    await by(`UPDATE keys SET expires_at = 1 WHERE id = '${key.id}'`, 'stale')
    await by(`SET search_path = pg_catalog; DELETE FROM public.keys WHERE id = '${key.id}'`, 'stale')
    t.equal(await known.key(at.accountId, key.id), null)
    await by('TRUNCATE credentials', 'stale')
    await by("UPDATE pools SET name = name || '-2'", 'stale')
    await by('CREATE ROLE clerk; GRANT DELETE, SELECT ON domains TO clerk', 'accepted')
    await by('SET ROLE clerk; DELETE FROM domains', 'stale')
    // what runs with the rights of the owner looks at nothing of the clerk's
    sql(`SET ROLE clerk; CREATE TEMP TABLE rules (n bigint); INSERT INTO rules VALUES (0);
      CREATE TEMP TABLE rule_moves (n bigint); GRANT ALL ON rules, rule_moves TO PUBLIC;
      CREATE FUNCTION pg_temp.steal() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN GRANT SELECT ON public.keys TO clerk; RETURN NEW; END';
      CREATE TRIGGER steal BEFORE UPDATE ON rules FOR EACH ROW EXECUTE FUNCTION pg_temp.steal();
      CREATE TRIGGER steal BEFORE INSERT ON rule_moves FOR EACH ROW EXECUTE FUNCTION pg_temp.steal();
      DELETE FROM domains WHERE false`)
    t.match(sql("SELECT has_table_privilege('clerk', 'keys', 'SELECT')"), /^f/m)
    sql('DROP OWNED BY clerk; DROP ROLE clerk')
  })

  await t.test('who moved the rules and does not commit holds up nobody who moves them, too', async (t) => {
    const { sql, beside, store, known, at, send } = await open(t)
    if (sql === null || beside === null) return
    const other = keyFor(at, { id: newId('key'), lookup: newId('key').slice(-12) })
    const held = await beside()
    await held(`BEGIN; UPDATE workspaces SET default_from = 'x@acme.test' WHERE id = '${at.workspace.id}'`)
    const before = await known.look()
    await store.createKey(other)
    const after = await known.look()
    t.not(after, before)
    sql(`DELETE FROM keys WHERE id = '${other.id}'`)
    const last = await known.look()
    t.not(last, after)
    t.equal(await send(last), 'accepted')
    await held('COMMIT')
    t.equal(await send(last), 'stale')
    t.equal(await send(await known.look()), 'accepted')
  })

  await t.test('what was being read when the rules moved is not kept', async (t) => {
    const { other, known, at, key } = await open(t)
    const { accountId } = at
    await other.createCredential(credentialFor(at))
    await known.look()
    const reading = known.key(accountId, key.id)
    await other.revokeKey(accountId, key.id)
    await known.look()
    await reading
    t.equal(await known.key(accountId, key.id), null)
  })

  await t.test('a commit that fails tells nothing, and what is known stays good', async (t) => {
    const { store, known, at, key, send } = await open(t)
    const before = await known.rules()
    const bad = { ...mailFor(at), workspaceId: newId('ws') }
    const [one, two] = await Promise.allSettled([
      store.accept({ mails: [bad], idempotency: null, rules: before, now: T0 }),
      send(before),
    ])
    t.equal(one.status, 'rejected')
    t.match(two, { status: 'fulfilled', value: 'accepted' }, 'others of the batch are stored')
    t.equal(await known.rules(), before)
    t.equal((await known.key(at.accountId, key.id))?.id, key.id)
  })

  await t.test(
    'of a crowd those that were decided under other rules are stale, each by itself',
    async (t) => {
      const { store, known, at, send } = await open(t)
      const now = await known.rules()
      const all = await Promise.all([now, now - 1, now, now + 1, now].map((rules) => send(rules)))
      t.same(all, ['accepted', 'stale', 'accepted', 'stale', 'accepted'])
      const page = { limit: 10, direction: 'older', anchor: null, countUpTo: 10 } as const
      const filter = {
        accountId: at.accountId,
        workspaceId: null,
        mode: null,
        status: null,
        to: null,
        tag: null,
      }
      const { rows } = await store.emails({ ...filter, createdAfter: null, createdBefore: null }, page)
      t.equal(rows.length, 3)
    },
  )

  await t.test('one that is stale answers no key, and keeps its lock', async (t) => {
    const { store, known, at } = await open(t)
    const now = await known.rules()
    const of = { workspaceId: at.workspace.id, mode: 'live', key: 'k', token: 'a' } as const
    const claim = { ...of, fingerprint: 'f', now: T0, lockedUntil: T0 + 60_000 }
    const accept = (rules: number | null) =>
      store.accept({
        ...{ mails: [mailFor(at)], rules, now: T0 },
        idempotency: { ...of, status: 202, body: '{}' },
      })
    t.match(await store.claimKey(claim), { state: 'claimed' })
    t.equal(await accept(now + 1), 'stale')
    t.match(await store.claimKey({ ...claim, token: 'b' }), { state: 'in_progress' })
    t.equal(await accept(now), 'accepted')
    t.equal(await accept(now), 'lock_lost')
    t.match(await store.claimKey({ ...claim, token: 'b' }), { state: 'done', status: 202 })
  })
}

t.test('there are a thousand at most, and those stay that are asked for', async (t) => {
  let reads = 0
  const credential = async (id: string) => {
    reads++
    return id === 'nobody' ? null : ({ id } as CredentialRow)
  }
  const known = createKnown({ keyByLookup: never, key: never, workspace: never, credential }, () => 1)
  await known.look()
  const read = async (...ids: readonly string[]): Promise<number> => {
    const before = reads
    for (const id of ids) await known.credential(id)
    return reads - before
  }
  const ids = Array.from({ length: 1_000 }, (_, n) => `smtp_${n}`)
  t.equal(await read(...ids), 1_000)
  t.equal(await read(...ids), 0)
  t.equal(await read('nobody', 'nobody', 'nobody', ...ids), 3, 'who is not there takes no place')
  t.equal(await read(ids[0] ?? '', 'smtp_another', ids[0] ?? '', ids[1] ?? ''), 2)
})

t.test('SQLite', holds(inFile))
t.test('PostgreSQL', { skip: noPostgres() }, holds(onServer))
