/** Whose list, for how long, and what a send does about it. */
import t from 'tap'
import { fieldsOf, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())

const made = await kit.ask('/v1/api-keys', {
  key: kit.session,
  body: { name: 'ci', mode: 'test', scope: 'workspace', workspace_id: kit.workspaceId },
})
const testKey = made.json.secret as string

const send = async (to: readonly string[], key = kit.key, more = {}) => {
  const reply = await kit.ask('/v1/emails', {
    key,
    body: { from: 'a@b.test', to, subject: 'Hi', text: 'Hi', ...more },
  })
  t.equal(reply.status, 202, reply.text)
  return reply.json
}

const fates = (record: { recipients: { status: string; reason?: string }[] }): string[] =>
  record.recipients.map(({ status, reason }) => reason ?? status)

t.test('a test silences nobody', async (t) => {
  const body = { email: 'tester@b.test' }
  t.equal((await kit.ask('/v1/suppressions', { key: testKey, body })).status, 201)
  t.same(fates(await send(['tester@b.test'], testKey)), ['suppressed'])
  t.same(fates(await send(['tester@b.test'])), ['queued'])
  t.equal((await kit.ask('/v1/suppressions/tester@b.test')).json.code, 'suppression.not_found')
  t.equal((await kit.ask('/v1/suppressions', { key: testKey })).json.data.length, 1)
  t.same((await kit.ask('/v1/suppressions')).json.data, [])
  await kit.ask('/v1/suppressions', { body: { email: 'real@b.test' } })
  t.same(fates(await send(['real@b.test'], testKey)), ['queued'])
})

t.test('suppressed@ is, in every test, and in no live mail', async (t) => {
  const to = ['suppressed@b.test', 'Suppressed+x@b.test', 'suppressed.not@b.test']
  t.same(fates(await send(to, testKey)), ['suppressed', 'suppressed', 'queued'])
  t.same(fates(await send(to)), ['queued', 'queued', 'queued'])
})

t.test('a whole domain', async (t) => {
  const add = await kit.ask('/v1/suppressions', { body: { email: ' *@Bücher.Example ', reason: 'a trap' } })
  t.match(add, { status: 201, json: { email: '*@xn--bcher-kva.example', origin: 'manual' } }, add.text)
  t.equal((await kit.ask('/v1/suppressions', { body: { email: '*@xn--bcher-kva.example' } })).status, 200)
  for (const email of [
    '*@',
    '*',
    '*@*.example',
    '*@a..example',
    '*@.example',
    '*@a b.example',
    '*@sub.*',
    '**@',
  ])
    t.match(
      (await kit.ask('/v1/suppressions', { body: { email } })).json,
      { code: 'validation.request_invalid' },
      email,
    )
  const to = ['Ana@BÜCHER.example', '*@bücher.example', 'ana@sub.bücher.example']
  const sent = await send(to)
  t.same(fates(sent), ['suppressed', 'suppressed', 'queued'])
  const { data } = (await kit.ask(`/v1/emails/${sent.id}/events`)).json
  t.same(
    data.flatMap((one: { reason?: string; detail?: object }) =>
      one.reason === 'suppressed' ? [one.detail] : [],
    ),
    [{ entry: '*@xn--bcher-kva.example' }, { entry: '*@xn--bcher-kva.example' }],
  )
  const keyed = await kit.ask('/v1/emails', {
    key: kit.key,
    headers: { 'idempotency-key': 'domain-1' },
    body: { from: 'a@b.test', to: 'ana@bücher.example', subject: 'Hi', text: 'Hi' },
  })
  t.equal(keyed.status, 202, keyed.text)
  t.same(fates(keyed.json), ['suppressed'], 'also where the answer is kept')
  t.same(fates(await send(['ana@bücher.example'], testKey)), ['queued'], 'test mail has lists of its own')

  const look = await kit.ask(`/v1/suppressions/${encodeURIComponent('ana@bücher.example')}`)
  t.match(
    look.json,
    { id: add.json.id, email: '*@xn--bcher-kva.example' },
    'who looks for an address finds it',
  )
  const none = await kit.ask('/v1/suppressions/ana@xn--bcher-kva.example', { method: 'DELETE' })
  t.match(none, {
    status: 404,
    json: { code: 'suppression.not_found', detail: /\*@xn--bcher-kva\.example suppresses/ },
  })
  await kit.ask('/v1/suppressions', { body: { email: 'ana@bücher.example' } })
  t.match((await kit.ask('/v1/suppressions/ana@bücher.example')).json, { email: 'ana@xn--bcher-kva.example' })
  const removed = await kit.ask('/v1/suppressions/ana@xn--bcher-kva.example', { method: 'DELETE' })
  t.match(
    removed.json,
    { deleted: true, still: { id: add.json.id, email: '*@xn--bcher-kva.example' } },
    removed.text,
  )
  const emails = ['*@bücher.example', 'nobody@bücher.example']
  const batch = await kit.ask('/v1/suppressions/batch/remove', { body: { emails } })
  t.same(batch.json.data, [{ id: add.json.id, object: 'suppression', deleted: true }])
  t.same(fates(await send(['ana@bücher.example'])), ['queued'])
})

t.test('a mailbox whose name is an asterisk is no domain', async (t) => {
  const body = { email: '"*"@star.test' }
  t.match((await kit.ask('/v1/suppressions', { body })).json, { email: '"*"@star.test' })
  t.same(fates(await send(['*@star.test', '"*"@star.test', 'ana@star.test'])), ['suppressed', 'queued'])
})

t.test('for the whole account', async (t) => {
  const wide = { email: 'Nobody@b.test', scope: 'account', reason: 'asked by post' }
  t.equal((await kit.ask('/v1/suppressions', { body: wide })).json.code, 'auth.scope_forbidden')
  const other = await kit.ask('/v1/workspaces', { key: kit.platform, body: { name: 'Other' } })
  const ask = (path: string, body?: unknown, method?: string) =>
    kit.ask(path, {
      key: kit.platform,
      body,
      headers: { 'x-workspace-id': kit.workspaceId },
      ...(method && { method }),
    })
  const row = await ask('/v1/suppressions', wide)
  t.equal(row.status, 201, row.text)
  t.match(row.json, { email: 'nobody@b.test', scope: 'account', reason: 'asked by post' })
  t.equal((await ask('/v1/suppressions', wide)).status, 200, 'again, it is there')
  t.same(fates(await send(['nobody@b.test'])), ['suppressed'])
  const elsewhere = await kit.ask('/v1/emails', {
    key: kit.platform,
    headers: { 'x-workspace-id': other.json.id },
    body: { from: 'a@b.test', to: 'nobody@b.test' },
  })
  t.same(fates(elsewhere.json), ['suppressed'], 'in a workspace that was made later, too')
  t.same((await ask('/v1/suppressions?scope=account')).json.data, [row.json])
  t.match((await kit.ask('/v1/suppressions/nobody@b.test')).json, { id: row.json.id })
  t.equal(
    (await kit.ask('/v1/suppressions/nobody@b.test', { method: 'DELETE' })).json.code,
    'auth.scope_forbidden',
  )
  t.equal((await ask(`/v1/suppressions/${row.json.id}`, undefined, 'DELETE')).json.deleted, true)
  t.same(fates(await send(['nobody@b.test'])), ['queued'])
})

t.test('for a time', async (t) => {
  const expires_at = new Date(kit.clock.now() + 3_600_000).toISOString()
  const { json } = await kit.ask('/v1/suppressions', { body: { email: 'brief@b.test', expires_at } })
  t.equal(json.expires_at, expires_at)
  t.same(fates(await send(['brief@b.test'])), ['suppressed'])
  const wrong = await kit.ask('/v1/suppressions', {
    body: { email: 'x@b.test', expires_at: 'soon', scope: 'x' },
  })
  t.ok(fieldsOf(wrong).length > 0)
  t.same(fieldsOf(await kit.ask('/v1/suppressions', { body: { email: 'x@b.test', expires_at: 'soon' } })), [
    'body.expires_at format',
  ])
})

t.test('a send may insist', async (t) => {
  await kit.ask('/v1/suppressions', { body: { email: 'listed@b.test' } })
  t.same(fates(await send(['listed@b.test'])), ['suppressed'])
  t.same(fates(await send(['listed@b.test'], kit.key, { ignore_suppressions: true })), ['queued'])
  t.same(fates(await send(['listed@b.test'], kit.key, { ignore_suppressions: false })), ['suppressed'])
  const batch = await kit.ask('/v1/emails/batch', {
    body: [{}, { ignore_suppressions: true }].map((more) => ({
      from: 'a@b.test',
      to: 'listed@b.test',
      ...more,
    })),
  })
  const records = await Promise.all(
    batch.json.data.map(({ id }: { id: string }) => kit.ask(`/v1/emails/${id}`)),
  )
  t.same(
    records.map(({ json }) => fates(json)),
    [['suppressed'], ['queued']],
    'each item for itself',
  )
  const wrong = await kit.ask('/v1/emails', {
    body: { from: 'a@b.test', to: 'b@b.test', ignore_suppressions: 'maybe' },
  })
  t.equal(wrong.status, 422)
})

t.test('the list by origin', async (t) => {
  await kit.ask('/v1/suppressions', { body: { email: 'byhand@b.test' } })
  const origins = async (query: string): Promise<string[]> =>
    (await kit.ask(`/v1/suppressions?${query}`)).json.data.map(({ origin }: { origin: string }) => origin)
  t.ok((await origins('origin=manual')).length > 0)
  t.same(await origins('origin=bounce'), [])
  t.equal((await kit.ask('/v1/suppressions?origin=x')).status, 422)
})
