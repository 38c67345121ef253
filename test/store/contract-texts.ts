/**
 * NAME      contract-texts - any text that is well-formed is kept as it is, whichever verb brings it
 * DESCRIPTION
 *   Texts that mean something to a database, to its JSON, its lists or its patterns, and the longest keys there are, of
 *   which nothing can be pressed together. Equal in all engines, since each is held against what was given.
 */
import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { newId } from '../../src/base/id.js'
import type { Store } from '../../src/store/port/store.js'
import { domainFor } from './contract-domains.js'
import { endpointFor, postFor } from './contract-hooks.js'
import { linkFor, sessionFor, userFor } from './contract-identity.js'
import { jobOf } from './contract-jobs.js'
import { credentialFor, keyFor, poolFor } from './contract-tenants.js'
import {
  accepted,
  addWorkspace,
  claimOne,
  filterOf,
  HOUR,
  newAccount,
  ofLease,
  page,
  scopeOf,
  T0,
  type TestAccount,
  toOne,
} from './fixture.js'

/** Longer ones the doors refuse; 190 octets become 254 letters. */
const LONGEST = randomBytes(190).toString('base64url')

const TEXTS = [
  ...["'; DROP TABLE emails; --", '"\\" \\\\ \\N \\.', '\\u0000 \\ud800 \\x00 \\0 %00', '{"a":[1,null]}'],
  ...['{a,"b",NULL}', '$1 ? ?? :x @y $$', '%_[a-z]*?', 'NULL', 'null', '0', '1e5', 'true', ' x ', '""'],
  ...['\u0001\b\u001f\u007f\u0080\u009f', 'a\tb\r\nc\vd\fe', '\u2028\u2029', '\ufffe\uffff\ufeff\ufffd'],
  ...['\u{1f4e7}\u{10ffff}\u{10000}', 'e\u0301 \u202eabc\u2066 \u200f', 'ǅ ß ﬁ İ ı ſ', LONGEST],
]

const HEAD = ['subject', 'from', 'to', 'replyTo', 'messageId', 'tags', 'attachments'] as const

type Case = (store: Store, at: TestAccount, text: string) => Promise<readonly [got: unknown, wanted: unknown]>

const CASES: Readonly<Record<string, Case>> = {
  async 'of a mail'(store, at, text) {
    const over = {
      ...{ subject: text, from: text, to: [text], replyTo: [text], messageId: `<${text}>`, envid: text },
      ...{ content: JSON.stringify({ html: text, text, headers: { [text]: text } }) },
      ...{ tags: [{ name: text, value: text }], attachments: [{ filename: text, type: text, size: 1 }] },
      recipients: [toOne('ana@x.test', { dsn: { notify: 'NEVER', orcpt: text } })],
      source: 'smtp' as const,
    }
    const mail = await accepted(store, at, over as never)
    const found = await store.email(scopeOf(at), mail.id)
    const [claimed] = await store.claim(at.poolId, 10, T0 + HOUR, T0)
    const { rows } = await store.emails(filterOf(at, { tag: { name: text, value: text } }), page())
    const named = await store.findEmails(`<${text}>`, 10)
    return [
      [pick(found, HEAD), claimed?.envid, claimed?.dsn, rows.map(({ id }) => id), named.map(({ id }) => id)],
      [pick(mail, HEAD), text, { notify: 'NEVER', orcpt: text }, [mail.id], [mail.id]],
    ]
  },
  async 'of an outcome'(store, at, text) {
    const mail = await accepted(store, at)
    const claimed = await claimOne(store, at, T0)
    await store.attempting([{ ...claimed, attempt: 1, upstreamId: text, at: T0 }])
    const said = {
      ...{
        reply: { code: 550, enhanced: '5.1.1', text },
        reason: text.slice(0, 60),
        detail: { error: text, stage: text },
      },
      ...{ mta: { poolId: at.poolId, upstreamId: text, host: text }, dedupe: `${newId('evt')} ${text}` },
    }
    await store.settle([ofLease(claimed, { ...said, seen: 'rejected' })])
    const { rows } = await store.events(mail.id, page())
    const person = (await store.email(scopeOf(at), mail.id))?.recipients[0]
    const { reply, mta, reason, detail } = rows[0] ?? {}
    return [
      [{ reply, mta, reason, detail }, person?.lastResponse, person?.reason],
      [pick(said, ['reply', 'mta', 'reason', 'detail']), `550 5.1.1 ${text}`, said.reason],
    ]
  },
  async 'of a hold, and of an order'(store, at, text) {
    const mail = await accepted(store, at)
    const scope = { ...scopeOf(at), poolId: null, domain: null, emailId: mail.id }
    const hold = { ...scope, id: newId('hold'), reason: text, owner: 'operator', createdAt: T0 } as const
    await store.hold(hold)
    await store.operate({ action: 'release', scope, to: null, reason: text, now: T0 })
    const { rows } = await store.events(mail.id, page())
    return [rows.slice(0, 2).map(({ reason }) => reason), [text, text]]
  },
  async 'of an idempotency key'(store, at, text) {
    const claim = { workspaceId: at.workspace.id, mode: 'live', key: text, fingerprint: text } as const
    const locked = { ...claim, token: text, now: T0, lockedUntil: T0 + HOUR }
    const first = await store.claimKey(locked)
    const answer = { ...claim, token: text, status: 202, body: text }
    const mail = { ...(await accepted(store, at)), id: newId('em'), recipients: [toOne('b@x.test')] }
    const done = await store.accept({ mails: [mail], idempotency: answer, now: T0 })
    return [
      [first, done, await store.claimKey({ ...locked, token: 'other' })],
      [{ state: 'claimed' }, 'accepted', { state: 'done', status: 202, body: text }],
    ]
  },
  async 'of who is who'(store, at, text) {
    const shop = await addWorkspace(store, at, text, { defaultFrom: text })
    const id = newId('ses')
    const key = keyFor(at, { name: text, lookup: `${id} ${text}` })
    const credential = credentialFor(at, { username: text, hash: text })
    const pool = poolFor(at, { name: text })
    const user = userFor(at, {
      email: text,
      name: text,
      timeZone: text,
      views: [{ title: text, path: text }],
    })
    const link = linkFor(at, { email: text, lookup: `${id} ${text}`, createdBy: text })
    const session = sessionFor(at, { id, userAgent: text, lookup: `${id} ${text}`, address: text })
    const domain = domainFor(at, text)
    const writes = [store.createKey(key), store.createCredential(credential), store.createPool(pool)]
    await Promise.all([...writes, store.createUser(user), store.createLink(link), store.createDomain(domain)])
    await store.createSession(session)
    return [
      [
        ...[await store.workspace(at.accountId, text), (await store.keyByLookup(key.lookup))?.name],
        ...[await store.credential(credential.id), (await store.pool(at.accountId, text))?.name],
        ...[
          await store.user(at.accountId, user.id),
          (await store.sessionByLookup(session.lookup))?.userAgent,
        ],
        ...[await store.domain(at.accountId, text)],
      ],
      [shop.workspace, text, credential, text, user, text, domain],
    ]
  },
  async 'of a suppression'(store, at, text) {
    const row = { id: newId('sup'), accountId: at.accountId, list: at.workspace.id, email: text }
    const more = { origin: 'manual', sourceId: text, reason: text, expiresAt: null, createdAt: T0 } as const
    await store.addSuppression({ ...row, ...more })
    const { rows } = await store.suppressions(at.workspace.id, null, page())
    return [
      [rows, await store.removeSuppression(at.workspace.id, text)],
      [[{ ...row, ...more }], { ...row, ...more }],
    ]
  },
  async 'of webhooks, jobs and notices'(store, at, text) {
    const endpoint = endpointFor(at, { url: text, secret: text, headers: text, domains: [text] })
    const post = postFor(endpoint.id, { url: text, headers: { [text]: text }, answer: text, cause: text })
    const job = jobOf(at, { reason: text, lastError: text })
    await store.createEndpoint(endpoint, 'm1')
    await store.savePosts([post])
    await store.addJob(job)
    const type = 'suppression.added'
    const to = { accountId: at.accountId, workspaceId: null, mode: 'live', now: T0 } as const
    await store.addNotice({ type, ...to, data: { id: text, [text]: text }, dedupe: `${job.id} ${text}` })
    const found = await store.endpoint(at.accountId, endpoint.id)
    return [
      [
        pick(found, ['url', 'secret', 'headers', 'domains']),
        await store.post(endpoint.id, post.id),
        await store.job(at.accountId, job.id),
      ],
      [{ url: text, secret: text, headers: text, domains: [text] }, post, job],
    ]
  },
  async 'of who did it'(store, at, text) {
    const actor = { kind: 'person', id: text, name: text, address: text, reason: text } as const
    await store.by(actor).createKey(keyFor(at, { name: text, lookup: newId('key') }))
    const all = { action: null, actorId: text, objectId: null, workspaceId: null, since: null, until: null }
    const { rows } = await store.audit(at.accountId, all, page())
    return [
      rows.map(({ actor, detail }) => [actor.id, actor.name, actor.address, detail.reason]),
      [[text, text, text, text]],
    ]
  },
}

const pick = (row: object | null, names: readonly string[]): unknown =>
  Object.fromEntries(Object.entries(row ?? {}).filter(([name]) => names.includes(name)))

const plain = (text: string): string =>
  JSON.stringify(text).replace(/[^\x20-\x7e]/g, (c) => `U+${c.codePointAt(0)?.toString(16)}`)

export const textsContract = async (t: Test, store: Store): Promise<void> => {
  for (const [name, run] of Object.entries(CASES))
    await t.test(name, async (t) => {
      for (const text of TEXTS) {
        const [got, wanted] = await run(store, await newAccount(store), text)
        t.same(got, wanted, plain(text))
      }
    })

  await t.test('and what is looked for may be any text at all', async (t) => {
    const at = await newAccount(store)
    await accepted(store, at)
    const { accountId, workspace } = at
    // a list with nothing in it is not compared with what is looked for
    await store.addSuppression({
      ...{ id: newId('sup'), accountId, list: workspace.id, email: 'ana@example.com' },
      ...{ origin: 'manual', sourceId: null, reason: null, expiresAt: null, createdAt: T0 },
    })
    for (const text of [...TEXTS, 'em_\0', 'a\0@x.test', '<\0@x.test>', '\ud83d']) {
      const tag = { name: text, value: text }
      const found = await Promise.all([
        ...[store.email(scopeOf(at), text), store.workspace(accountId, text), store.pool(accountId, text)],
        ...[store.user(accountId, text), store.domain(accountId, text), store.keyByLookup(`x${text}`)],
        ...[store.job(accountId, text), store.endpoint(accountId, text), store.session(accountId, text)],
      ])
      t.ok(
        found.every((one) => one === null),
        plain(text),
      )
      const lists = [
        store.emails(filterOf(at, { tag }), page()),
        store.emails(filterOf(at, { to: text }), page()),
      ]
      t.same(
        (await Promise.all(lists)).flatMap(({ rows }) => rows),
        [],
      )
      t.same(await store.suppressed(workspace.id, [text], T0), [])
      t.same(await store.findEmails(text, 10), [])
    }
  })
}
