/**
 * Whatever goes wrong, in hapi or below it, is one kind of answer: the table of
 * problems, and more. Each row is sent as raw bytes.
 */
import { deflateSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { FAULTS, type FaultCode } from '../../src/base/fault.js'
import { MAIL, openKit } from './kit.js'
import { type RawReply, raw } from './raw.js'

const MAX = 100_000
const kit = await openKit({ requestTimeoutMs: 1_000, maxBody: MAX })
t.teardown(() => kit.stop())

const lines = (...all: readonly string[]) => `${all.join('\r\n')}\r\n\r\n`
const AUTH = `Authorization: Bearer ${kit.key}`
const JSON_TYPE = 'Content-Type: application/json'
const CLOSE = 'Connection: close'
const HOST = 'Host: x'

const post = (body: string | Uint8Array, ...headers: readonly string[]): Uint8Array =>
  Buffer.concat([
    Buffer.from(
      lines(
        'POST /v1/emails HTTP/1.1',
        HOST,
        AUTH,
        CLOSE,
        `Content-Length: ${Buffer.byteLength(body)}`,
        ...headers,
      ),
    ),
    Buffer.from(body),
  ])

const get = (path: string, ...headers: readonly string[]): string =>
  lines(`GET ${path} HTTP/1.1`, HOST, CLOSE, ...headers)

const mail = JSON.stringify(MAIL)
const bomb = JSON.stringify({ ...MAIL, text: 'a'.repeat(5_000_000) })

interface Row {
  readonly name: string
  readonly code: FaultCode
  readonly send: readonly (string | Uint8Array)[]
  readonly instance?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Members beyond the six. */
  readonly more?: readonly string[]
}

const FIELDS = ['detail', 'errors']
/** What is wrong with a body is said in words. */
const IN_WORDS: ReadonlySet<FaultCode> = new Set([
  'request.body_malformed',
  'request.body_too_large',
  'request.media_type_unsupported',
  'auth.session_required',
])

const rows: readonly Row[] = [
  { name: 'unknown path', code: 'route.not_found', send: [get('/v1/nope?secret=1')], instance: '/v1/nope' },
  {
    name: 'trailing slash',
    code: 'route.not_found',
    send: [get('/v1/emails/', AUTH)],
    instance: '/v1/emails/',
  },
  {
    name: 'double slash',
    code: 'route.not_found',
    send: [get('/v1//emails', AUTH)],
    instance: '/v1//emails',
  },
  { name: 'other case', code: 'route.not_found', send: [get('/V1/emails', AUTH)] },
  { name: 'root', code: 'route.not_found', send: [get('/')], instance: '/' },
  {
    name: 'POST to nowhere with a body',
    code: 'route.not_found',
    send: [lines('POST /nope HTTP/1.1', HOST, 'Content-Length: 50000'), 'x'.repeat(100)],
  },
  {
    name: 'wrong method',
    code: 'route.method_not_allowed',
    send: [lines('PUT /v1/emails HTTP/1.1', HOST, CLOSE)],
    headers: { allow: 'POST, GET, HEAD' },
  },
  {
    name: 'OPTIONS',
    code: 'route.method_not_allowed',
    send: [lines('OPTIONS /v1/emails HTTP/1.1', HOST, CLOSE)],
  },
  {
    name: 'TRACE',
    code: 'route.method_not_allowed',
    send: [lines('TRACE /v1/emails/em_1 HTTP/1.1', HOST, CLOSE)],
  },
  { name: 'CONNECT', code: 'route.method_not_allowed', send: [lines('CONNECT x:1 HTTP/1.1', HOST, CLOSE)] },
  { name: 'OPTIONS *', code: 'request.malformed', send: [lines('OPTIONS * HTTP/1.1', HOST, CLOSE)] },
  {
    name: 'no credential',
    code: 'auth.credentials_missing',
    send: [get('/v1/emails')],
    headers: { 'www-authenticate': 'Bearer' },
  },
  { name: 'Basic', code: 'auth.credentials_invalid', send: [get('/v1/emails', 'Authorization: Basic eDp5')] },
  { name: 'unknown key', code: 'auth.credentials_invalid', send: [get('/v1/emails', `${AUTH}x`)] },
  {
    name: 'empty bearer',
    code: 'auth.credentials_invalid',
    send: [get('/v1/emails', 'Authorization: Bearer ')],
  },
  { name: 'two credentials', code: 'auth.credentials_invalid', send: [get('/v1/emails', AUTH, AUTH)] },
  { name: 'key where a session is needed', code: 'auth.session_required', send: [get('/v1/api-keys', AUTH)] },
  {
    name: 'workspace key makes a workspace',
    code: 'auth.scope_forbidden',
    send: [lines('POST /v1/workspaces HTTP/1.1', HOST, AUTH, CLOSE, 'Content-Length: 0')],
  },
  { name: 'malformed id', code: 'email.not_found', send: [get('/v1/emails/nonsense', AUTH)] },
  {
    name: 'absent id',
    code: 'email.not_found',
    send: [get('/v1/emails/em_01k9f3m2zq8v6t4r2p0nxcwbha', AUTH)],
  },
  { name: 'unknown error type', code: 'error_type.not_found', send: [get('/errors/nope')] },
  {
    name: 'foreign workspace',
    code: 'workspace.not_found',
    send: [post(mail, JSON_TYPE, 'X-Workspace-Id: ws_x')],
  },
  {
    name: 'two workspaces',
    code: 'request.malformed',
    send: [post(mail, JSON_TYPE, 'X-Workspace-Id: a', 'X-Workspace-Id: a')],
  },
  {
    name: 'bad cursor',
    code: 'validation.cursor_invalid',
    send: [get('/v1/emails?cursor=v1_x', AUTH)],
    instance: '/v1/emails',
  },
  { name: 'empty cursor', code: 'validation.cursor_invalid', send: [get('/v1/emails?cursor=', AUTH)] },
  {
    name: 'two cursors',
    code: 'validation.cursor_invalid',
    send: [get('/v1/emails?cursor=a&cursor=a', AUTH)],
  },
  {
    name: 'bad limit',
    code: 'validation.request_invalid',
    send: [get('/v1/emails?limit=0', AUTH)],
    more: FIELDS,
  },
  { name: 'no body', code: 'validation.request_invalid', send: [post('')], more: FIELDS },
  { name: 'null body', code: 'validation.request_invalid', send: [post('null', JSON_TYPE)], more: FIELDS },
  { name: 'missing field', code: 'validation.request_invalid', send: [post('{}', JSON_TYPE)], more: FIELDS },
  {
    name: 'text/plain',
    code: 'request.media_type_unsupported',
    send: [post(mail, 'Content-Type: text/plain')],
  },
  { name: 'nonsense type', code: 'request.media_type_unsupported', send: [post(mail, 'Content-Type: ;;;')] },
  {
    name: 'form',
    code: 'request.media_type_unsupported',
    send: [post('to=a', 'Content-Type: application/x-www-form-urlencoded')],
  },
  {
    name: 'charset',
    code: 'request.media_type_unsupported',
    send: [post(mail, `${JSON_TYPE}; charset=iso-8859-1`)],
  },
  {
    name: 'brotli',
    code: 'request.media_type_unsupported',
    send: [post(mail, JSON_TYPE, 'Content-Encoding: br')],
  },
  {
    name: 'two encodings',
    code: 'request.media_type_unsupported',
    send: [post(mail, JSON_TYPE, 'Content-Encoding: gzip, gzip')],
  },
  { name: 'not JSON', code: 'request.body_malformed', send: [post('{"to":', JSON_TYPE)] },
  {
    name: 'invalid UTF-8',
    code: 'request.body_malformed',
    send: [post(Buffer.from([0x22, 0xff, 0x22]), JSON_TYPE)],
  },
  { name: 'lone surrogate', code: 'request.body_malformed', send: [post('{"to":"\\ud800"}', JSON_TYPE)] },
  {
    name: '__proto__',
    code: 'request.body_malformed',
    send: [post('{"to":"a@b.test","__proto__":{"x":1}}', JSON_TYPE)],
  },
  {
    name: 'escaped __proto__',
    code: 'request.body_malformed',
    send: [post('{"headers":{"\\u005f_proto__":1}}', JSON_TYPE)],
  },
  {
    name: 'not gzip',
    code: 'request.body_malformed',
    send: [post(mail, JSON_TYPE, 'Content-Encoding: gzip')],
  },
  {
    name: 'cut gzip',
    code: 'request.body_malformed',
    send: [post(gzipSync(mail).subarray(0, 40), JSON_TYPE, 'Content-Encoding: gzip')],
  },
  {
    name: 'gzip bomb',
    code: 'request.body_too_large',
    send: [post(gzipSync(bomb), JSON_TYPE, 'Content-Encoding: gzip')],
  },
  {
    name: 'deflate bomb',
    code: 'request.body_too_large',
    send: [post(deflateSync(bomb), JSON_TYPE, 'Content-Encoding: deflate')],
  },
  {
    name: 'declared too large, body never sent',
    code: 'request.body_too_large',
    send: [
      lines(
        'POST /v1/emails HTTP/1.1',
        HOST,
        AUTH,
        JSON_TYPE,
        'Expect: 100-continue',
        `Content-Length: ${MAX + 1}`,
      ),
    ],
    headers: { connection: 'close' },
  },
  {
    name: 'chunked too large',
    code: 'request.body_too_large',
    send: [
      lines('POST /v1/emails HTTP/1.1', HOST, AUTH, JSON_TYPE, 'Transfer-Encoding: chunked'),
      ...Array(3).fill(`c350\r\n${'a'.repeat(50_000)}\r\n`),
    ],
  },
  { name: 'long URI', code: 'request.uri_too_long', send: [get(`/v1/emails?to=${'a'.repeat(9_000)}`, AUTH)] },
  {
    name: 'URI of 30 kB',
    code: 'request.uri_too_long',
    send: [get(`/v1/emails?to=${'a'.repeat(30_000)}`, AUTH)],
  },
  {
    name: 'URI without end',
    code: 'request.uri_too_long',
    send: [`GET /v1/emails?to=${'a'.repeat(60_000)}`],
  },
  {
    name: 'bad escape',
    code: 'request.malformed',
    send: [get('/v1/emails/%zz', AUTH)],
    instance: '/v1/emails/%zz',
  },
  { name: 'garbage', code: 'request.malformed', send: ['garbage\r\n\r\n'], instance: '/' },
  { name: 'TLS hello', code: 'request.malformed', send: [Buffer.from('16030100a5010000a1', 'hex')] },
  {
    name: 'control character in a header',
    code: 'request.malformed',
    send: [get('/v1/emails', 'X-A: a\x01b')],
    instance: '/v1/emails',
  },
  {
    name: 'both lengths',
    code: 'request.malformed',
    send: [lines('POST /v1/emails HTTP/1.1', HOST, 'Content-Length: 3', 'Transfer-Encoding: chunked')],
    instance: '/v1/emails',
  },
  {
    name: 'bad chunk',
    code: 'request.malformed',
    send: [lines('POST /v1/emails HTTP/1.1', HOST, AUTH, JSON_TYPE, 'Transfer-Encoding: chunked'), 'zz\r\n'],
    instance: '/v1/emails',
  },
  {
    name: 'huge header',
    code: 'request.headers_too_large',
    send: [get('/v1/emails', `X-A: ${'a'.repeat(20_000)}`)],
  },
  {
    name: 'header beyond what Node reads',
    code: 'request.headers_too_large',
    send: [get('/v1/emails', `X-A: ${'a'.repeat(60_000)}`)],
    instance: '/v1/emails',
  },
  {
    name: 'many headers',
    code: 'request.headers_too_large',
    send: [get('/v1/emails', ...Array.from({ length: 500 }, (_, i) => `X-${i}: ${'a'.repeat(40)}`))],
  },
  {
    name: 'expectation',
    code: 'request.expectation_failed',
    send: [get('/v1/emails', 'Expect: miracles')],
    instance: '/v1/emails',
  },
  { name: 'no Host', code: 'auth.credentials_missing', send: [lines('GET /v1/emails HTTP/1.1', CLOSE)] },
  { name: 'HTTP/1.0', code: 'auth.credentials_missing', send: [lines('GET /v1/emails HTTP/1.0')] },
  {
    name: 'slow body',
    code: 'request.timeout',
    send: [lines('POST /v1/emails HTTP/1.1', HOST, AUTH, JSON_TYPE, 'Content-Length: 50'), '{'],
    instance: '/v1/emails',
  },
  { name: 'slow head', code: 'request.timeout', send: ['GET /v1/emails HT'] },
  {
    name: 'long key',
    code: 'idempotency.key_invalid',
    send: [post(mail, JSON_TYPE, `Idempotency-Key: ${'k'.repeat(257)}`)],
  },
  { name: 'blank key', code: 'idempotency.key_invalid', send: [post(mail, JSON_TYPE, 'Idempotency-Key:  ')] },
  {
    name: 'two keys',
    code: 'idempotency.key_invalid',
    send: [post(mail, JSON_TYPE, 'Idempotency-Key: a', 'Idempotency-Key: a')],
  },
]

const MEMBERS = ['code', 'instance', 'request_id', 'status', 'title', 'type']

const isProblem = (
  t: Test,
  reply: RawReply,
  row: Pick<Row, 'code' | 'more' | 'instance' | 'headers'>,
): void => {
  const problem = JSON.parse(reply.body)
  const { http } = FAULTS[row.code]
  t.equal(problem.code, row.code)
  t.equal(reply.status, http)
  t.equal(problem.status, http)
  t.equal(reply.headers['content-type'], 'application/problem+json')
  t.equal(reply.headers['cache-control'], 'no-store')
  const isSaid = IN_WORDS.has(row.code) || http === 401 || http === 404
  const more = row.more ?? (isSaid ? ['detail'] : [])
  t.strictSame(Object.keys(problem).sort(), [...MEMBERS, ...more].sort())
  t.equal(problem.type, `https://mail.test/errors/${row.code}`)
  t.match(problem.request_id, /^req_[0-9a-z]{26}$/)
  t.equal(problem.request_id, reply.headers['x-request-id'])
  if (row.instance !== undefined) t.equal(problem.instance, row.instance)
  for (const name of ['limit', 'remaining', 'reset']) t.match(reply.headers[`x-ratelimit-${name}`], /^\d+$/)
  for (const [name, value] of Object.entries(row.headers ?? {})) t.equal(reply.headers[name], value)
}

t.test('every case is a problem', { jobs: 8 }, async (t) => {
  for (const row of rows) {
    t.test(row.name, async (t) => {
      const reply = await raw(kit.port, ...row.send)
      isProblem(t, reply, row)
      t.notMatch(reply.all, /100 Continue/)
      const entry = await kit.ask(`/errors/${row.code}`, { key: null })
      t.equal(entry.status, 200, 'the type resolves')
    })
  }
})

t.test('after nonsense, the answer to what came before stands first', async (t) => {
  const pipelined = await raw(
    kit.port,
    `${lines('GET /v1/emails?limit=1 HTTP/1.1', HOST, AUTH)}garbage\r\n\r\n`,
  )
  t.equal(pipelined.status, 200)
  t.match(pipelined.all, /}HTTP\/1\.1 400 /)
})

t.test('HEAD has the headers and no body', async (t) => {
  const head = await raw(kit.port, lines('HEAD /v1/emails/nope HTTP/1.1', HOST, AUTH, CLOSE))
  t.equal(head.status, 404)
  t.equal(head.headers['content-type'], 'application/problem+json')
  t.equal(head.body, '')
  t.match(head.headers['x-ratelimit-limit'], /^\d+$/)
  const list = await raw(kit.port, lines('HEAD /v1/emails HTTP/1.1', HOST, AUTH, CLOSE))
  t.equal(list.status, 200)
})

t.test('a large declared body is refused before it is sent, and no upload is asked for', async (t) => {
  const began = await raw(
    kit.port,
    lines('POST /v1/emails HTTP/1.1', HOST, AUTH, JSON_TYPE, `Content-Length: ${10 * MAX}`),
    'a'.repeat(10 * MAX),
  )
  t.equal(began.status, 413)
})

t.test('what a bug throws is not shown', async (t) => {
  const { email } = kit.store
  kit.store.email = async () => {
    throw new Error('secret path /etc/passwd')
  }
  const reply = await raw(kit.port, get('/v1/emails/em_01k9f3m2zq8v6t4r2p0nxcwbha', AUTH))
  kit.store.email = email
  isProblem(t, reply, { code: 'internal.unexpected' })
  t.notMatch(reply.all, /secret/)
})

t.test('a body is taken in every honest form', async (t) => {
  const cases: readonly (readonly [string | Uint8Array, ...string[]])[] = [
    [mail],
    [mail, `${JSON_TYPE}; charset=UTF-8`],
    [mail, `${JSON_TYPE};charset="utf-8"`],
    [mail, 'content-type: Application/JSON'],
    [mail, `${JSON_TYPE}; profile="x"; charset=utf-8`],
    [gzipSync(mail), JSON_TYPE, 'Content-Encoding: gzip'],
    [gzipSync(mail), JSON_TYPE, 'Content-Encoding: GZip'],
    [deflateSync(mail), JSON_TYPE, 'Content-Encoding: deflate'],
    [mail, JSON_TYPE, 'Content-Encoding: identity'],
    [JSON.stringify({ ...MAIL, subject: 'caf\u00e9 \ud83d\ude00' }), JSON_TYPE],
    ['{"from":"a@b.test","to":"c@d.test","subject":"\\u00e9\\ud83d\\ude00"}', JSON_TYPE],
  ]
  for (const [body, ...headers] of cases) {
    const reply = await raw(kit.port, post(body, ...headers))
    t.equal(reply.status, 202, headers.join())
  }
  const chunked = await raw(
    kit.port,
    lines(
      'POST /v1/emails HTTP/1.1',
      HOST,
      AUTH,
      CLOSE,
      JSON_TYPE,
      'Expect: 100-continue',
      'Transfer-Encoding: chunked',
    ),
    `${mail.length.toString(16)}\r\n${mail}\r\n0\r\n\r\n`,
  )
  t.match(chunked.all, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 202 /)
})
