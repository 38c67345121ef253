/** Traces: whoever brings an OpenTelemetry SDK sees a mail from its request to its last attempt, as one trace. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createTransport } from 'nodemailer'
import t from 'tap'
import { eventually } from '../parts/eventually.js'
import { Postern } from '../parts/postern.js'
import type { WrittenSpan } from '../parts/tracing.js'

const SDK = pathToFileURL(join(import.meta.dirname, '..', 'parts', 'tracing.js')).href
const postern = new Postern({ relay: { retry: ['1s'], poll: '50ms' } })
t.teardown(() => postern.remove())
const file = join(postern.dir, 'spans')
const traced = { NODE_OPTIONS: `--import ${SDK}`, SPANS_FILE: file }
await postern.start(traced)
const key = await postern.key('--mode', 'test')

const spans = (): WrittenSpan[] => {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
  } catch {
    return [] // none yet
  }
}
const until = async (good: (of: WrittenSpan[]) => boolean, traceId: string): Promise<WrittenSpan[]> => {
  const found = () => spans().filter((span) => span.traceId === traceId)
  await eventually('its spans are written', () => good(found()), { seen: spans })
  return found()
}
const named = (of: readonly WrittenSpan[], name: string): WrittenSpan[] =>
  of.filter((one) => one.name === name)
const attempts =
  (n: number) =>
  (of: WrittenSpan[]): boolean =>
    named(of, 'relay attempt').length >= n && of.some(({ kind }) => kind === 1)

const CLIENT = 'b7ad6b7169203331'
const mail = (to: string) => ({ from: 'a@acme.test', to, subject: 'Secret subject', text: 'x' })
const send = (to: string, traceId: string) =>
  postern.api('POST', '/v1/emails', key, mail(to), { traceparent: `00-${traceId}-${CLIENT}-01` })

t.test('over HTTP: request, store and attempt under the span of the client', async (t) => {
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const { body } = await send('delivered@example.com', traceId)
  const found = await until(attempts(1), traceId)
  const [request] = named(found, 'POST /v1/emails')
  t.match(request, { kind: 1, parent: CLIENT })
  t.match(request?.attributes, {
    'http.request.method': 'POST',
    'http.route': '/v1/emails',
    'http.response.status_code': 202,
    'postern.request_id': /^req_/,
    'postern.workspace_id': /^ws_/,
  })
  t.match(named(found, 'store accept'), [
    { parent: request?.spanId, attributes: { 'postern.email_id': body.id } },
  ])
  const [attempt] = named(found, 'relay attempt')
  t.match(attempt, { kind: 2, parent: request?.spanId, links: [request?.spanId], status: { code: 0 } })
  t.match(attempt?.attributes, {
    'postern.email_id': body.id,
    'postern.attempt': 1,
    'postern.smtp.code': 250,
    'postern.smtp.stage': 'dot',
    'server.address': '127.0.0.1',
  })
  t.notMatch(JSON.stringify(spans()), /example\.com|acme\.test|Secret|svc_/, 'nobody can be found in them')
})

t.test('over SMTP: a client says its trace in a header field', async (t) => {
  const traceId = '1af7651916cd43dd8448eb211c80319c'
  const transport = createTransport({
    host: '127.0.0.1',
    port: postern.ports.submission[0] ?? 0,
    auth: { user: 'apikey', pass: key },
    tls: { rejectUnauthorized: false },
  })
  const headers = { traceparent: `00-${traceId}-${CLIENT}-01` }
  await transport.sendMail({ ...mail('bounced@example.com'), headers })
  transport.close()
  const found = await until(attempts(1), traceId)
  const [message] = named(found, 'SMTP submission')
  t.match(message, { kind: 1, parent: CLIENT, attributes: { 'postern.recipients': 1 } })
  t.match(named(found, 'store accept'), [{ parent: message?.spanId }])
  t.match(named(found, 'relay attempt'), [
    { parent: message?.spanId, status: { code: 2, message: /^5\d\d at rcpt$/ } },
  ])
})

t.test('a batch and a refusal', async (t) => {
  const traceparent = `00-3af7651916cd43dd8448eb211c80319c-${CLIENT}-01`
  const two = [mail('delivered@example.com'), mail('delivered@example.com')]
  await postern.api('POST', '/v1/emails/batch', key, two, { traceparent })
  const found = await until(attempts(2), '3af7651916cd43dd8448eb211c80319c')
  t.match(named(found, 'store accept'), [{ attributes: { 'messaging.batch.message_count': 2 } }])
  const other = '4af7651916cd43dd8448eb211c80319c'
  await postern.api('GET', '/v1/emails/em_none', key, undefined, { traceparent: `00-${other}-${CLIENT}-01` })
  t.match(await until((of) => of.length > 0, other), [
    {
      name: 'GET /v1/emails/{id}',
      status: { code: 0 },
      attributes: { 'http.response.status_code': 404, 'error.type': 'email.not_found' },
    },
  ])
})

t.test('what no one can have sent begins a trace of its own', async (t) => {
  for (const traceparent of [
    '',
    'x',
    `00-${'0'.repeat(32)}-${CLIENT}-01`,
    `ff-${'1'.repeat(32)}-${CLIENT}-01`,
  ]) {
    const { body } = await postern.api('POST', '/v1/emails', key, mail('delivered@example.com'), {
      traceparent,
    })
    t.match(body.id, /^em_/)
  }
  // a request's span ends after its answer
  const rooted = () => spans().filter(({ name, parent }) => name === 'POST /v1/emails' && parent === null)
  await eventually('the last span ends', () => rooted().length >= 4)
  const roots = rooted()
  t.equal(roots.length, 4)
  t.equal(new Set(roots.map(({ traceId }) => traceId)).size, 4)
})

t.test('a retry after a restart still belongs to it', async (t) => {
  const traceId = '2af7651916cd43dd8448eb211c80319c'
  await send('deferred@example.com', traceId)
  await until(attempts(1), traceId)
  await postern.stop('SIGKILL')
  await postern.start(traced)
  const found = await until(attempts(2), traceId)
  const [request] = named(found, 'POST /v1/emails')
  const later = named(found, 'relay attempt').at(-1)
  t.match(later, { parent: request?.spanId, links: [request?.spanId] })
  t.ok(Number(later?.attributes['postern.attempt']) > 1)
})

t.test('without an SDK nothing is made, and nothing is kept', async (t) => {
  await postern.stop()
  await postern.start()
  const before = spans().length
  const { body } = await send('delivered@example.com', '5af7651916cd43dd8448eb211c80319c')
  await postern.until(key, body.id, ['delivered'])
  t.equal(spans().length, before)
})
