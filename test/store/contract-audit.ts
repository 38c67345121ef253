/**
 * NAME      contract-audit - who changed what
 */
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import { type Actor, AUDIT_KEPT_MS, type AuditFilter } from '../../src/store/port/identity.js'
import type { Store } from '../../src/store/port/store.js'
import { codesOf, factorOf, sessionFor, userFor } from './contract-identity.js'
import { credentialFor } from './contract-tenants.js'
import {
  accepted,
  addWorkspace,
  HOUR,
  newAccount,
  type OpenStore,
  page,
  T0,
  type TestAccount,
} from './fixture.js'

const ANA: Actor = { kind: 'person', id: 'usr_ana', name: 'ana@acme.test', address: '192.0.2.7' }
const BO: Actor = { kind: 'cli', id: 'cli:1000', name: 'bo', address: null }

const ALL: AuditFilter = {
  ...{ action: null, actorId: null, objectId: null, workspaceId: null, since: null, until: null },
}

const entries = async (store: Store, at: TestAccount, over: Partial<AuditFilter> = {}) =>
  (await store.audit(at.accountId, { ...ALL, ...over }, page({ limit: 100 }))).rows

const keyOf = (at: TestAccount) => ({
  ...({ id: newId('key'), accountId: at.accountId, name: 'ci', mode: 'live', scope: 'workspace' } as const),
  ...{ workspaceId: at.workspace.id, lookup: newId('key').slice(-12), hash: Buffer.alloc(32, 9) },
  ...{
    createdAt: T0,
    lastUsedAt: null,
    lastUsedFrom: null,
    expiresAt: null,
    rateLimitPerMinute: null,
    permission: 'full_access' as const,
    sesSalt: null,
  },
})

export const auditContract = async (t: Test, store: Store, open: OpenStore): Promise<void> => {
  await t.test('a change is written down with who made it; without an actor nothing is', async (t) => {
    const at = await newAccount(store)
    const key = keyOf(at)
    await store.createKey(keyOf(at))
    t.same(await entries(store, at), [])
    await store.by(ANA).createKey(key)
    const [made] = await entries(store, at)
    t.match(made, {
      id: /^aud_/,
      accountId: at.accountId,
      actor: ANA,
      action: 'api_key.created',
      object: { type: 'api_key', id: key.id },
      workspaceId: at.workspace.id,
      detail: { name: 'ci', prefix: `svc_live_${key.lookup}` },
    })
    const next = keyOf(at)
    t.equal(await store.by(BO).rotateKey('acct_x', key.id, next, T0), false)
    t.equal(await store.by(BO).revokeKey('acct_x', key.id), false)
    t.equal((await entries(store, at)).length, 1, 'what was refused changed nothing')
    t.equal(await store.by(BO).rotateKey(at.accountId, key.id, next, T0), true)
    t.match((await entries(store, at))[0], {
      ...{ actor: BO, action: 'api_key.rotated', object: { id: key.id } },
      detail: { followed_by: next.id, expires_at: new Date(T0).toISOString() },
    })
    t.equal(await store.by(BO).revokeKey(at.accountId, key.id), true)
    t.match((await entries(store, at))[0], { actor: BO, action: 'api_key.revoked' })
    t.notMatch(JSON.stringify(await entries(store, at)), /hash|CQkJ/)
  })

  await t.test('what was and what is, of fields that changed', async (t) => {
    const at = await newAccount(store)
    await store.by(ANA).updateWorkspace(at.workspace.id, { name: 'Main', senderDsn: at.workspace.senderDsn })
    t.match(await entries(store, at), [
      { action: 'workspace.updated', detail: { name: { before: at.workspace.name, after: 'Main' } } },
    ])
    await store.by(ANA).updateWorkspace(at.workspace.id, { name: 'Main' })
    t.equal((await entries(store, at)).length, 1, 'nothing changed')
    const user = userFor(at, { hash: '$2b$secret' })
    await store.by(ANA).createUser(user)
    await store.createUser(userFor(at, { email: 'bo@acme.test' }))
    await store.by(ANA).updateUser(at.accountId, user.id, { role: 'viewer', hash: '$2b$other' })
    await store.by(ANA).updateUser(at.accountId, user.id, { disabledAt: T0 })
    const said = await entries(store, at, { objectId: user.id })
    t.match(said, [
      { action: 'user.disabled', detail: { user: user.email } },
      {
        action: 'user.updated',
        detail: { role: { before: 'owner', after: 'viewer' }, password_changed: true },
      },
      { action: 'user.created', detail: { email: user.email } },
    ])
    t.notMatch(JSON.stringify(said), /\$2b/)
  })

  await t.test('second factors: added, removed, reset, and a recovery code that was used', async (t) => {
    const at = await newAccount(store)
    const user = userFor(at)
    await store.createUser(user)
    const [phone, stick] = [factorOf(user), factorOf(user, { kind: 'passkey', name: 'Stick' })]
    const codes = codesOf(user, 2)
    const ana = store.by(ANA)
    await ana.addFactor(phone, codes, null)
    await ana.addFactor(phone, codes, null)
    await ana.addFactor(stick, [], null)
    await ana.takeFactor(at.accountId, user.id, phone.id, 9, T0)
    for (const _ of [1, 2]) await ana.takeFactor(at.accountId, user.id, codes[0]?.id ?? '', 0, T0)
    await ana.replaceRecoveryCodes(at.accountId, user.id, codesOf(user, 2))
    await ana.removeFactor(at.accountId, user.id, phone.id)
    await ana.removeFactor(at.accountId, user.id, phone.id)
    for (const _ of [1, 2]) await store.by(BO).resetFactors(at.accountId, user.id)
    const said = await entries(store, at, { objectId: user.id })
    t.match(said, [
      { actor: BO, action: 'second_factor.reset', detail: { user: user.email, changed: 1 } },
      { action: 'second_factor.removed', detail: { kind: 'totp', name: 'Phone' } },
      { action: 'recovery_codes.replaced', detail: { user: user.email } },
      { action: 'recovery_code.used', detail: { user: user.email } },
      { action: 'second_factor.added', detail: { kind: 'passkey', name: 'Stick' } },
      {
        actor: ANA,
        action: 'second_factor.added',
        detail: { user: user.email, kind: 'totp', name: 'Phone' },
      },
    ])
    t.equal(said.length, 6, 'what changed nothing is not in it')
    t.notMatch(JSON.stringify(said), /sealed|fac_/)
  })

  await t.test('an order of many steps has one entry, with what it changed', async (t) => {
    const at = await newAccount(store)
    const many = 120
    for (let n = 0; n < many; n++) await accepted(store, at)
    const scope = { accountId: at.accountId, workspaceId: at.workspace.id }
    const rest = { poolId: null, domain: null, emailId: null }
    const hold = { ...scope, ...rest, id: newId('hold'), reason: 'wait', owner: 'operator' } as const
    t.equal(await store.by(ANA).hold({ ...hold, createdAt: T0 }), many)
    const order = { scope: { ...scope, ...rest }, to: null, reason: 'go', now: T0 }
    t.equal(await store.by(ANA).operate({ ...order, action: 'release', hold: hold.id }), many)
    t.equal(await store.by(BO).operate({ ...order, action: 'purge' }), many)
    t.match(await entries(store, at), [
      { actor: BO, action: 'queue.purged', detail: { reason: 'go', changed: many } },
      { action: 'hold.removed', object: { id: hold.id }, detail: { changed: many } },
      { action: 'hold.created', object: { id: hold.id }, detail: { reason: 'wait', changed: many } },
    ])
    const shop = await addWorkspace(store, at, 'shop')
    await accepted(store, shop)
    await store.by(BO).suspendWorkspace(shop.workspace, 'spam', T0)
    await store.by(BO).resumeWorkspace(shop.workspace.id, T0 + 1)
    await store.by(BO).deleteWorkspace(at.accountId, shop.workspace.id, 'gone', T0 + 2)
    t.match(await entries(store, at, { workspaceId: shop.workspace.id }), [
      { action: 'workspace.deleted', detail: { changed: 1 } },
      { action: 'workspace.resumed', detail: { changed: 1 } },
      { action: 'workspace.suspended', detail: { changed: 1, reason: 'spam' } },
    ])
  })

  await t.test('calls that share an entry are one order', async (t) => {
    const at = await newAccount(store)
    const view = store.by(BO, newId('aud'))
    const row = (email: string) => ({
      ...({ id: newId('sup'), accountId: at.accountId, list: at.workspace.id, email } as const),
      ...({ origin: 'import', sourceId: null, reason: null, expiresAt: null, createdAt: T0 } as const),
    })
    for (const email of ['a@b.c', 'd@b.c', 'e@b.c']) await view.addSuppression(row(email))
    t.match(await entries(store, at), [{ action: 'suppression.imported', detail: { changed: 3 } }])
    await view.importSuppressions([row('f@b.c'), row('a@b.c'), row('g@b.c')])
    t.match(await entries(store, at), [{ action: 'suppression.imported', detail: { changed: 5 } }])
    const lists = store.by(ANA, newId('aud'))
    for (const emails of [['h@b.c', 'i@b.c'], ['a@b.c'], ['j@b.c']])
      await lists.importSuppressions(
        emails.map((email) => ({ ...row(email), sourceId: 'import:ses' })),
        'cafe',
      )
    t.match((await entries(store, at))[0], {
      action: 'suppression.imported',
      detail: { changed: 3, source: 'import:ses', sha256: 'cafe' },
    })
    const order = store.by(BO, newId('aud'))
    const login = (username: string) => credentialFor(at, { id: newId('cred'), username, imported: true })
    const [one, two] = [login('one'), login('two')]
    await order.importCredentials([one, two])
    await order.importCredentials([login('two'), login('three')])
    t.match((await entries(store, at))[0], {
      action: 'credential.imported',
      object: { type: 'credential', id: null },
      detail: { changed: 3 },
    })
    await store.by(ANA).removeSuppression(at.workspace.id, 'a@b.c')
    t.match((await entries(store, at))[0], {
      action: 'suppression.removed',
      workspaceId: at.workspace.id,
      detail: { email: 'a@b.c' },
    })
  })

  await t.test('cancel and reschedule; a repeated cancel is silent', async (t) => {
    const at = await newAccount(store)
    const mail = await accepted(store, at, { scheduledAt: T0 + HOUR })
    const scope = { accountId: at.accountId, workspaceId: null, mode: null }
    await store.by(ANA).reschedule(scope, mail.id, T0 + 2 * HOUR, T0)
    await store.by(ANA).cancel(scope, mail.id, T0)
    await store.by(ANA).cancel(scope, mail.id, T0)
    t.match(await entries(store, at), [
      { action: 'email.canceled', object: { type: 'email', id: mail.id }, workspaceId: at.workspace.id },
      { action: 'email.rescheduled', detail: { scheduled_at: { after: '2026-11-20T12:00:00.000Z' } } },
    ])
  })

  await t.test('filters and pages', async (t) => {
    const at = await newAccount(store)
    for (const actor of [ANA, BO, ANA]) await store.by(actor).createKey(keyOf(at))
    await store.by(BO).createSession(sessionFor(at))
    const count = async (over: Partial<AuditFilter>) => (await entries(store, at, over)).length
    t.equal(await count({ action: 'api_key' }), 3)
    t.equal(await count({ action: 'api_key.revoked' }), 0)
    t.equal(await count({ action: '*' }), 0, 'no pattern')
    t.equal(await count({ actorId: ANA.id }), 2)
    t.equal(await count({ actorId: BO.id, action: 'session' }), 1)
    t.equal(await count({ workspaceId: at.workspace.id }), 3)
    const all = await entries(store, at)
    const second = all[2]?.at ?? 0
    t.ok((await count({ since: second })) >= 3)
    t.equal(await count({ until: all[3]?.at ?? 0 }), 0)
    const first = await store.audit(at.accountId, ALL, page({ limit: 3, countUpTo: 10 }))
    t.match(first, { total: 4, hasOlder: true })
    const next = await store.audit(at.accountId, ALL, page({ anchor: first.older }))
    t.equal(next.rows.length, 1)
    t.same((await store.audit('acct_x', ALL, page())).rows, [])
  })

  await t.test('kept for 400 days', async (t) => {
    const fresh = await open(t)
    const at = await newAccount(fresh)
    await fresh.by(ANA).createKey(keyOf(at))
    const keep = { bodiesMs: HOUR, emailsMs: HOUR }
    await fresh.sweep(Date.now() + AUDIT_KEPT_MS - HOUR, keep)
    t.equal((await entries(fresh, at)).length, 1)
    await fresh.sweep(Date.now() + AUDIT_KEPT_MS + HOUR, keep)
    t.equal((await entries(fresh, at)).length, 0)
  })
}
