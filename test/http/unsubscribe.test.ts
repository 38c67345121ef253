/** Mail of a list, the link in its header, and what following it stops. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { loadPepper } from '../../src/keys/pepper.js'
import { tokenOf } from '../../src/submission/unsubscribe.js'
import { fieldsOf, openKit } from './kit.js'

const kit = await openKit({ authFailures: 20 })
t.teardown(() => kit.stop())

const made = await kit.ask('/v1/api-keys', {
  key: kit.session,
  body: { name: 'ci', mode: 'test', scope: 'workspace', workspace_id: kit.workspaceId },
})
const testKey = made.json.secret as string
const FORM = 'application/x-www-form-urlencoded'
const CLICK = 'List-Unsubscribe=One-Click'

const post = (body: object, key = kit.key) =>
  kit.ask('/v1/emails', { key, body: { from: 'a@b.test', subject: 'Hi', text: 'Hi', ...body } })
const fate = async (body: object, key = kit.key): Promise<string> => {
  const { status, text, json } = await post(body, key)
  if (status !== 202) throw new Error(text)
  return json.recipients[0].reason ?? json.recipients[0].status
}
const news = (to: string, list = 'news') => ({ to, unsubscribe: { list } })

/** The header as it leaves. */
const headOf = async (id: string): Promise<string> =>
  Buffer.from((await kit.store.body(id)) ?? [])
    .toString()
    .split('\r\n\r\n')[0] ?? ''
const urlIn = (head: string): string => /^List-Unsubscribe: <(https:\/\/[^>]+)>\r$/m.exec(head)?.[1] ?? ''
/** The link of a new mail, as its path. */
const linkOf = async (body: object, key = kit.key): Promise<string> => {
  const { json, text } = await post(body, key)
  const url = urlIn(await headOf(json.id))
  if (url === '') throw new Error(text)
  return new URL(url).pathname
}

const click = (path: string, body: string | Uint8Array = CLICK, headers: Record<string, string> = {}) =>
  fetch(kit.url + path, {
    method: 'POST',
    body: body as string,
    redirect: 'manual',
    headers: { 'content-type': FORM, ...headers },
  })
const entries = async (query = '', key = kit.key) =>
  (await kit.ask(`/v1/suppressions${query}`, { key })).json.data

t.test('the fields, and what the record says', async (t) => {
  const { json } = await post(news('Ana.Long@Example.com'))
  t.equal(json.unsubscribe_list, 'news')
  const head = await headOf(json.id)
  t.match(head, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m)
  const url = urlIn(head)
  t.match(url, /^https:\/\/mail\.test\/u\/[\w-]{100,400}$/)
  t.notMatch(Buffer.from(url.split('/').at(-1) ?? '', 'base64url').toString(), /ana|example|news/i)
  t.not(url, urlIn(await headOf((await post(news('Ana.Long@Example.com'))).json.id)))
})

t.test('following it stops mail of that list alone, and may be repeated', async (t) => {
  const path = await linkOf(news('bob@example.com'))
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH']) {
    const reply = await fetch(kit.url + path, { method })
    t.equal(reply.status, ['GET', 'HEAD'].includes(method) ? 200 : 405, method)
    t.equal(reply.headers.get('set-cookie'), null)
    t.equal(reply.headers.get('access-control-allow-origin'), null)
    t.match(reply.headers.get('content-type'), /^text\/html/, method)
    await reply.text()
  }
  t.same(await entries(), [], 'who looks at it changes nothing')
  const page = await fetch(kit.url + path)
  t.match(Object.fromEntries(page.headers), {
    'content-type': 'text/html; charset=utf-8',
    'x-robots-tag': /noindex/,
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'content-security-policy': /default-src 'none'.*form-action 'self'/,
  })
  const html = await page.text()
  t.match(html, /b…@example\.com/)
  t.notMatch(html, /bob@/)
  t.match(html, /<form method="post"><button name="List-Unsubscribe" value="One-Click">/)

  for (let i = 0; i < 3; i++) {
    const reply = await click(path)
    t.equal(reply.status, 200)
    t.notMatch(await reply.text(), /bob@/)
  }
  t.match(await entries(), [
    { email: 'bob@example.com', list: 'news', origin: 'unsubscribe', source_id: /^em_/ },
  ])
  t.equal((await entries()).length, 1)
  t.equal(await fate(news('Bob@Example.com')), 'suppressed')
  t.equal(await fate(news('bob@example.com', 'offers')), 'queued')
  t.equal(await fate({ to: 'bob@example.com' }), 'queued')
  t.equal(await fate({ ...news('bob@example.com'), ignore_suppressions: true }), 'queued')
  const { json } = await post(news('bob@example.com'))
  const events = (await kit.ask(`/v1/emails/${json.id}/events`)).json.data
  t.match(events, [{ reason: 'suppressed', detail: { list: 'news' } }])
  const added = (await kit.ask('/v1/events?type=suppression.added')).json.data
  t.match(added, [{ data: { email: 'bob@example.com', list: 'news', origin: 'unsubscribe' } }])
})

t.test('also where the answer is kept for a key', async (t) => {
  const path = await linkOf(news('keyed@example.com'))
  await click(path)
  const again = () =>
    kit.ask('/v1/emails', {
      headers: { 'idempotency-key': 'one' },
      body: { from: 'a@b.test', text: 'x', ...news('keyed@example.com') },
    })
  const first = await again()
  t.match(first.json.recipients, [{ reason: 'suppressed' }], first.text)
  t.equal((await again()).text, first.text)
})

t.test('as multipart, and no other body', async (t) => {
  const path = await linkOf(news('form@example.com'))
  const none = [
    ['', FORM],
    ['List-Unsubscribe=no', FORM],
    ['List-Unsubscribe', FORM],
    ['%%%', FORM],
    ['{"List-Unsubscribe":"One-Click"}', 'application/json'],
    [CLICK, 'text/plain'],
    [CLICK, 'multipart/form-data'],
    [
      '--x\r\nContent-Disposition: form-data; name="other"\r\n\r\nOne-Click\r\n--x--\r\n',
      'multipart/form-data; boundary=x',
    ],
  ] as const
  for (const [body, type] of none) {
    const reply = await click(path, body, { 'content-type': type })
    t.equal(reply.status, 400, `${type} ${body}`)
    t.match(await reply.text(), /Nothing was changed/)
  }
  const large = await click(path, `${CLICK}&x=${'x'.repeat(1024)}`)
  t.equal(large.status, 413)
  await large.text()
  const bomb = await click(path, gzipSync(`${CLICK}&x=${'x'.repeat(5_000_000)}`), {
    'content-encoding': 'gzip',
  })
  t.equal(bomb.status, 413)
  await bomb.text()
  t.equal(await fate(news('form@example.com')), 'queued')
  const part = '--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n'
  t.equal((await click(path, part, { 'content-type': 'multipart/form-data; boundary=x' })).status, 200)
  t.equal(await fate(news('form@example.com')), 'suppressed')
})

t.test('a link of a test stops test mail alone', async (t) => {
  const path = await linkOf(news('both@example.com'), testKey)
  t.equal((await click(path)).status, 200)
  t.equal(await fate(news('both@example.com')), 'queued')
  t.equal(await fate(news('both@example.com'), testKey), 'suppressed')
  t.match(await entries('?list=news', testKey), [{ email: 'both@example.com', list: 'news' }])
})

t.test('of another workspace, and of one that was deleted', async (t) => {
  const { json: other } = await kit.ask('/v1/workspaces', { key: kit.platform, body: { name: 'Other' } })
  const as = { key: kit.platform, headers: { 'x-workspace-id': other.id } }
  const sent = await kit.ask('/v1/emails', { ...as, body: { from: 'a@b.test', ...news('cy@example.com') } })
  const path = new URL(urlIn(await headOf(sent.json.id))).pathname
  await click(path)
  t.equal(await fate(news('cy@example.com')), 'queued')
  t.match((await kit.ask('/v1/suppressions', as)).json.data, [{ email: 'cy@example.com', list: 'news' }])
  const later = await kit.ask('/v1/emails', { ...as, body: { from: 'a@b.test', ...news('di@example.com') } })
  const old = new URL(urlIn(await headOf(later.json.id))).pathname
  const gone = await kit.ask(`/v1/workspaces/${other.id}?confirm=other`, {
    key: kit.session,
    method: 'DELETE',
  })
  t.equal(gone.status, 200, gone.text)
  t.equal((await click(old)).status, 200, 'its reader need not know')
})

t.test('batches, and one template for many', async (t) => {
  const batch = await kit.ask('/v1/emails/batch', {
    body: [
      { from: 'a@b.test', ...news('b1@example.com') },
      { from: 'a@b.test', to: 'b2@example.com' },
    ],
  })
  t.match(urlIn(await headOf(batch.json.data[0].id)), /^https/)
  t.equal(urlIn(await headOf(batch.json.data[1].id)), '')
  const merged = await kit.ask('/v1/emails/batch', {
    body: {
      template: { from: 'a@b.test', text: 'Hi {{name}}', unsubscribe: { list: 'news' } },
      recipients: [
        { to: 'm1@example.com', variables: { name: 'A' } },
        { to: 'm2@example.com', variables: { name: 'B' } },
      ],
    },
  })
  t.equal(merged.status, 202, merged.text)
  const paths = []
  for (const { id } of merged.json.data) paths.push(new URL(urlIn(await headOf(id))).pathname)
  await click(paths[0] ?? '')
  t.equal(await fate(news('m1@example.com')), 'suppressed')
  t.equal(await fate(news('m2@example.com')), 'queued')
  const two = await kit.ask('/v1/emails/batch', {
    body: {
      template: { from: 'a@b.test', text: 'x', unsubscribe: { list: 'news' } },
      recipients: [{ to: ['m3@example.com', 'm4@example.com'] }],
    },
  })
  t.same(fieldsOf(two), ['body.recipients[0].unsubscribe too_many'])
})

t.test('a whole message, and what is sent again', async (t) => {
  const raw = (extra = '') =>
    Buffer.from(`From: a@b.test\r\n${extra}Subject: x\r\n\r\nHi\r\n`).toString('base64')
  const send = (body: object) => kit.ask('/v1/emails', { body })
  const { json } = await send({ raw: raw(), ...news('raw@example.com') })
  t.match(await headOf(json.id), /^Received: [^\r]+(?:\r\n[ \t][^\r]+)*\r\nList-Unsubscribe: </)
  for (const name of ['List-Unsubscribe', 'list-unsubscribe-post'])
    t.same(fieldsOf(await send({ raw: raw(`${name}: <mailto:a@b.test>\r\n`), ...news('raw@example.com') })), [
      'body.unsubscribe not_unique',
    ])
  const again = (...to: readonly string[]) =>
    kit.ask(`/v1/emails/${json.id}/resend`, { key: kit.session, body: { to } })
  const other = (await again('other@example.com')).json
  t.match(other, { unsubscribe_list: 'news', resent_from: json.id })
  const head = await headOf(other.id)
  t.equal(head.match(/^List-Unsubscribe/gm)?.length, 2)
  await click(new URL(urlIn(head)).pathname)
  t.equal(await fate(news('other@example.com')), 'suppressed', 'the link of the new mail is of its reader')
  t.equal(await fate(news('raw@example.com')), 'queued')
  const both = (await again('other@example.com', 'two@example.com')).json
  t.match(both, {
    unsubscribe_list: 'news',
    recipients: [
      { address: 'other@example.com', reason: 'suppressed' },
      { address: 'two@example.com', status: 'queued' },
    ],
  })
  t.notMatch(await headOf(both.id), /List-Unsubscribe/, 'it would open for one of its readers')
})

t.test('sent again once no reader reaches a link any more', async (t) => {
  const { json } = await post(news('early@example.com'))
  await click(await linkOf(news('late@example.com')))
  const { base_url } = kit.config
  t.teardown(() => Object.assign(kit.config, { base_url }))
  Object.assign(kit.config, { base_url: 'http://mail.test' })
  const again = async (to: string) =>
    (await kit.ask(`/v1/emails/${json.id}/resend`, { key: kit.session, body: { to: [to] } })).json
  t.match((await again('late@example.com')).recipients, [{ reason: 'suppressed' }])
  const other = await again('later@example.com')
  t.match(other, { unsubscribe_list: 'news', recipients: [{ status: 'queued' }] })
  t.notMatch(await headOf(other.id), /List-Unsubscribe/)
})

t.test('what it can not be', async (t) => {
  const own = { headers: { 'List-Unsubscribe': '<mailto:stop@b.test>' } }
  const wrong: readonly (readonly [object, readonly string[]])[] = [
    [{ to: ['a@x.test', 'b@x.test'], unsubscribe: { list: 'news' } }, ['body.unsubscribe too_many']],
    [{ to: 'a@x.test', bcc: 'b@x.test', unsubscribe: { list: 'news' } }, ['body.unsubscribe too_many']],
    [{ ...news('a@x.test'), ...own }, ['body.unsubscribe not_unique']],
    [{ to: 'a@x.test', unsubscribe: {} }, ['body.unsubscribe.list missing']],
    [{ to: 'a@x.test', unsubscribe: { list: 'news', url: 'https://x' } }, ['body.unsubscribe.url unknown']],
    ...['', 'News', 'a b', '-a', 'a#b', 'ä', 'x'.repeat(65), 'a\r\nb', '../x'].map(
      (list) =>
        [news('a@x.test', list), [`body.unsubscribe.list ${list === '' ? 'empty' : 'format'}`]] as const,
    ),
  ]
  for (const [body, fields] of wrong) {
    const reply = await post(body)
    t.same(fieldsOf(reply), fields, `${JSON.stringify(body)} ${reply.text}`)
  }
  for (const list of ['0', 'a-b_c', 'x'.repeat(64)]) t.equal(await fate(news('ok@x.test', list)), 'queued')
  t.equal(await fate({ to: 'a@x.test', ...own }), 'queued', 'your own goes as it came')
  const signed = (h: string, first = 'DKIM') => {
    const signature = `${first}-Signature: v=1; a=rsa-sha256; d=b.test; s=x;\r\n h=From:Subject:${h};\r\n bh=x; b=x`
    const raw = Buffer.from(`${signature}\r\nFrom: a@b.test\r\nSubject: s\r\n\r\nHi`).toString('base64')
    return (more: object) => kit.ask('/v1/emails', { body: { to: 'a@x.test', raw, ...more } })
  }
  const list = { unsubscribe: { list: 'news' } }
  for (const send of [
    signed('\r\n\tlist-unsubscribe'),
    signed('List-Unsubscribe-Post : to'),
    signed('List-Unsubscribe', 'ARC-Message'),
  ]) {
    const reply = await send(list)
    t.same(fieldsOf(reply), ['body.unsubscribe not_unique'], reply.text)
    t.match(reply.text, /signature of your own that covers List-Unsubscribe/)
    t.equal((await send({})).status, 202, 'without a list of ours it stays good')
  }
  t.equal((await signed('To')(list)).status, 202)
  const field = 'X-Postern-Unsubscribe: news'
  const raw = Buffer.from(`From: a@b.test\r\n${field}\r\n\r\nHi`).toString('base64')
  for (const reply of [
    await post({ to: 'a@x.test', headers: { 'X-Postern-Unsubscribe': 'news' } }),
    await kit.ask('/v1/emails', { body: { to: 'a@x.test', raw } }),
  ]) {
    t.equal(reply.status, 422)
    t.match(reply.text, /POST \/v1\/emails names a mailing list by its member unsubscribe/)
  }
})

t.test('lists of suppressions by mailing list', async (t) => {
  const add = (body: object) => kit.ask('/v1/suppressions', { body })
  t.match(await add({ email: 'hand@x.test', list: 'by_hand' }), { status: 201, json: { list: 'by_hand' } })
  t.match(await add({ email: 'hand@x.test', list: 'by_hand' }), { status: 200 })
  t.match(await add({ email: 'hand@x.test', list: 'byxhand' }), { status: 201 })
  t.match(await add({ email: 'hand@x.test' }), { status: 201 })
  t.same((await entries('?list=by_hand')).length, 1)
  t.match(await entries('?list=by_hand&origin=manual'), [{ email: 'hand@x.test', list: 'by_hand' }])
  t.same(await entries('?list=by_hand&origin=unsubscribe'), [])
  t.same(fieldsOf(await kit.ask('/v1/suppressions?list=A')), ['query.list format'])
  t.same(fieldsOf(await add({ email: '*@x.test', list: 'news' })), ['body.list unsupported'])
  const wide = { email: 'a@x.test', list: 'news', scope: 'account' }
  t.same(
    fieldsOf(
      await kit.ask('/v1/suppressions', {
        key: kit.platform,
        headers: { 'x-workspace-id': kit.workspaceId },
        body: wide,
      }),
    ),
    ['body.list unsupported'],
  )
  const csv = await kit.ask('/v1/suppressions?list=by_hand', { headers: { accept: 'text/csv' } })
  t.match(csv.text, /,list\r\nhand@x\.test,manual,.*,by_hand/)
  const one = (query: string, method = 'GET') => kit.ask(`/v1/suppressions/hand@x.test${query}`, { method })
  t.match((await one('?list=by_hand')).json, { list: 'by_hand' })
  t.notOk('list' in (await one('')).json)
  const gone = await one('?list=by_hand', 'DELETE')
  t.match(gone.json, { deleted: true, still: { email: 'hand@x.test' } })
  t.notOk('list' in gone.json.still)
  t.match((await one('', 'DELETE')).json, { deleted: true })
  t.equal((await one('')).status, 404)
  t.match((await one('?list=byxhand')).json, { list: 'byxhand' })
  const batch = (path: string, body: object) => kit.ask(`/v1/suppressions/batch/${path}`, { body })
  const emails = ['c1@x.test', 'c2@x.test']
  t.match((await batch('add', { emails, list: 'news' })).json.data, [{ list: 'news' }, { list: 'news' }])
  t.same((await batch('remove', { emails })).json.data, [])
  const whole = await batch('add', { emails: ['first@x.test', 'N <*@y.test>'], list: 'news' })
  t.same(fieldsOf(whole), ['body.list unsupported'])
  t.equal((await kit.ask('/v1/suppressions/first@x.test?list=news')).status, 404, 'all or none')
  t.same(fieldsOf(await kit.ask('/v1/suppressions?status=pending&list=news')), ['query.list unsupported'])
  const hidden = 'c1@x.test#news'
  for (const method of ['GET', 'DELETE'])
    t.equal((await kit.ask(`/v1/suppressions/${encodeURIComponent(hidden)}`, { method })).status, 404, method)
  t.same((await batch('remove', { emails: [hidden] })).json.data, [], 'a list is named by `list` alone')
  t.equal((await batch('remove', { emails, list: 'news' })).json.data.length, 2)
})

t.test('what is none of ours is a page, and too many of them are refused', async (t) => {
  const path = await linkOf(news('guess@example.com'))
  const at = path.length - 8
  const flip = path.slice(0, at) + (path[at] === 'A' ? 'B' : 'A') + path.slice(at + 1)
  for (const odd of [
    flip,
    `${path}A`,
    path.slice(0, -4),
    '/u/x',
    `/u/${'A'.repeat(300)}`,
    `/u/${'A'.repeat(5000)}`,
    `${path}/`,
    '/u/',
  ]) {
    t.equal((await click(odd)).status, 404, odd.slice(0, 40))
    const page = await fetch(kit.url + odd)
    t.equal(page.status, 404)
    t.equal(page.headers.get('x-robots-tag'), 'noindex, nofollow')
    await page.text()
  }
  const statuses = new Set<number>()
  // in a window of a minute, which may end meanwhile
  for (let i = 0; i < 660 && !statuses.has(429); i++) {
    const reply = await click(flip)
    statuses.add(reply.status)
    await reply.text()
  }
  t.same([...statuses], [404, 429], 'too many of them')
  const last = await click(flip)
  t.match(Object.fromEntries(last.headers), { 'content-type': /^text\/html/, 'retry-after': /^\d+$/ })
  t.match(await last.text(), /Try again/)
  t.equal((await click(path)).status, 200, 'a genuine one is not kept away')
  const wrongKey = await kit.ask('/v1/emails', { key: 'none' })
  t.equal(wrongKey.status, 401, 'who guesses here has not failed to sign in')
})

t.test('a link of another installation with the same pepper', async (t) => {
  const { json } = await post({ to: 'moved@example.com' })
  const theirs = {
    accountId: 'acc_of_another',
    workspaceId: 'ws_of_another',
    mode: 'live' as const,
    list: 'news',
    email: 'moved@example.com',
    emailId: json.id,
  }
  const of = (one: typeof theirs) =>
    click(`/u/${tokenOf(loadPepper({ data_dir: kit.config.data_dir }), one)}`)
  t.equal(
    (await of({ ...theirs, emailId: 'em_that_never_came' })).status,
    404,
    'nothing is known of that mail',
  )
  t.equal(await fate(news('moved@example.com')), 'queued')
  t.equal((await of(theirs)).status, 200, 'of a mail that came here with the queue')
  t.equal(await fate(news('moved@example.com')), 'suppressed')
})
