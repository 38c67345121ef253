/** Mailgun's own client, unchanged but for the URL; and what it never sends. */
import FormData from 'form-data'
import Mailgun from 'mailgun.js'
import t from 'tap'
import { Budget } from '../../../src/base/memory.js'
import { openKit, type Reply } from '../kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())

const clientOf = (key: string) =>
  new Mailgun(FormData).client({ username: 'api', key, url: `${kit.url}/v1/as/mailgun` })
const client = clientOf(kit.key)
const MAIL = { from: 'no-reply@acme.test', to: ['ana@example.com'], subject: 'Hi', text: 'Hello' }

const create = (mail: object, by = client, domain = 'acme.test') => by.messages.create(domain, mail as never)

/** What a send is refused with. */
const refusal = (mail: object, by = client, domain = 'acme.test') =>
  create(mail, by, domain).then(
    () => ({ status: 200, details: '' }),
    ({ status, details }: { status: number; details: string }) => ({ status, details }),
  )

const newest = async () => {
  const { json } = await kit.ask('/v1/emails?limit=1')
  return (await kit.ask(`/v1/emails/${json.data[0].id}`)).json
}

t.test('one mail', async (t) => {
  const sent = await create({
    from: 'Acme, Inc <no-reply@acme.test>'.replace('Acme, Inc', '"Acme, Inc"'),
    to: ['"Doe, Ana" <ana@example.com>', 'bo@example.com, cy@example.com'],
    cc: 'di@example.com',
    bcc: ['ed@example.com'],
    subject: 'Grüße',
    text: 'Hello',
    html: '<p>Hello <img src="cid:logo.png"></p>',
    'o:tag': ['receipt', 'paid'],
    'o:tracking': 'no',
    'o:tracking-opens': false,
    'v:order': '42',
    'h:X-Order': '42',
    'h:Reply-To': 'help@acme.test',
    attachment: [{ data: Buffer.from('hello'), filename: 'ä "1".txt' }],
    inline: [{ data: Buffer.from([0, 255, 13, 10, 45, 45]), filename: 'logo.png' }],
  })
  t.match(sent, { status: 200, message: 'Queued. Thank you.' })
  const mail = await newest()
  t.equal(sent.id, mail.message_id)
  t.match(mail, {
    from: /Acme, Inc.*no-reply@acme\.test/,
    to: ['"Doe, Ana" <ana@example.com>', 'bo@example.com', 'cy@example.com'],
    cc: ['di@example.com'],
    bcc: ['ed@example.com'],
    reply_to: ['help@acme.test'],
    subject: 'Grüße',
    text: 'Hello',
    headers: { 'X-Order': '42' },
    attachments: [
      { filename: 'ä "1".txt', content_type: 'text/plain', size: 5, content_id: null },
      { filename: 'logo.png', content_type: 'image/png', size: 6, content_id: 'logo.png' },
    ],
  })
  const tags = mail.tags.map(({ name, value }: { name: string; value: string }) => `${name}=${value}`)
  t.strictSame(tags.sort(), ['order=42', 'tag=paid', 'tag=receipt'])
})

t.test('a message that came whole', async (t) => {
  const message = Buffer.from(
    'From: no-reply@acme.test\r\nTo: list@acme.test\r\nSubject: Whole\r\nX-Kept: yes\r\n\r\nHello\r\n',
  )
  const sent = await create({ to: ['ana@example.com', 'bo@example.com'], message, 'o:tag': 'raw' })
  const mail = await newest()
  t.equal(sent.id, mail.message_id)
  t.match(mail, { subject: 'Whole', tags: [{ name: 'tag', value: 'raw' }], counts: { queued: 2 } })
  const named = Buffer.from('From: a@acme.test\r\nMessage-ID: <own@acme.test>\r\n\r\nHello')
  t.equal((await create({ to: ['ana@example.com'], message: named })).id, '<own@acme.test>')
  t.match(await refusal({ to: ['ana@example.com'], message, subject: 'x' }), {
    status: 400,
    details: 'subject is not known here',
  })
  const foreign = Buffer.from('From: a@other.test\r\n\r\nx')
  t.match(await refusal({ to: ['ana@example.com'], message: foreign }), {
    status: 400,
    details: /domain in the path/,
  })
})

t.test('times of sending', async (t) => {
  const at = Math.floor(Date.now() / 1_000) + 3_600
  for (const time of [`${at}`, new Date(at * 1_000).toUTCString()]) {
    await create({ ...MAIL, 'o:deliverytime': time })
    t.equal(Date.parse((await newest()).scheduled_at), at * 1_000, time)
  }
  for (const time of ['tomorrow', '2026-01-01 10:00', '4000000000', 'Thu, 01 Jan 2026 00:00:00'])
    t.match(
      await refusal({ ...MAIL, 'o:deliverytime': time }),
      { status: 400, details: /^o:deliverytime must/ },
      time,
    )
})

t.test('it may ask for verified TLS on all of the way', async (t) => {
  const stored = async () => {
    const { json } = await kit.ask('/v1/emails?limit=1')
    return (
      await kit.store.email(
        { accountId: kit.accountId, workspaceId: kit.workspaceId, mode: 'live' },
        json.data[0].id,
      )
    )?.requireTls
  }
  await create({ ...MAIL, 'o:require-tls': 'yes', 'o:skip-verification': 'no' })
  t.equal(await stored(), true)
  await create({ ...MAIL, 'o:require-tls': 'no' })
  t.equal(await stored(), false)
  t.match(await refusal({ ...MAIL, 'o:require-tls': 'perhaps' }), { details: /must be yes or no/ })
})

t.test('test mode checks and sends nothing', async (t) => {
  const before = (await newest()).id
  const sent = await create({ ...MAIL, 'o:testmode': 'yes' })
  t.match(sent, { status: 200, id: /^<req_\w+@testmode>$/, message: /^Queued\. Thank you/ })
  t.match(await refusal({ ...MAIL, to: 'ana@', 'o:testmode': 'yes' }), { status: 400 })
  t.equal((await newest()).id, before)
})

t.test('each mistake is named, as it is called there', async (t) => {
  const before = (await newest()).id
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ to: 'ana@' }, /^to must be an address|^to\[0\] must/],
    [{ from: 'no one' }, /^from must/],
    [{ from: 'a@other.test' }, /^from must be an address of acme\.test/],
    [{ 'h:Date': 'now' }, /^h:Date Date is set/],
    [{ 'h:__proto__': 'x' }, /^h:__proto__ is no name/],
    [{ 'h:X-A': 'a\r\nBcc: evil@example.com' }, /^h:X-A must not contain line breaks/],
    [{ subject: 'a\nb' }, /^subject must not contain/],
    [{ 'o:tracking': 'yes' }, /^o:tracking asks that readers/],
    [{ 'o:tracking-clicks': 'htmlonly' }, /^o:tracking-clicks asks/],
    [{ 'o:dkim': 'no' }, /^o:dkim/],
    [{ template: 'welcome' }, /^template asks/],
    [{ 't:variables': '{}' }, /^t:variables asks/],
    [{ 'v:long': 'x'.repeat(257) }, /^v:long must have at most 256/],
    [Object.fromEntries(Array.from({ length: 76 }, (_, i) => [`v:a${i}`, 'x'])), /^o:tag must be at most 75/],
    [{ 'o:unheard': 'x' }, /^o:unheard is not known/],
    [{ constructor: 'x' }, /^constructor is not known/],
    [{ 'o:testmode': ['no', 'yes'] }, /^o:testmode must not repeat/],
    [{ 'o:require-tls': ['yes', 'no'] }, /^o:require-tls must not repeat/],
    [{ 'o:tracking': ['no', 'no'] }, /^o:tracking must not repeat/],
    [{ 'h:X-A': 'a', 'h:x-a': 'b' }, /^h:x-a must not repeat/],
    [{ 'h:Reply-To': ['a@acme.test', 'b@acme.test'] }, /^h:Reply-To must not repeat/],
    [{ 'v:a': ['1', '2'] }, /^v:a must not repeat/],
    [{ inline: [{ data: Buffer.from('x'), filename: 'my logo.png' }] }, /^inline\[0\]\.content_id must/],
  ]
  for (const [more, words] of wrong) {
    const { status, details } = await refusal({ ...MAIL, ...more })
    t.match({ status, details }, { status: 400, details: words })
  }
  t.equal((await newest()).id, before)
})

t.test('who may', async (t) => {
  t.match(await refusal(MAIL, clientOf('key-wrong')), { status: 401, details: 'Forbidden' })
  t.match(await refusal(MAIL, clientOf(kit.session)), { status: 403, details: /a key of the workspace/ })
  t.match(await refusal(MAIL, clientOf(kit.platform)), { status: 403, details: /one workspace owns/ })
  const now = Date.now()
  const domain = {
    accountId: kit.accountId,
    keys: [],
    verifiedAt: null,
    checkedAt: null,
    createdAt: now,
    updatedAt: now,
  }
  await kit.store.createDomain({ ...domain, id: 'dom_1', name: 'acme.test', workspaceId: kit.workspaceId })
  await kit.store.createDomain({ ...domain, id: 'dom_2', name: 'all.test', workspaceId: null })
  t.match(await create(MAIL, clientOf(kit.platform)), { status: 200 })
  t.equal((await newest()).workspace_id, kit.workspaceId)
  t.match(await refusal({ ...MAIL, from: 'a@all.test' }, clientOf(kit.platform), 'all.test'), { status: 403 })
  t.match(await refusal({ ...MAIL, from: 'a@other.test' }, clientOf(kit.platform)), { status: 400 })
  t.match(await create(MAIL, client, 'ACME.test'), { status: 200 })
})

t.test('recipient variables: each gets a mail of its own', async (t) => {
  const batch = {
    from: 'no-reply@acme.test',
    to: ['"Ana" <ANA@example.com>', 'bo@example.com'],
    subject: 'Hi %recipient.First Name%',
    text: 'Hello %recipient.First Name%: 100% %recipient.n%',
    html: '<a href="%recipient.link%">%recipient.First Name%</a>',
    'h:List-Unsubscribe': '<https://acme.test/u/%recipient.n%>',
    'v:n': '%recipient.n%',
    'o:tag': 'batch',
  }
  const variables = {
    'ana@example.com': { 'First Name': 'Ana <&> %recipient.n%', n: 1, link: 'https://acme.test/?a=1&b=2' },
    'bo@example.com': { 'First Name': 'Bo', n: 2, link: 'mailto:help@acme.test', unused: true },
    'nobody@example.com': { n: 3 },
  }
  const sent = await create({ ...batch, 'recipient-variables': JSON.stringify(variables) })
  const { json } = await kit.ask('/v1/emails?limit=2&tag=tag:batch')
  const [second, first] = await Promise.all(
    json.data.map(async ({ id }: { id: string }) => (await kit.ask(`/v1/emails/${id}`)).json),
  )
  t.equal(sent.id, first.message_id, 'the answer names the first')
  t.match(first, {
    to: ['"Ana" <ANA@example.com>'],
    cc: [],
    subject: 'Hi Ana <&> %recipient.n%',
    text: 'Hello Ana <&> %recipient.n%: 100% 1',
    html: '<a href="https://acme.test/?a=1&amp;b=2">Ana &lt;&amp;&gt; %recipient.n%</a>',
    headers: { 'List-Unsubscribe': '<https://acme.test/u/1>' },
  })
  t.ok(first.tags.some(({ name, value }: { name: string; value: string }) => name === 'n' && value === '1'))
  t.match(second, { to: ['bo@example.com'], subject: 'Hi Bo' })

  const before = (await newest()).id
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ 'recipient-variables': 'x' }, /^recipient-variables must be a JSON object/],
    [{ 'recipient-variables': '[]' }, /^recipient-variables must be a JSON object/],
    [
      { 'recipient-variables': '{"bo@example.com": 5}' },
      /^recipient-variables\.bo@example\.com must be an object/,
    ],
    [
      { 'recipient-variables': '{}' },
      /^recipient-variables\.ANA@example\.com has no value for %recipient\.First Name%/,
    ],
    [
      { 'recipient-variables': JSON.stringify({ ...variables, 'bo@example.com': { n: 2 } }) },
      /^recipient-variables\.bo@example\.com has no value for %recipient\.First Name%, %recipient\.link%$/,
    ],
    [
      {
        'recipient-variables': JSON.stringify({
          ...variables,
          'bo@example.com': { ...variables['bo@example.com'], link: 'javascript:x' },
        }),
      },
      /^recipient-variables\.bo@example\.com\.link must begin with https/,
    ],
    [{ html: '<script>%recipient.n%</script>' }, /^html line 1, column 9: %recipient\.n% is in <script>/],
    [{ text: '%unsubscribe_url%' }, /^text has %unsubscribe_url%/],
    [{ text: 'to %recipient%' }, /^text has %recipient%/],
    [{ cc: 'cy@example.com' }, /^cc must not stand beside/],
    [{ to: ['ana@example.com', 'bo@'] }, /; to\[1\] must be an address/],
  ]
  for (const [more, words] of wrong)
    t.match(await refusal({ ...batch, 'recipient-variables': JSON.stringify(variables), ...more }), {
      status: 400,
      details: words,
    })
  const asIs = JSON.stringify(variables)
  const odd: readonly (readonly [object, RegExp])[] = [
    [{ from: '"%recipient.n%" <no-reply@acme.test>' }, /^from has %recipient\.n%: the sender is the same/],
    [{ to: ['"%recipient.n%" <ana@example.com>', 'bo@example.com'] }, /^to has %recipient\.n%/],
    [{ 'h:Reply-To': '"%recipient.First Name%" <help@acme.test>' }, /First Name must have no \( \)/],
    [{ 'h:Reply-To': 'no one %recipient.n%' }, /h:Reply-To.* must be an address/],
    [{ 'recipient-variables': [asIs, asIs] }, /^recipient-variables must not repeat/],
  ]
  for (const [more, words] of odd)
    t.match(await refusal({ ...batch, 'recipient-variables': asIs, ...more }), {
      status: 400,
      details: words,
    })
  t.equal((await newest()).id, before, 'all or none')
  const many = Array.from({ length: 1_000 }, (_, i) => `r${i}@example.com`)
  const plain = { ...MAIL, to: many, 'recipient-variables': '{}' }
  t.match(await create(plain), { status: 200 })
  t.match(await refusal({ ...plain, to: [...many.slice(0, 999), 'a@example.com, b@example.com'] }), {
    status: 400,
    details: /^to must be at most 1000/,
  })
  t.match(await refusal({ ...plain, text: 'x'.repeat(100_000) }), { status: 413, details: /in parts/ })
})

t.test('each recipient once, and answers go where each one has it', async (t) => {
  const body = {
    ...MAIL,
    'o:tag': 'once',
    to: ['"Ana" <ana@example.com>', 'ANA@EXAMPLE.com, bo@example.com'],
    'h:Reply-To': 'reply+%recipient.id%@acme.test, help@acme.test',
    'recipient-variables': '{"ana@example.com": {"id": 1}, "bo@example.com": {"id": 2}}',
  }
  t.match(await create(body), { status: 200 })
  const { json } = await kit.ask('/v1/emails?limit=3&tag=tag:once')
  const mails = await Promise.all(
    json.data.map(async ({ id }: { id: string }) => (await kit.ask(`/v1/emails/${id}`)).json),
  )
  t.match(mails, [
    { to: ['bo@example.com'], reply_to: ['reply+2@acme.test', 'help@acme.test'] },
    { to: ['"Ana" <ana@example.com>'], reply_to: ['reply+1@acme.test', 'help@acme.test'] },
  ])
  t.equal(mails.length, 2)
  const long = await refusal({ ...body, to: 'x'.repeat(10_000) })
  t.equal(long.status, 400)
  t.ok(long.details.length < 1_000, 'what is no address is not repeated in full')
  t.match(await refusal({ ...body, to: ['ana@example.com', 'Ana@example.com', 'bo@'] }), {
    details: /; to\[2\] must be an address/,
  })
})

t.test('what takes long is refused before it is filled', async (t) => {
  const recipients = Array.from({ length: 1_000 }, (_, i) => `r${i}@example.com`)
  const variables = Object.fromEntries(recipients.map((one) => [one, { a: '' }]))
  const places = '%recipient.a%'.repeat(1_000)
  const parts = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`h:X-${i}`, places]))
  const plain = { ...MAIL, to: recipients, 'recipient-variables': JSON.stringify(variables) }
  t.match(await refusal({ ...plain, ...parts(11) }), {
    status: 400,
    details: /^h:X-\d+ must have at most 10000/,
  })
  t.match(await refusal({ ...plain, ...parts(10) }), { status: 413, details: /in parts/ })
  const slow = await openKit({ perMinute: 2 })
  t.teardown(() => slow.stop())
  const by = new Mailgun(FormData).client({
    username: 'api',
    key: slow.key,
    url: `${slow.url}/v1/as/mailgun`,
  })
  // and not that each of them lacks a value
  const lacking = { ...MAIL, to: recipients, text: '%recipient.b%', 'recipient-variables': '{}' }
  t.match(await refusal(lacking, by), { status: 413, details: /sends 2 mails a minute/ })
})

const URL_OF = `${kit.url}/v1/as/mailgun/v3/acme.test/messages`
const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`
const OWN = { authorization: basic(`api:${kit.key}`) }

const post = async (
  body: string | Buffer | URLSearchParams,
  headers: Record<string, string> = {},
  at = URL_OF,
): Promise<Pick<Reply, 'status' | 'text' | 'headers'>> => {
  const answer = await fetch(at, { method: 'POST', body: body as never, headers: { ...OWN, ...headers } })
  return { status: answer.status, text: await answer.text(), headers: answer.headers }
}
const form = (more: Record<string, string> = {}) =>
  new URLSearchParams({ ...MAIL, to: 'ana@example.com', ...more })
const BOUNDED = { 'content-type': 'multipart/form-data; boundary=b' }
const field = (name: string, value: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
const PLAIN = Object.entries({ ...MAIL, to: 'ana@example.com' })
  .map(([name, value]) => field(name, String(value)))
  .join('')

t.test('a form without files', async (t) => {
  t.match(await post(form({ text: 'a+b & c=%ü' })), { status: 200 })
  t.equal((await newest()).text, 'a+b & c=%ü')
  t.match(await post(`${PLAIN}--b--`, BOUNDED), { status: 200 })
  t.match(await post(form({ attachment: 'text' })), { status: 400, text: /attachment must be a file/ })
  t.match(await post(`preamble\r\n${PLAIN}--b-- \r\nepilogue`, BOUNDED), { status: 200 })
  t.match(await post(`--b--more\r\n${PLAIN}--b--`, BOUNDED), { status: 200 })
  const inside = field('html', 'one\r\n--b--more text\r\n--b--\ttwo')
  t.match(await post(`${PLAIN}${inside}${field('v:behind', 'x')}--b--\t \r\nmore`, BOUNDED), { status: 200 })
  t.match(await newest(), {
    html: 'one\r\n--b--more text\r\n--b--\ttwo',
    tags: [{ name: 'behind', value: 'x' }],
  })
  const named = (name: string) => `--b\r\nContent-Disposition: form-data; ${name}\r\n\r\nx\r\n`
  t.match(await post(`${PLAIN}${named('name="v:a";')}${named("name*=utf-8''v%3Ac%20")}--b--`, BOUNDED), {
    status: 200,
  })
  t.match((await newest()).tags.length, 2)
  t.match(await post(form({ 'o:testmode': '' }), {}), { status: 200 })
  const trial = `${field('o:testmode', '')}${field('o:testmode', 'yes')}`
  t.match(await post(`${PLAIN}${trial}--b--`, BOUNDED), { status: 200, text: /testmode/ })
})

t.test('the same request twice is one mail', async (t) => {
  const first = await post(form(), { 'idempotency-key': 'k1' })
  const second = await post(form(), { 'idempotency-key': 'k1' })
  t.equal(first.text, second.text)
  t.equal(second.headers.get('idempotent-replayed'), 'true')
  t.match(await post(`${PLAIN}--b--`, { ...BOUNDED, 'idempotency-key': 'k1' }), {
    status: 200,
    text: first.text,
  })
  t.match(await post(form({ subject: 'other' }), { 'idempotency-key': 'k1' }), {
    status: 409,
    text: /"message"/,
  })
  const whole = (id: string) =>
    `${field('to', 'ana@example.com')}${field('message', `From: a@acme.test\r\nMessage-ID: <${id}@x>\r\n\r\nHello`)}--b--`
  const headers = { ...BOUNDED, 'idempotency-key': 'k2' }
  const once = await post(whole('1'), headers, `${URL_OF}.mime`)
  t.equal((await post(whole('2'), headers, `${URL_OF}.mime`)).text, once.text, 'it counts as it is read')
})

t.test('credentials in another form', async (t) => {
  const wrong = [
    `Bearer ${kit.key}`,
    basic(kit.key),
    basic(`:${kit.key}`),
    basic(`user:${kit.key}`),
    basic(`api:`),
    basic(`api:${kit.key}\u0000`),
    'Basic',
    'Basic %%%',
    `Digest ${kit.key}`,
  ]
  for (const authorization of wrong) {
    const answer = await post(form(), { authorization })
    t.match(answer, { status: 401, text: 'Forbidden' }, authorization)
    t.equal(answer.headers.get('www-authenticate'), null)
  }
  const none = await fetch(URL_OF, { method: 'POST', body: form() })
  t.equal(none.status, 401)
  t.match(await post(form(), { origin: 'https://evil.test' }), { status: 403, text: /"message"/ })
  t.match(await post(form(), { 'sec-fetch-site': 'cross-site' }), { status: 403 })
})

t.test('forms that nobody would send', async (t) => {
  const many = (count: number) => field('o:tracking', '').repeat(count)
  const wrong: readonly (readonly [string, string | Buffer, Record<string, string>?])[] = [
    ['no boundary', `${PLAIN}--b--`, { 'content-type': 'multipart/form-data' }],
    ['an empty boundary', `${PLAIN}--b--`, { 'content-type': 'multipart/form-data; boundary=' }],
    ['another boundary', `${PLAIN}--b--`, { 'content-type': 'multipart/form-data; boundary=c' }],
    ['cut in the head', PLAIN.slice(0, -20)],
    ['cut behind a part', PLAIN],
    ['cut in the last boundary', `${PLAIN}--b-`],
    ['a boundary in a line', `${PLAIN}--bx\r\n\r\n`],
    ['lone line feeds', `${PLAIN}--b--`.replaceAll('\r', '')],
    ['a head without end', `--b\r\nX-A: ${'a'.repeat(9_000)}\r\n\r\n\r\n--b--`],
    ['many fields of a head', `--b\r\n${'X-A: a\r\n'.repeat(2_000)}\r\n\r\n--b--`],
    ['no name', `--b\r\nContent-Disposition: form-data; filename="a"\r\n\r\nx\r\n--b--`],
    ['no disposition', `--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--`],
    ['two names', `--b\r\nContent-Disposition: form-data; name="to"; name="cc"\r\n\r\nx\r\n--b--`],
    ['no UTF-8', Buffer.from(`${PLAIN}${field('v:a', '\xff')}--b--`, 'latin1')],
    ['no UTF-8 in a name', Buffer.from(`${PLAIN}${field('v:\xff', 'a')}--b--`, 'latin1')],
    [
      'base64',
      `${PLAIN}--b\r\nContent-Disposition: form-data; name="v:a"\r\nContent-Transfer-Encoding: base64\r\n\r\nYQ==\r\n--b--`,
    ],
    [
      'nested',
      `${PLAIN}--b\r\nContent-Disposition: form-data; name="attachment"\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c--\r\n--b--`,
    ],
    ['a last boundary that goes on', `${PLAIN}--b--more`],
    ['only a boundary that goes on', '--b--more'],
    [
      'a name of Latin-1',
      `${PLAIN}${field('v:a', 'x').replace('name="v:a"', "name*=iso-8859-1''v%3Aa")}--b--`,
    ],
    ['two empty parameters', `${PLAIN}${field('v:a', 'x').replace('"v:a"', '"v:a";;')}--b--`],
    ['2,001 parts', `${PLAIN}${many(1_997)}--b--`],
    ['a subject twice', `${PLAIN}${field('subject', 'x')}--b--`],
    ['a JSON body', '{"a":1}', { 'content-type': 'application/json' }],
    ['half an escape', 'from=%', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['no UTF-8 in an escape', 'from=%ff', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['2,001 pairs', 'a=b&'.repeat(2_001), { 'content-type': 'application/x-www-form-urlencoded' }],
  ]
  const before = (await newest()).id
  for (const [what, body, headers = BOUNDED] of wrong) {
    const { status, text } = await post(body, headers)
    t.ok((status === 400 || status === 415) && JSON.parse(text).message !== '', `${what}: ${status} ${text}`)
  }
  t.equal((await newest()).id, before)
  t.match(await post(`${PLAIN}${many(1_996)}--b--`, BOUNDED), { status: 200 }, 'two thousand are taken')
  t.match(await post(form(), {}, `${URL_OF}/x`), { status: 404, text: /route\.not_found/ })
  t.match(await post(form(), {}, `${kit.url}/v1/as/mailgun/v3/%00/messages`), { status: 404 })
})

t.test('a large one is read elsewhere, and is the same', async (t) => {
  const data = Buffer.alloc(5_000_000, 'ÿ\r\n--b')
  const sent = await create({ ...MAIL, 'v:size': 'big', attachment: { data, filename: 'a.bin' } })
  t.match(sent, { status: 200 })
  const mail = await newest()
  t.match(mail, { attachments: [{ size: data.length }], tags: [{ name: 'size', value: 'big' }] })
  t.match(await refusal({ ...MAIL, to: 'ana@', attachment: { data, filename: 'a' } }), {
    status: 400,
    details: /^to/,
  })
  const files = Array.from({ length: 60 }, () => ({ data: 'x', filename: 'x' }))
  await create({ ...MAIL, attachment: files })
  t.equal((await newest()).attachments.length, 60)
})

t.test('what is too large is refused before it is read', async (t) => {
  const small = await openKit({ maxBody: 100_000, memory: new Budget(1_000_000), perMinute: 1 })
  t.teardown(() => small.stop())
  const at = `${small.url}/v1/as/mailgun/v3/acme.test/messages`
  const own = { ...BOUNDED, authorization: basic(`api:${small.key}`) }
  t.match(await post('x'.repeat(100_001), own, at), { status: 413, text: /at most 100000/ })
  t.match(await post(`${PLAIN}--b--`, own, at), { status: 429, text: /"message"/ })
})
