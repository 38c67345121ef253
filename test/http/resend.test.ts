/** The official client of the API whose names we took, unchanged, with its base URL on us. */
import { Resend } from 'resend'
import t from 'tap'
import { MAIL, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())
const client = new Resend(kit.key, { baseUrl: `${kit.url}/v1` })

t.test('emails', async (t) => {
  const sent = await client.emails.send({
    ...MAIL,
    replyTo: 'help@acme.test',
    tags: [{ name: 'kind', value: 'receipt' }],
    attachments: [
      { filename: 'a.txt', content: Buffer.from('hello'), contentType: 'text/plain' },
      { filename: 'b.txt', content: 'aGVsbG8=', contentId: 'b' },
    ],
  })
  t.equal(sent.error, null)
  const id = sent.data?.id ?? ''
  const read = await client.emails.get(id)
  t.equal(read.error, null)
  t.match(read.data, { id, subject: 'Hi', last_event: 'queued', reply_to: ['help@acme.test'], text: 'Hello' })
  const listed = await client.emails.list({ limit: 1 })
  t.equal(listed.data?.data[0]?.id, id)
  t.equal(listed.data?.has_more, false)
})

/** All ids of a list, page by page as its users loop, until `has_more` says that this was the last. */
const loop = async (
  page: (at: { limit: number; after?: string }) => Promise<{
    readonly data: { readonly has_more: boolean; readonly data: readonly { readonly id: string }[] } | null
    readonly error: unknown
  }>,
): Promise<string[]> => {
  const ids: string[] = []
  for (let n = 0; n < 50; n++) {
    const after = ids.at(-1)
    const { data, error } = await page({ limit: 2, ...(after !== undefined && { after }) })
    if (data === null) throw new Error(JSON.stringify(error))
    ids.push(...data.data.map(({ id }) => id))
    if (!data.has_more) return ids
  }
  throw new Error('the list has no end')
}

t.test('every list is paged by ids', async (t) => {
  const person = new Resend(kit.session, { baseUrl: `${kit.url}/v1` })
  const isWhole = async (name: string, list: Parameters<typeof loop>[0], least: number) => {
    const ids = await loop(list)
    t.equal(new Set(ids).size, ids.length, `${name}: none twice`)
    t.ok(ids.length >= least, `${name}: ${ids.length}`)
    const [first, second] = ids
    const back = await list({ limit: 2, before: second } as never)
    t.same(
      back.data?.data.map(({ id }) => id),
      [first],
      `${name}: before`,
    )
    const wrong = await list({ limit: 2, after: 'nobody' })
    t.match(wrong.error, { code: 'validation.request_invalid', errors: [{ field: 'query.after' }] }, name)
  }
  for (let i = 0; i < 5; i++) {
    await client.emails.send(MAIL)
    await person.domains.create({ name: `d${i}.acme.test` })
    await kit.tenants.createKey(kit.accountId, { name: `k${i}` })
    await client.suppressions.add({ email: `gone${i}@example.com` })
    await client.webhooks.create({ endpoint: `https://hook${i}.example.com/`, events: ['email.sent'] })
  }
  await isWhole('emails', (at) => client.emails.list(at as never), 5)
  await isWhole('domains', (at) => person.domains.list(at as never), 5)
  await isWhole('keys', (at) => person.apiKeys.list(at as never), 5)
  await isWhole('suppressions', (at) => client.suppressions.list(at as never), 5)
  await isWhole('webhooks', (at) => client.webhooks.list(at as never), 5)
  const webhookId = (await client.webhooks.list()).data?.data[0]?.id ?? ''
  for (const { id } of (await client.emails.list({ limit: 5 })).data?.data ?? []) {
    const [event] = (await kit.ask(`/v1/emails/${id}/events`)).json.data
    t.equal((await client.webhooks.events.replay({ webhookId, eventId: event.id })).error, null)
  }
  await isWhole('events of a webhook', (at) => client.webhooks.events.list({ webhookId, ...at } as never), 5)
  const { data } = await client.emails.send({
    ...MAIL,
    attachments: [1, 2, 3, 4, 5].map((n) => ({ filename: `${n}.txt`, content: Buffer.from(`${n}`) })),
  })
  const emailId = data?.id ?? ''
  await isWhole('attachments', (at) => client.emails.attachments.list({ emailId, ...at } as never), 5)
})

t.test('attachments', async (t) => {
  const sent = await client.emails.send({
    ...MAIL,
    attachments: [{ filename: 'a.txt', content: Buffer.from('hello'), contentType: 'text/plain' }],
  })
  const listed = await client.emails.attachments.list({ emailId: sent.data?.id ?? '' })
  t.equal(listed.error, null)
  t.match(listed.data, {
    object: 'list',
    has_more: false,
    data: [{ id: '1', filename: 'a.txt', content_type: 'text/plain', size: 5 }],
  })
  t.match((await client.emails.attachments.list({ emailId: 'em_x' })).error, { code: 'email.not_found' })
})

t.test('idempotency', async (t) => {
  const once = () => client.emails.send(MAIL, { idempotencyKey: 'k' })
  const [first, second] = [await once(), await once()]
  t.equal(first.data?.id, second.data?.id)
  const other = await client.emails.send({ ...MAIL, subject: 'Other' }, { idempotencyKey: 'k' })
  t.match(other.error, { code: 'idempotency.body_mismatch', status: 409 })
})

t.test('scheduled mail', async (t) => {
  const inAnHour = new Date(Date.now() + 3_600_000).toISOString()
  const inTwo = new Date(Date.now() + 7_200_000).toISOString()
  const sent = await client.emails.send({ ...MAIL, scheduledAt: inAnHour })
  const id = sent.data?.id ?? ''
  t.equal((await client.emails.update({ id, scheduledAt: inTwo })).data?.id, id)
  t.equal((await client.emails.cancel(id)).data?.id, id)
  t.match((await client.emails.update({ id, scheduledAt: inTwo })).error, { code: 'resource.conflict' })
})

t.test('scheduled mail, in the words that its users write', async (t) => {
  const at = async (scheduledAt: string) => {
    const sent = await client.emails.send({ ...MAIL, scheduledAt })
    t.equal(sent.error, null, scheduledAt)
    const id = sent.data?.id ?? ''
    return { id, at: Date.parse((await client.emails.get(id)).data?.scheduled_at ?? '') }
  }
  const inAMinute = await at('in 1 min')
  t.ok(Math.abs(inAMinute.at - Date.now() - 60_000) < 30_000)
  const hour = (time: number) => new Date(time).getUTCHours()
  t.equal(hour((await at('tomorrow at 9am')).at), 9)
  const friday = await at('Friday at 3pm')
  t.strictSame([new Date(friday.at).getUTCDay(), hour(friday.at)], [5, 15])
  const moved = await client.emails.update({ id: inAMinute.id, scheduledAt: 'in 1 hour' })
  t.equal(moved.error, null)
  t.match((await client.emails.send({ ...MAIL, scheduledAt: 'Friday at 3pm ET' })).error, {
    errors: [{ field: 'body.scheduled_at', kind: 'format', message: /"in 10 min".*"tomorrow at 9am"/ }],
  })
})

t.test('batch', async (t) => {
  const all = await client.batch.send([MAIL, { ...MAIL, to: 'bob@example.com' }])
  t.equal(all.data?.data.length, 2)
  const strict = await client.batch.send([MAIL, { ...MAIL, to: 'nonsense' }])
  t.match(strict.error, { code: 'validation.request_invalid', status: 422 })
  const permissive = await client.batch.send([MAIL, { ...MAIL, to: 'nonsense' }], {
    batchValidation: 'permissive',
  })
  t.equal(permissive.data?.data.length, 1)
  t.match(permissive.data?.errors, [{ index: 1 }])
})

t.test('suppressions', async (t) => {
  const added = await client.suppressions.add({ email: 'gone@example.com' })
  t.equal(added.error, null)
  t.equal((await client.suppressions.get('gone@example.com')).data?.id, added.data?.id)
  const manual = await client.suppressions.list({ origin: 'manual', limit: 10 })
  t.equal(manual.data?.data[0]?.id, added.data?.id)
  t.equal((await client.suppressions.remove(added.data?.id ?? '')).data?.deleted, true)
  t.equal((await client.suppressions.batch.add({ emails: ['a@b.test', 'c@d.test'] })).data?.data.length, 2)
  t.equal((await client.suppressions.batch.remove({ emails: ['a@b.test'] })).data?.data.length, 1)
})

t.test('keys, with a session as the key', async (t) => {
  const person = new Resend(kit.session, { baseUrl: `${kit.url}/v1` })
  const { row } = await kit.tenants.createKey(kit.accountId, { name: 'gone soon' })
  t.ok((await person.apiKeys.list()).data?.data.some(({ id }) => id === row.id))
  t.equal((await person.apiKeys.remove(row.id)).error, null)
})

t.test('a key that may only send, and one that may only read', async (t) => {
  const person = new Resend(kit.session, { baseUrl: `${kit.url}/v1` })
  const full = await person.apiKeys.create({ name: 'all', permission: 'full_access' })
  t.match(full, { error: null, data: { permission: 'full_access', token: /^svc_live_/ } })
  const made = await person.apiKeys.create({ name: 'sends', permission: 'sending_access' })
  t.match(made, { error: null, data: { permission: 'sending_access' } })
  const headers = { 'X-Workspace-Id': kit.workspaceId }
  const sender = new Resend(made.data?.token ?? '', { baseUrl: `${kit.url}/v1` })
  const sent = await sender.emails.send(MAIL, { headers })
  t.equal(sent.error, null)
  t.equal((await sender.batch.send([MAIL], { headers })).error, null)
  const denied = { code: 'auth.scope_forbidden', status: 403, detail: /sending_access/ }
  t.match((await sender.emails.get(sent.data?.id ?? '')).error, denied)
  t.match((await sender.emails.list()).error, denied)
  t.match((await sender.emails.cancel(sent.data?.id ?? '')).error, denied)
  t.match((await sender.suppressions.list()).error, denied)
  t.match((await sender.webhooks.list()).error, denied)
  t.match((await sender.domains.list()).error, denied)
  t.match((await sender.apiKeys.list()).error, { code: 'auth.session_required' })
  const reads = await person.apiKeys.create({ name: 'reads', permission: 'reading_access' as never })
  const reader = new Resend(reads.data?.token ?? '', { baseUrl: `${kit.url}/v1` })
  t.equal((await reader.emails.get(sent.data?.id ?? '')).error, null)
  const refused = { code: 'auth.scope_forbidden', status: 403, detail: /reading_access/ }
  t.match((await reader.emails.send(MAIL, { headers })).error, refused)
  t.match((await reader.emails.cancel(sent.data?.id ?? '')).error, refused)
  const wrong = await person.apiKeys.create({ name: 'x', permission: 'all' as never })
  t.match(wrong.error, { errors: [{ field: 'body.permission', kind: 'unsupported' }] })
})

t.test('domains', async (t) => {
  const person = new Resend(kit.session, { baseUrl: `${kit.url}/v1` })
  const made = await person.domains.create({
    name: 'shop.acme.test',
    openTracking: false,
    tls: 'opportunistic',
  })
  t.equal(made.error, null)
  const id = made.data?.id ?? ''
  t.match(await person.domains.get(id), { error: null, data: { id, name: 'shop.acme.test' } })
  t.match(await person.domains.verify(id), { error: null, data: { id, object: 'domain' } })
  const same = { openTracking: false, clickTracking: false, tls: 'opportunistic' } as const
  t.match(await person.domains.update({ id, ...same }), { error: null, data: { id, object: 'domain' } })
  const other = await person.domains.update({ id, openTracking: true, tls: 'enforced' })
  t.same(
    (other.error as unknown as { errors: { field: string }[] }).errors.map(({ field }) => field).sort(),
    ['body.open_tracking', 'body.tls'],
  )
  t.match(await person.domains.remove(id), { error: null, data: { deleted: true } })
})

t.test('webhooks, with the types that others have', async (t) => {
  const theirs = [
    ...['email.opened', 'email.clicked', 'email.received', 'email.failed', 'email.suppressed'],
    ...[
      'contact.created',
      'contact.topics.updated',
      'domain.created',
      'topic.deleted',
      'inbox.email.received',
    ],
  ]
  const endpoint = 'https://hook.example.com/'
  const events = ['email.delivered', 'email.delivery_delayed', ...theirs] as never
  const made = await client.webhooks.create({ endpoint, events })
  t.equal(made.error, null)
  const id = made.data?.id ?? ''
  t.match(made.data, { signing_secret: /^whsec_/, ignored: theirs })
  t.same((await client.webhooks.get(id)).data?.events, ['email.delivered', 'email.delivery_delayed'])
  t.notOk('ignored' in ((await client.webhooks.get(id)).data ?? {}))
  const changed = await client.webhooks.update(id, { events: ['email.bounced', 'email.opened'] as never })
  t.match(changed, { error: null, data: { events: ['email.bounced'], ignored: ['email.opened'] } })
  t.match((await client.webhooks.create({ endpoint, events: theirs as never })).error, {
    errors: [{ field: 'body.events', kind: 'unsupported' }],
  })
  t.match(
    (await client.webhooks.create({ endpoint, events: ['email.lost', 'email.opened'] as never })).error,
    {
      errors: [{ field: 'body.events[0]', kind: 'unsupported', message: /did you mean/ }],
    },
  )
  t.match(await client.webhooks.rotateSigningSecret(id), { error: null, data: { signing_secret: /^whsec_/ } })
  t.equal((await client.webhooks.events.list({ webhookId: id })).error, null)
  t.match(await client.webhooks.remove(id), { error: null, data: { deleted: true } })
})

/** Every method of the client, as `emails.attachments.get`. */
const methodsOf = (of: object, at = ''): string[] =>
  Object.entries(of).flatMap(([name, one]) => {
    if (typeof one !== 'object' || one === null || one === client || one instanceof Headers) return []
    const own = Object.getOwnPropertyNames(Object.getPrototypeOf(one)).filter(
      (method) => method !== 'constructor',
    )
    return [...own.map((method) => `${at}${name}.${method}`), ...methodsOf(one, `${at}${name}.`)]
  })

/** These ask nobody. */
const WITHIN =
  /^(?:webhooks\.verify|templates\.performCreate|contacts\.imports\.(?:build|append)\w+|emails\.receiving\.(?:forward\w+|downloadRaw))$/

/** What has a counterpart here; the tests above call it as its users do. */
const HERE = new Set([
  ...['apiKeys.create', 'apiKeys.list', 'apiKeys.remove', 'batch.send', 'batch.create'],
  ...['create', 'list', 'get', 'update', 'remove', 'verify'].map((name) => `domains.${name}`),
  ...['send', 'create', 'get', 'list', 'update', 'cancel', 'attachments.list'].map(
    (name) => `emails.${name}`,
  ),
  // those of ours: the log of what happened
  ...['events.list', 'events.get'],
  ...['add', 'list', 'get', 'remove', 'batch.add', 'batch.remove'].map((name) => `suppressions.${name}`),
  ...['create', 'get', 'list', 'update', 'remove', 'rotateSigningSecret'].map((name) => `webhooks.${name}`),
  ...['list', 'get', 'replay', 'attempts.list'].map((name) => `webhooks.events.${name}`),
])

t.test('each method is answered; what there is none of here, by a clear problem', async (t) => {
  const ids = [
    'id',
    'email',
    'emailId',
    'webhookId',
    'eventId',
    'domainId',
    'contactId',
    'segmentId',
    'topicId',
  ]
  const others = ['automationId', 'runId', 'inboxId', 'threadId', 'labelId', 'draftId', 'name', 'to', 'query']
  const members = Object.fromEntries([...ids, ...others].map((name) => [name, 'x_1']))
  // an id where it is put into a path, and a record where its members are read
  const given = Object.assign(new String('x_1'), {
    ...members,
    emails: ['x_1'],
    labels: ['x_1'],
    data: [],
    steps: [],
    connections: [],
  })
  const called = methodsOf(client).filter((name) => !WITHIN.test(name))
  t.same(
    [...HERE].filter((name) => !called.includes(name)),
    [],
  )
  for (const name of called) {
    const path = name.split('.')
    const method = path.pop() ?? ''
    // biome-ignore lint/suspicious/noExplicitAny: whatever the client has
    const of = path.reduce<any>((at, step) => at[step], client)
    const whole = name.startsWith('batch.') ? [members] : given
    const options = name === 'emails.metrics' ? {} : whole
    const { data, error, headers } = await of[method](options, { ...members })
    t.not(headers, null, `${name} asked us`)
    if (HERE.has(name)) t.notMatch(error?.code ?? '', /^route\./, `${name}: ${JSON.stringify(error)}`)
    else t.equal(data, null, `${name}: ${JSON.stringify(data)}`)
    if (error === null) continue
    t.ok(error.status >= 400 && error.status < 500, `${name}: ${JSON.stringify(error)}`)
    t.match(error, { code: /^\w+\.\w+$/, title: /./ }, name)
    if (!HERE.has(name)) t.match(error, { status: /^40[45]$/ }, `${name}: ${JSON.stringify(error)}`)
  }
})

t.test('a platform key with its header, and errors as errors', async (t) => {
  const platform = new Resend(kit.platform, { baseUrl: `${kit.url}/v1` })
  t.match((await platform.emails.send(MAIL)).error, { code: 'validation.workspace_header_required' })
  const sent = await platform.emails.send(MAIL, { headers: { 'X-Workspace-Id': kit.workspaceId } })
  t.equal(sent.error, null)
  const stranger = new Resend('re_unknown', { baseUrl: `${kit.url}/v1` })
  t.match((await stranger.emails.get('em_x')).error, { code: 'auth.credentials_invalid', status: 401 })
  t.match((await client.domains.list()).error, { code: 'auth.scope_forbidden', status: 403 })
  t.match((await client.contacts.list({ audienceId: 'x' })).error, { code: 'route.not_found' })
})
