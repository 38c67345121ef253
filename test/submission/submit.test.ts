import t from 'tap'
import type { WorkspaceRow } from '../../src/store/port/tenants.js'
import type { Principal } from '../../src/tenant/principal.js'
import { codeOf, fieldsOf } from '../tenant/house.js'
import { draft, only, openOffice, plain, type render, scopeOf } from './house.js'

t.test('a draft becomes a mail in the store, as the answer said', async (t) => {
  const office = await openOffice(t)
  const { submission, live, workspace, accepted, store, clock } = office
  const answer = await submission.submit(
    live,
    null,
    draft({
      to: ['Ana <ana@example.com>', 'ANA@example.com', 'bo@münchen.example'],
      cc: 'bo@xn--mnchen-3ya.example',
      bcc: 'audit@acme.test',
      reply_to: 'help@acme.test',
      html: '<p>Hi</p>',
      headers: { 'X-Order': '42' },
      tags: [{ name: 'kind', value: 'receipt' }],
      attachments: [{ filename: 'r.pdf', content: 'JVBERi0=', content_type: 'application/pdf' }],
    }),
    plain,
  )
  const record = only(answer.records)
  t.equal(answer.status, 202)
  t.equal(answer.replayed, false)
  t.match(record, {
    status: 'queued',
    workspaceId: workspace.id,
    mode: 'live',
    source: 'api',
    from: 'Acme <no-reply@acme.test>',
    to: ['Ana <ana@example.com>', 'bo@münchen.example'],
    cc: [],
    bcc: ['audit@acme.test'],
    replyTo: ['help@acme.test'],
    messageId: `<${record.id}@gw.test>`,
    attachments: [{ filename: 'r.pdf', content_type: 'application/pdf', size: 5, content_id: null }],
    poolId: workspace.poolId,
  })
  t.same(await store.email(scopeOf(office), record.id), record, 'the store agrees with the answer')
  const [mail] = accepted
  t.strictSame(
    mail?.recipients.map(({ address, kind }) => [address, kind]),
    [
      ['ana@example.com', 'to'],
      ['bo@xn--mnchen-3ya.example', 'to'],
      ['audit@acme.test', 'bcc'],
    ],
  )
  const raw = Buffer.from((await store.body(record.id)) ?? []).toString()
  t.match(raw, /^From: Acme <no-reply@acme\.test>\r\n/)
  t.match(raw, /X-Order: 42\r\n/)
  t.notMatch(raw, /audit@acme/)
  t.strictSame(JSON.parse((await store.content(record.id)) ?? ''), {
    html: '<p>Hi</p>',
    text: 'Hello',
    headers: { 'X-Order': '42' },
  })
  t.equal(mail?.createdAt, clock.now())
})

t.test('where it goes', async (t) => {
  const { submission, live, test, workspace, account, tenants } = await openOffice(t)
  const poolOf = async (who: Principal, place: WorkspaceRow | null) =>
    only((await submission.submit(who, place, draft(), plain)).records).poolId
  t.equal(await poolOf(live, workspace), workspace.poolId)
  const sandbox = await tenants.findPool(account.id, 'sandbox')
  t.equal(await poolOf(test, null), sandbox.id, 'test mail never leaves')
  const bare = await tenants.createWorkspace(account.id, { name: 'Bare' })
  const own = await tenants.findPool(account.id, 'bare')
  t.equal(await poolOf({ ...live, workspaceId: bare.id }, null), own.id)
})

t.test('a workspace that changed while the request was read', async (t) => {
  const { submission, live, workspace, account, tenants, accepted } = await openOffice(t)
  const other = await tenants.createPool(account.id, { name: 'other', members: [{ host: 'mta.test' }] })
  await tenants.updateWorkspace(account.id, 'default', {
    ...{ pool: 'other', restrictSenders: true, defaultFrom: 'no-reply@acme.test' },
  })
  const foreign = draft({ from: 'x@else.test' })
  const wish = { key: 'k', fingerprint: 'f' }
  for (const idempotency of [null, wish]) {
    const options = { ...plain, idempotency }
    await submission.submit(live, workspace, draft(), options)
    t.equal(accepted.at(-1)?.poolId, other.id, 'it goes where mail goes now')
  }
  t.equal(await codeOf(submission.submit(live, workspace, foreign, plain)), 'email.sender_not_allowed')
})

t.test('a suppressed recipient is accepted and starts bounced', async (t) => {
  const office = await openOffice(t)
  const { submission, live, workspace, tenants, store } = office
  await tenants.addSuppression(workspace, { email: 'gone@example.com' })
  const { records } = await submission.submit(
    live,
    null,
    draft({ to: ['Gone <GONE@example.com>', 'ana@example.com'] }),
    plain,
  )
  const record = only(records)
  t.match(record, {
    status: 'bounced',
    counts: { bounced: 1, queued: 1 },
    recipients: [
      { status: 'bounced', reason: 'suppressed', dueAt: null },
      { status: 'queued', reason: null },
    ],
  })
  t.same((await store.email(scopeOf(office), record.id))?.counts, record.counts)
})

t.test('scheduled mail', async (t) => {
  const office = await openOffice(t)
  const { submission, live, clock, store } = office
  const at = clock.now() + 3_600_000
  const later = only(
    (await submission.submit(live, null, draft({ scheduled_at: new Date(at).toISOString() }), plain)).records,
  )
  t.match(later, { status: 'scheduled', scheduledAt: at, counts: { scheduled: 1, queued: 0 } })
  t.same(await store.email(scopeOf(office), later.id), later)
  const justPast = new Date(clock.now() - 30_000).toISOString()
  t.match(only((await submission.submit(live, null, draft({ scheduled_at: justPast }), plain)).records), {
    status: 'queued',
    scheduledAt: null,
  })
})

t.test('who may not send', async (t) => {
  const office = await openOffice(t)
  const { submission, live, tenants, account, workspace } = office
  const foreign = await tenants.findWorkspace((await tenants.createAccount('other')).id, 'default')
  const send = (who: typeof live, ref: string | null) =>
    codeOf(submission.submit(who, ref, draft({ to: [] }), plain))
  t.equal(
    await send({ ...live, workspaceId: null, scope: 'platform' }, null),
    'validation.workspace_header_required',
  )
  t.equal(await send(live, foreign.id), 'workspace.not_found', 'before the fields')
  t.equal(await send(live, workspace.id), 'validation.request_invalid')
  t.equal(
    await codeOf(office.with({ accepting: () => false }).submit(live, null, draft(), plain)),
    'service.unavailable',
  )

  await tenants.updateWorkspace(account.id, 'default', {
    restrictSenders: true,
    defaultFrom: 'no-reply@acme.test',
  })
  t.equal(await codeOf(submission.submit(live, null, draft(), plain)), null)
  t.equal(
    await codeOf(submission.submit(live, null, draft({ from: null }), plain)),
    null,
    'the default sender',
  )
  t.equal(
    await codeOf(submission.submit(live, null, draft({ from: 'x@else.test' }), plain)),
    'email.sender_not_allowed',
  )
})

t.test('a message that is too large', async (t) => {
  const { submission, live, accepted } = await openOffice(t)
  const big = submission.submit(live, null, draft({ text: 'x'.repeat(100_000) }), plain)
  t.equal(await codeOf(big), 'request.body_too_large')
  t.equal(accepted.length, 0)
})

t.test('a batch is all or nothing, or what is good of it', async (t) => {
  const { submission, live, accepted } = await openOffice(t)
  const charged: number[] = []
  const options = (permissive: boolean) => ({
    idempotency: null,
    permissive,
    charge: async (n: number) => {
      charged.push(n)
    },
    render: (records: Parameters<typeof render>[0], failures: unknown) => ({
      status: 202,
      body: JSON.stringify({ ids: records.map(({ id }) => id), failures }),
    }),
  })
  const typed = { errors: [{ field: 'body[3].html', message: 'must be a string', kind: 'type' as const }] }
  const items = [draft(), draft({ to: null }), draft({ to: 'bo@example.com' }), typed]
  const strict = submission.submitBatch(live, null, items, options(false))
  t.strictSame(await fieldsOf(strict), ['body[1].to missing', 'body[3].html type'])
  t.equal(accepted.length, 0)
  const answer = await submission.submitBatch(live, null, items, options(true))
  t.equal(answer.records.length, 2)
  t.strictSame(JSON.parse(answer.body).failures, [
    { index: 1, message: '"to" is required', code: 'validation.request_invalid' },
    { index: 3, message: '"html" must be a string', code: 'validation.request_invalid' },
  ])
  t.strictSame(charged, [1])
  t.strictSame(await fieldsOf(submission.submitBatch(live, null, [typed], options(true))), [
    'body[3].html type',
  ])
  t.strictSame(await fieldsOf(submission.submitBatch(live, null, [], options(true))), ['body empty'])
  const few = { ...live, limitPerMinute: 2 }
  t.strictSame(
    await fieldsOf(submission.submitBatch(few, null, [draft(), draft(), draft()], options(false))),
    ['body too_many'],
  )
})
