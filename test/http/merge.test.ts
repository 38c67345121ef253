/** One template for many: values stay what they are, wherever they stand. */
import { Parser } from 'htmlparser2'
import t from 'tap'
import { fieldsOf, openKit } from './kit.js'

const kit = await openKit()
t.teardown(() => kit.stop())

const TEMPLATE = {
  from: 'no-reply@acme.test',
  subject: 'Hi {{name}}',
  text: 'Hello {{ name }}',
  html: '<p>Hello {{name}}</p>',
}

const post = (body: unknown, headers: Record<string, string> = {}) =>
  kit.ask('/v1/emails/batch', { method: 'POST', body, headers })
const merge = (template: object, ...variables: readonly object[]) =>
  post({
    template: { from: 'no-reply@acme.test', ...template },
    recipients: variables.map((one, i) => ({ to: `r${i}@example.com`, variables: one })),
  })
const mailOf = async (id: string) => (await kit.ask(`/v1/emails/${id}`)).json

t.test('each gets a mail of its own', async (t) => {
  const { status, json } = await post({
    template: {
      ...TEMPLATE,
      headers: { 'List-Unsubscribe': '<https://acme.test/u/{{id}}>' },
      tags: [{ name: 'id', value: 'n{{id}}' }],
      attachments: [{ filename: 'a.txt', content: 'aGVsbG8=' }],
    },
    recipients: [
      { to: 'ana@example.com', variables: { name: 'Ana <3 & "co"', id: '1', unused: 'x' } },
      { to: ['bo@example.com', 'cy@example.com'], variables: { name: 'Bo', id: '2' } },
    ],
  })
  t.equal(status, 202)
  t.match(json, { object: 'batch', data: [{ id: /^em_/ }, { id: /^em_/ }] })
  t.match(await mailOf(json.data[0].id), {
    to: ['ana@example.com'],
    subject: 'Hi Ana <3 & "co"',
    text: 'Hello Ana <3 & "co"',
    html: '<p>Hello Ana &lt;3 &amp; &quot;co&quot;</p>',
    headers: { 'List-Unsubscribe': '<https://acme.test/u/1>' },
    tags: [{ name: 'id', value: 'n1' }],
    attachments: [{ filename: 'a.txt', size: 5 }],
  })
  t.match(await mailOf(json.data[1].id), { to: ['bo@example.com', 'cy@example.com'], subject: 'Hi Bo' })
})

t.test('without variables it is one text for all', async (t) => {
  const { json } = await post({
    template: { from: 'a@acme.test', text: 'x' },
    recipients: [{ to: 'a@example.com' }],
  })
  t.match(await mailOf(json.data[0].id), { text: 'x', subject: '' })
})

t.test('all or none, or with permissive the good ones', async (t) => {
  const body = {
    template: TEMPLATE,
    recipients: [
      { to: 'ana@example.com', variables: { name: 'Ana' } },
      { to: 'bo@', variables: {} },
      { to: 'cy@example.com', variables: { name: 'a\r\nBcc: evil@example.com' } },
      { to: 'di@example.com', variables: { name: 5 } },
      { variables: { name: 'Ed' } },
    ],
  }
  const strict = await post(body)
  t.equal(strict.status, 422)
  t.strictSame(fieldsOf(strict), [
    'body.recipients[1].variables missing',
    'body.recipients[1].to format',
    'body.recipients[2].variables.name format',
    'body.recipients[3].variables.name type',
    'body.recipients[4].to missing',
  ])
  t.match(strict.json.errors[0].message, /\{\{name\}\}/)
  const { json } = await post(body, { 'x-batch-validation': 'permissive' })
  t.equal(json.data.length, 1)
  t.strictSame(
    json.errors.map(({ index }: { index: number }) => index),
    [1, 2, 3, 4],
  )
})

t.test('the same request twice is the same mails', async (t) => {
  const body = { template: TEMPLATE, recipients: [{ to: 'ana@example.com', variables: { name: 'Ana' } }] }
  const first = await post(body, { 'idempotency-key': 'k1' })
  const second = await post(body, { 'idempotency-key': 'k1' })
  t.equal(first.text, second.text)
  const other = { ...body, recipients: [{ to: 'ana@example.com', variables: { name: 'Bo' } }] }
  t.match(await post(other, { 'idempotency-key': 'k1' }), { status: 409 })
})

t.test('what is wrong with a template is told once, with its place', async (t) => {
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ subject: '{{{name}}}' }, /^line 1, column 1: must be/],
    [{ text: 'x\n {{#if name}}' }, /^line 2, column 2: must be/],
    [{ text: '{{Name}}' }, /must be/],
    [{ text: `{{${'a'.repeat(65)}}}` }, /must be/],
    [{ text: '{{name' }, /must be/],
    [{ html: '<a href={{name}}>' }, /without quotes/],
    [{ html: '<a href=x{{name}}>' }, /without quotes/],
    [{ html: '<a href="x"{{name}}>' }, /tag|attribute/],
    [{ html: '<a {{name}}="x">' }, /name of an attribute/],
    [{ html: '<{{name}}>' }, /tag/],
    [{ html: '<p></p{{name}}>' }, /tag/],
    [{ html: '<p></p {{name}}>' }, /tag/],
    [{ html: '<p\n{{name}}' }, /line 2, column 1/],
    [{ html: '<a href="&#{{name}}">' }, /write &amp;/],
    [{ html: '<p>&l{{name}}' }, /write &amp;/],
    [{ html: '<!-- {{name}} -->' }, /comment/],
    [{ html: '<!--[if mso]>{{name}}<![endif]-->' }, /comment/],
    [{ html: '<!doctype {{name}}>' }, /declaration/],
    [{ html: '<?xml {{name}}?>' }, /declaration/],
    [{ html: '<script>{{name}}</script>' }, /<script>/],
    [{ html: '<STYLE>{{name}}</STYLE>' }, /<style>/],
    [{ html: '<xmp>{{name}}</xmp>' }, /<xmp>/],
    [{ html: '<noscript>{{name}}</noscript>' }, /<noscript>/],
    [{ html: '<svg><p>{{name}}</p></svg>' }, /<svg>/],
    [{ html: '<plaintext>{{name}}' }, /<plaintext>/],
    [{ html: '<p style="color: {{name}}">' }, /attribute style/],
    [{ html: '<p onclick="x({{name}})">' }, /attribute onclick/],
    [{ html: '<img srcset="{{name}} 2x">' }, /attribute srcset/],
    [{ html: '<iframe srcdoc="{{name}}">' }, /attribute srcdoc/],
    [{ html: '<meta content="0;url={{name}}">' }, /<meta>/],
    [{ html: '<a href="javascript:f(\'{{name}}\')">' }, /link that is not/],
    [{ html: '<a href=" java&#115;cript:{{name}}">' }, /link that is not/],
    [{ html: '<a href="java{{name}}">' }, /middle of where a link begins/],
    [{ html: '<a href="data:{{name}}">' }, /link that is not/],
    [{ html: `${'<div>'.repeat(600)}{{name}}` }, /at most 512 elements/],
    [{ html: '<noscript><a href="https://x/{{name}}"></a></noscript>' }, /<noscript>/],
    [{ html: '<svg><a title="{{name}}"></a></svg>' }, /<svg>/],
    [{ html: '<svg><animate attributeName="href" values="{{name}}"/></svg>' }, /<svg>/],
    [{ html: '<animate attributeName="href" values="{{name}}">' }, /<animate>/],
    [{ html: '<set attributeName="href" to="{{name}}">' }, /<set>/],
    [{ from: 'no one' }, /./],
    [{ from: '"{{name}}" <no-reply@acme.test>' }, /^has \{\{name\}\}: the sender is the same for all/],
    [{ reply_to: '{{Name}} <help@acme.test>' }, /must be \{\{name\}\}/],
    [{ reply_to: ['no one', '{{name}}@acme.test'] }, /must be an address/],
    [{ headers: { Date: '{{name}}' } }, /set by the service/],
  ]
  for (const [template, words] of wrong) {
    const { status, json } = await merge(template, { name: 'a' }, { name: 'b' })
    t.equal(status, 422, JSON.stringify(template))
    t.equal(json.errors?.length, 1, JSON.stringify(json.errors))
    t.match(json.errors?.[0], { field: /^body\.template\./, message: words })
  }
})

/** What a reader of HTML sees, as one text. */
const seen = (html: string): string => {
  const told: unknown[] = []
  const parser = new Parser({
    onopentag: (name, attributes) => told.push([name, attributes]),
    ontext: (text) => told.push(text),
    oncomment: (text) => told.push(['!', text]),
    onclosetag: (name) => told.push(['/', name]),
  })
  parser.end(html)
  return JSON.stringify(told).replaceAll('","', '')
}

t.test('hostile values stay texts', async (t) => {
  const html =
    '<title>{{v}}</title><p title="{{v}}" lang=\'{{v}}\'>a {{v}} b</p><a href="https://acme.test/{{v}}?q={{v}}">x</a><img src="cid:{{v}}">'
  const hostile = [
    '<script>alert(1)</script>',
    '</script><b>',
    '</title></p>',
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='x",
    '{{v}}',
    '{{other}}',
    '{{{v}}}',
    '&lt;b&gt; &amp;',
    '--><!--',
    ']]>',
    'a\u2028b\u2029c',
    '\u202eevil\u202c',
    '\u2067x\u2069',
    '\u200f\u200e',
    '=`',
    '$& $1 $$',
    '\t\r\n',
  ]
  for (const value of hostile) {
    const { status, json } = await merge({ subject: 'x', html, text: '{{v}}' }, { v: value })
    t.equal(status, 202, encodeURIComponent(value))
    const mail = await mailOf(json.data[0].id)
    const plain = seen(html.replaceAll('{{v}}', 'VALUE'))
    t.equal(
      seen(mail.html),
      plain.replaceAll('VALUE', () => JSON.stringify(value).slice(1, -1)),
      encodeURIComponent(value),
    )
  }
})

t.test('values that may not stand where they would', async (t) => {
  const links = [
    'javascript:alert(1)',
    ' javascript:x',
    'JaVaScRiPt:x',
    'java\nscript:x',
    'data:text/html,x',
    'vbscript:x',
    '//evil.test',
    '/x',
    'x',
    '',
    'https:evil',
    '&#106;avascript:x',
  ]
  for (const v of links)
    t.match(await merge({ html: '<a href="{{v}}/x">' }, { v }), {
      status: 422,
      json: { errors: [{ field: 'body.recipients[0].variables.v', message: /begins a link/ }] },
    })
  for (const v of ['https://acme.test/a?b="c"', 'HTTP://acme.test', 'mailto:a@acme.test'])
    t.match(await merge({ html: '<a href="{{v}}">' }, { v }), { status: 202 })
  t.match(await merge({ html: '<a href="/{{v}}">' }, { v: '/evil.test' }), { status: 422 })
  t.match(await merge({ html: '<a href="/{{v}}">' }, { v: 'a/b' }), { status: 202 })
  const joined: readonly (readonly [string, string, string, number])[] = [
    ['/{{a}}{{b}}', '', '/evil.test/', 422],
    ['/{{a}}{{b}}', '\t', '\\evil.test/', 422],
    ['/{{a}}/{{b}}', '', 'evil.test/', 422],
    ['/{{a}}{{b}}/evil.test', '', '\n', 422],
    ['/\t{{a}} {{b}}', '', '/evil.test/', 422],
    ['/{{a}}{{b}}', '', '', 202],
    ['/{{a}}{{b}}', 'x', 'y/z', 202],
    ['/{{a}}/{{b}}', 'x', '', 202],
    ['/x{{a}}{{b}}', '', '/y', 202],
    ['{{a}}{{b}}', 'https://acme.test', '/x', 202],
    ['{{a}}/{{b}}', 'https://acme.test', '/x', 202],
  ]
  for (const [href, a, b, status] of joined)
    t.match(await merge({ html: `<a href="${href}">` }, { a, b }), { status }, JSON.stringify([href, a, b]))
  const lines = ['a\nb', 'a\rb', 'a\u2028b', 'a\u2029b', 'a\u0085b', 'a\u0001b']
  for (const v of lines) {
    t.match(await merge({ subject: '{{v}}' }, { v }), { status: 422 }, encodeURIComponent(v))
    t.match(await merge({ text: 'x', headers: { 'X-A': '{{v}}' } }, { v }), { status: 422 })
  }
  for (const v of ['\u202e', 'a\u2066b', '\u202c', '\u2069\u2066'])
    t.match(await merge({ text: '{{v}}' }, { v }), {
      status: 422,
      json: { errors: [{ message: /bidirectional/ }] },
    })
})

t.test('answers go where each one has it', async (t) => {
  const reply_to = ['"{{name}} of Acme" <reply+{{id}}@acme.test>', '{{other}}', 'help@acme.test']
  const good = { name: 'Ana', id: '7', other: 'Bo <bo@acme.test>' }
  const { json } = await merge({ text: 'x', reply_to }, good)
  t.strictSame((await mailOf(json.data[0].id)).reply_to, [
    '"Ana of Acme" <reply+7@acme.test>',
    'Bo <bo@acme.test>',
    'help@acme.test',
  ])
  const wrong = [
    { name: '" <evil@evil.test> "' },
    { id: 'x@evil.test' },
    { id: '1>, <evil@evil.test' },
    { other: 'bo@acme.test, cy@acme.test' },
    { other: 'bo@acme.test\r\nBcc: evil@evil.test' },
    { other: 'nobody' },
  ]
  for (const one of wrong)
    t.match(await merge({ text: 'x', reply_to }, { ...good, ...one }), { status: 422 }, JSON.stringify(one))
})

t.test('limits', async (t) => {
  const hundred = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`v${i}`, 'x']))
  t.match(await merge({ text: '{{v0}}' }, hundred), { status: 202 })
  t.match(await merge({ text: '{{v0}}' }, { ...hundred, more: 'x' }), { status: 422 })
  t.match(await merge({ text: '{{v}}' }, { v: 'ä'.repeat(4_096) }), { status: 202 })
  t.match(await merge({ text: '{{v}}' }, { v: 'ä'.repeat(4_097) }), {
    status: 422,
    json: { errors: [{ message: /8 KiB/ }] },
  })
  t.match(await merge({ text: 'x' }, { 'not a name': 'x' }), { status: 422 })
  const all = Array.from({ length: 100 }, (_, i) => ({ name: `n${i}` }))
  t.equal((await merge(TEMPLATE, ...all)).json.data.length, 100)
  t.match(await merge(TEMPLATE, ...all, { name: 'x' }), { status: 422 })
  t.match(await merge(TEMPLATE), { status: 422 })
  const swelling = { text: '{{v}}'.repeat(100) }
  const many = Array.from({ length: 100 }, () => ({ v: 'x'.repeat(8_000) }))
  t.match(await merge(swelling, ...many), { status: 413, json: { detail: /in parts/ } })
  t.match(await merge({ text: '{{v}}'.repeat(4_000) }, { v: 'x'.repeat(8_000) }), { status: 413 })
  const strewn = '{{v}}'.repeat(10_001)
  for (const name of ['html', 'text'])
    t.match(await merge({ [name]: strewn }, { v: '' }), {
      status: 422,
      json: { errors: [{ field: `body.template.${name}`, kind: 'too_many' }] },
    })
  const parts = { text: '{{v}}'.repeat(5_000), html: '{{v}}'.repeat(5_000) }
  t.match(await merge(parts, { v: '' }), { status: 202 })
  t.match(await merge({ ...parts, headers: { 'X-A': '{{v}}' } }, { v: '' }), {
    status: 422,
    json: { errors: [{ field: 'body.template.headers.X-A', kind: 'too_many' }] },
  })
  const lacking = { text: Array.from({ length: 200 }, (_, i) => `{{v${i}}}`).join('') }
  t.match(await merge(lacking, {}), { json: { errors: [{ message: /\{\{v9\}\} and 190 more$/ }] } })
  const large = { html: `<p>${'x'.repeat(200_000)}{{v}}</p>` }
  const { status, json } = await merge(large, { v: '<a>' }, { v: '<b>' })
  t.equal(status, 202)
  t.match((await mailOf(json.data[1].id)).html, /x&lt;b&gt;<\/p>$/)
})

t.test('bodies that are neither', async (t) => {
  for (const body of [
    {},
    { template: TEMPLATE },
    { recipients: [] },
    5,
    true,
    { template: TEMPLATE, recipients: {} },
    { template: [], recipients: [{ to: 'a@example.com' }] },
    { template: { ...TEMPLATE, to: 'a@example.com' }, recipients: [{ to: 'a@example.com' }] },
    { template: { raw: 'eA==' }, recipients: [{ to: 'a@example.com' }] },
    { template: TEMPLATE, recipients: [null, 5] },
  ])
    t.match(await post(body), { status: 422 }, JSON.stringify(body).slice(0, 80))
})

t.test('more than the key may send in a minute are not filled', async (t) => {
  const slow = await openKit({ perMinute: 2 })
  t.teardown(() => slow.stop())
  const recipients = Array.from({ length: 3 }, (_, i) => ({ to: `r${i}@example.com` }))
  for (const text of ['x', 'x'.repeat(200_000)])
    t.match(
      await slow.ask('/v1/emails/batch', { body: { template: { ...TEMPLATE, text }, recipients } }),
      // and not that each of them lacks a name
      { status: 422, json: { errors: [{ field: 'body', kind: 'too_many', message: /at most 2 emails/ }] } },
    )
})
