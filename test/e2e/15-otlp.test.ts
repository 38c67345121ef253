/**
 * A mail as a collector of OpenTelemetry sees it: `systemd/examples/tracing.mjs` sends spans by OTLP over HTTP, from the
 * client's own span over our attempt at a real Postfix to the report that Postfix sent back. And a collector that is
 * away, or takes and never answers, keeps no mail and no stop waiting.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createTransport } from 'nodemailer'
import t, { type Test } from 'tap'
import { eventually } from '../parts/eventually.js'
import { overPostfix } from '../parts/over-postfix.js'
import { Postern, ROOT } from '../parts/postern.js'
import { freePort, noPostfix } from '../parts/postfix.js'

const SDK = pathToFileURL(join(ROOT, 'systemd', 'examples', 'tracing.mjs')).href
const CLIENT = 'b7ad6b7169203331'

interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly links?: readonly { readonly spanId: string }[]
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
  readonly status: { readonly code?: number; readonly message?: string }
}

/** Takes what OTLP/HTTP posts to /v1/traces as JSON; with `isMute` it takes connections and says nothing. */
class Collector {
  readonly spans: OtlpSpan[] = []
  readonly bodies: string[] = []
  posts = 0
  readonly #server: Server
  constructor(isMute = false) {
    this.#server = createServer((request, response) => {
      this.posts++
      let text = ''
      request.setEncoding('utf8').on('data', (more: string) => {
        text += more
      })
      request.on('end', () => {
        if (isMute) return
        if (request.url === '/v1/traces') this.#take(text)
        response.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/json' })
        response.end('{}')
      })
    })
  }
  #take(text: string): void {
    this.bodies.push(text)
    for (const { scopeSpans } of JSON.parse(text).resourceSpans)
      for (const { spans } of scopeSpans) this.spans.push(...spans)
  }
  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }
  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

const environment = (endpoint: string, more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  NODE_OPTIONS: `--import ${SDK}`,
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_BSP_SCHEDULE_DELAY: '100',
  ...more,
})

const attribute = (span: OtlpSpan | undefined, key: string): unknown =>
  Object.values(span?.attributes.find((one) => one.key === key)?.value ?? {})[0]

const why = noPostfix()
t.test('from client over attempt to report', { skip: why ?? false }, async (t) => {
  const collector = new Collector()
  t.teardown(() => collector.stop())
  const endpoint = await collector.start()
  const { postern } = await overPostfix(t, environment(endpoint))
  const key = await postern.key()
  const mail = (to: string) => ({ from: 'app@gw.test', to, subject: 'Secret subject', text: 'secret text' })

  const isWhole = (found: readonly OtlpSpan[]): boolean =>
    ['relay attempt', 'delivery report', 'store accept'].every((name) =>
      found.some((one) => one.name === name),
    ) && found.some(({ kind }) => kind === 2)
  /** Its spans, once the report is among them, by name. */
  const traceOf = async (traceId: string): Promise<ReadonlyMap<string, OtlpSpan>> => {
    const found = () => collector.spans.filter((span) => span.traceId === traceId)
    await eventually('the report is a span', () => isWhole(found()), { seen: found })
    return new Map(found().map((span) => [span.name, span]))
  }
  const isChain = (t: Test, trace: ReadonlyMap<string, OtlpSpan>, door: string, status: string): void => {
    const [first, accept, attempt, report] = [door, 'store accept', 'relay attempt', 'delivery report'].map(
      (name) => trace.get(name),
    )
    t.match(first, { kind: 2, parentSpanId: CLIENT })
    t.equal(accept?.parentSpanId, first?.spanId)
    for (const span of [attempt, report])
      t.match(span, { parentSpanId: first?.spanId, links: [{ spanId: first?.spanId }] })
    t.equal(attempt?.kind, 3, 'a client of the upstream')
    t.equal(report?.kind, 5, 'a consumer of the report')
    const mail = attribute(accept, 'postern.email_id')
    t.match(mail, /^em_/)
    for (const span of [attempt, report]) t.equal(attribute(span, 'postern.email_id'), mail)
    t.equal(attribute(report, 'postern.recipient_id'), attribute(attempt, 'postern.recipient_id'))
    t.equal(attribute(report, 'postern.status'), status)
    const bounced = status === 'bounced' ? { code: 2, message: 'bounced' } : { code: 0 }
    t.match(report?.status, bounced)
    t.ok(BigInt(report?.startTimeUnixNano ?? 0) >= BigInt(attempt?.startTimeUnixNano ?? 0), 'it came later')
    t.ok(BigInt(report?.endTimeUnixNano ?? 0) >= BigInt(report?.startTimeUnixNano ?? 0))
  }

  await t.test('a delivery, sent over HTTP', async (t) => {
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    await postern.api('POST', '/v1/emails', key, mail('fine@deliver.test'), {
      traceparent: `00-${traceId}-${CLIENT}-01`,
    })
    isChain(t, await traceOf(traceId), 'POST /v1/emails', 'delivered')
  })
  await t.test('a bounce, sent over SMTP', async (t) => {
    const traceId = '1af7651916cd43dd8448eb211c80319c'
    const transport = createTransport({
      ...{ host: '127.0.0.1', port: postern.ports.submission[0] ?? 0, requireTLS: true },
      ...{ tls: { rejectUnauthorized: false }, auth: { user: 'apikey', pass: key } },
    })
    await transport.sendMail({
      ...mail('dead@local5.test'),
      headers: { traceparent: `00-${traceId}-${CLIENT}-01` },
    })
    transport.close()
    isChain(t, await traceOf(traceId), 'SMTP submission', 'bounced')
  })
  await t.test('what waits at the end is sent, and nothing that its client sampled out', async (t) => {
    await postern.stop()
    await postern.start(environment(endpoint, { OTEL_BSP_SCHEDULE_DELAY: '600000' }))
    const [sampled, unsampled] = ['2af7651916cd43dd8448eb211c80319c', '3af7651916cd43dd8448eb211c80319c']
    for (const traceparent of [`00-${unsampled}-${CLIENT}-00`, `00-${sampled}-${CLIENT}-01`]) {
      const { body } = await postern.api('POST', '/v1/emails', key, mail('fine@deliver.test'), {
        traceparent,
      })
      await postern.until(key, body.id, ['delivered'])
    }
    t.equal(await postern.stop(), 0)
    t.ok(isWhole(collector.spans.filter(({ traceId }) => traceId === sampled)))
    t.notOk(collector.spans.some(({ traceId }) => traceId === unsampled))
  })
  await t.test('nobody can be found in what left', (t) => {
    t.match(collector.bodies.join(), /"service\.name"[^}]*"postern"/)
    t.notMatch(collector.bodies.join(), /deliver\.test|local5\.test|gw\.test|[Ss]ecret|pst_|@/)
    t.notOk(collector.bodies.join().includes(key))
    t.end()
  })
})

t.test('a collector that is away: one line, and mail as always', async (t) => {
  const postern = new Postern({ relay: { retry: ['1s'], poll: '50ms' } })
  t.teardown(() => postern.remove())
  await postern.start(
    environment(`http://127.0.0.1:${await freePort()}`, { OTEL_EXPORTER_OTLP_TIMEOUT: '300' }),
  )
  const key = await postern.key('--mode', 'test')
  const lost = () => postern.output.filter((line) => line.includes('"spans_lost"'))
  for (let round = 0; round < 3; round++) {
    const { body } = await postern.api('POST', '/v1/emails', key, {
      ...{ from: 'a@acme.test', to: 'delivered@example.com', subject: 'x', text: 'x' },
    })
    await postern.until(key, body.id, ['delivered'])
    if (round === 0) await eventually('it is said', () => lost().length > 0, { seen: () => postern.output })
  }
  t.equal(await postern.stop(), 0)
  t.equal(lost().length, 1)
  t.match(JSON.parse(lost()[0] ?? '{}'), { level: 'warn', event: 'spans_lost' })
})

t.test(
  'a collector that never answers: no mail waits for it, and the end no longer than is set',
  async (t) => {
    const collector = new Collector(true)
    const postern = new Postern({ relay: { retry: ['1s'], poll: '50ms' } })
    t.teardown(async () => {
      await postern.remove()
      await collector.stop()
    })
    await postern.start(
      environment(await collector.start(), {
        OTEL_BSP_MAX_QUEUE_SIZE: '20',
        OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
      }),
    )
    const key = await postern.key('--mode', 'test')
    const mail = { from: 'a@acme.test', to: 'delivered@example.com', subject: 'x', text: 'x' }
    const { body } = await postern.api('POST', '/v1/emails/batch', key, Array(100).fill(mail))
    for (const { id } of body.data) await postern.until(key, id, ['delivered'])
    t.ok(collector.posts > 0, 'it was asked')
    t.equal(await postern.stop(), 0)
  },
)
