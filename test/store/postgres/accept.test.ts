/** Mail that is acknowledged is stored, once, whatever happens to the connection. */
import t, { type Test } from 'tap'
import { newId } from '../../../src/base/id.js'
import type { Store } from '../../../src/store/port/store.js'
import { noPostgres } from '../../parts/postgres.js'
import { mailFor, T0, type TestAccount, toOne } from '../fixture.js'
import { freshDatabase } from './database.js'

interface At {
  readonly store: Store
  readonly at: TestAccount
  open(): Promise<Store>
  sql(text: string): string
}

/** A workspace and a pool, as far as accepting needs them. */
const fresh = async (t: Test): Promise<At> => {
  const { sql, open } = await freshDatabase(t)
  const store = await open()
  const at = { accountId: newId('acct'), workspace: { id: newId('ws') }, poolId: newId('pool') }
  sql(`INSERT INTO pools (n, id, account_id, name, kind, return_path, notify_success, relayed_means, upstreams,
      created_at, updated_at, ord) VALUES (901, '${at.poolId}', '${at.accountId}', 'p', 'relay', '', 0, '', '[]', 0, 0, 0);
    INSERT INTO workspaces (n, id, account_id, name, slug, is_default, pool_id, ambiguous, line_endings, sender_dsn,
      restrict_senders, alarms, on_alarm, alarmed, suspended_at, suspended_reason, statistics_tags, suppress_soft, routes,
      created_at, ord) VALUES (901, '${at.workspace.id}', '${at.accountId}', 'w', 'w', 0, '${at.poolId}', 'retry', 'strict', 0, 0,
      '{}', 'notify', '{}', NULL, NULL, '[]', '{}', '[]', 0, 0)`)
  return { store, at: at as unknown as TestAccount, open, sql }
}

t.test('what is accepted', { skip: noPostgres() }, async (t) => {
  const { store, at, sql } = await fresh(t)
  const raw = Buffer.from('Subject: \u00e9\r\n\r\n\u0001'.repeat(1000))
  const mail = mailFor(at, {
    raw,
    subject: 'it\'s \\ "so" \u00e9',
    recipients: [toOne('Ana@Example.com'), toOne('bob@example.com', { suppressed: true })],
    tags: [
      { name: 'a', value: 'b' },
      { name: 'a', value: 'b' },
    ],
  })
  t.equal(await store.accept({ mails: [mail, mailFor(at)], idempotency: null, now: T0 }), 'accepted')
  t.same(await store.body(mail.id), raw)
  t.equal(await store.body('em_none'), null)
  t.equal(
    sql(`SELECT status, total, queued, bounced, size, subject FROM emails WHERE id = '${mail.id}'`),
    `bounced|2|1|1|${raw.byteLength}|it's \\ "so" \u00e9`,
  )
  t.equal(
    sql(
      `SELECT address, status, due_at, first FROM recipients WHERE email_ord = (SELECT ord FROM emails WHERE id = '${mail.id}') ORDER BY address`,
    ),
    `Ana@Example.com|queued|${T0}|1\nbob@example.com|bounced||0`,
  )
  t.equal(sql('SELECT count(*) FROM queue'), '2')
  t.equal(
    sql('SELECT count(*), count(recipient) FROM events'),
    '1|1',
    'a suppressed recipient is told of at once',
  )
  t.equal(sql('SELECT count(*) FROM tags'), '1')
  t.equal(sql('SELECT count(*) FROM emails, writers WHERE owner IS NOT NULL AND ord > frontier'), '0')
})

t.test('a crowd, with one among them that is at fault', { skip: noPostgres() }, async (t) => {
  const { store, at, sql } = await fresh(t)
  const mails = Array.from({ length: 60 }, (_, i) =>
    mailFor(at, { subject: i === 17 ? 'a\u0000b' : `n${i}` }),
  )
  const done = await Promise.allSettled(
    mails.map((mail) => store.accept({ mails: [mail], idempotency: null, now: T0 })),
  )
  t.same(
    done.flatMap(({ status }, i) => (status === 'rejected' ? [i] : [])),
    [17],
  )
  t.equal(sql('SELECT count(*) FROM emails'), '59')
  const bodies = await Promise.all(mails.map(({ id }) => store.body(id)))
  t.equal(bodies.filter((body) => body !== null && Buffer.from(body).includes('hello')).length, 59)
  const strange = mailFor({ ...at, poolId: 'pool_none' })
  await t.rejects(
    store.accept({ mails: [strange], idempotency: null, now: T0 }),
    /null value in column "pool"/,
  )
})

t.test('one answer for a key, among two stores', { skip: noPostgres() }, async (t) => {
  const { store, at, open, sql } = await fresh(t)
  const stores = [store, await open()]
  const keyOf = (token: string) => ({
    ...{ workspaceId: at.workspace.id, mode: 'live' as const, key: 'k', token },
    ...{ fingerprint: 'f', now: T0, lockedUntil: T0 + 60_000 },
  })
  const claims = await Promise.all([0, 1, 2, 3].map((i) => stores[i % 2]?.claimKey(keyOf(`t${i}`))))
  const winner = claims.findIndex((claim) => claim?.state === 'claimed')
  t.equal(claims.filter((claim) => claim?.state === 'claimed').length, 1)
  t.equal(claims.filter((claim) => claim?.state === 'in_progress').length, 3)
  const answers = await Promise.all(
    [0, 1, 2, 3].map((i) =>
      stores[i % 2]?.accept({
        mails: [mailFor(at)],
        idempotency: { ...keyOf(`t${i}`), status: 202, body: `{"n":${i}}` },
        now: T0,
      }),
    ),
  )
  t.equal(answers[winner], 'accepted')
  t.equal(answers.filter((answer) => answer === 'lock_lost').length, 3)
  t.equal(sql('SELECT count(*) FROM emails'), '1')
  t.same(await store.claimKey(keyOf('x')), { state: 'done', status: 202, body: `{"n":${winner}}` })
  t.same(await store.claimKey({ ...keyOf('x'), fingerprint: 'g' }), { state: 'mismatch' })
  t.same(
    await store.claimKey({ ...keyOf('x'), now: T0 + 25 * 3600_000 }),
    { state: 'claimed' },
    'a day later',
  )
  await store.releaseKey(keyOf('x'))
  t.same(await store.claimKey(keyOf('y')), { state: 'claimed' })
})

t.test('connections that are cut lose nothing and store nothing twice', { skip: noPostgres() }, async (t) => {
  const { store, at, sql } = await fresh(t)
  const acknowledged: string[] = []
  for (let round = 0; round < 5; round++) {
    const mails = Array.from({ length: 20 }, () => mailFor(at))
    const accepting = mails.map(async (mail) => {
      const answer = await store.accept({ mails: [mail], idempotency: null, now: T0 })
      if (answer === 'accepted') acknowledged.push(mail.id)
    })
    sql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ~ '^postern/[^/]+/[0-9]+$'",
    )
    await Promise.all(accepting)
  }
  t.equal(acknowledged.length, 100)
  t.equal(sql('SELECT count(*), count(DISTINCT id) FROM emails'), '100|100')
})
