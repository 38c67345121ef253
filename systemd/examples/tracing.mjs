// Spans of Postern to an OpenTelemetry collector, by OTLP over HTTP. In a folder of your own, beside this file:
//   npm install @opentelemetry/api@1.9 @opentelemetry/sdk-trace-base@2.12 @opentelemetry/exporter-trace-otlp-http@0.223
// then start Postern with
//   NODE_OPTIONS='--import /etc/postern/tracing/tracing.mjs' OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
// OTEL_EXPORTER_OTLP_HEADERS, OTEL_BSP_*, OTEL_TRACES_SAMPLER and the like are read by the SDK. While the collector is
// away, at most 2,048 spans wait, newer ones are dropped, one line an hour says so, and no mail waits for it. A collector
// that does not answer holds the end of a stopped daemon for OTEL_EXPORTER_OTLP_TIMEOUT (10,000 ms).
import { isMainThread } from 'node:worker_threads'
import { trace } from '@opentelemetry/api'
import { setGlobalErrorHandler } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'

const HOUR = 3_600_000
let said = Number.NEGATIVE_INFINITY

// --import is heard by each thread of the daemon; spans are made in the main one
if (isMainThread) {
  setGlobalErrorHandler((error) => {
    if (Date.now() - said < HOUR) return
    said = Date.now()
    const line = { level: 'warn', event: 'spans_lost', error: String(error?.message ?? error) }
    process.stderr.write(`${JSON.stringify(line)}\n`)
  })
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': process.env.OTEL_SERVICE_NAME ?? 'postern' }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  })
  trace.setGlobalTracerProvider(provider)
  // the daemon has stopped: what is waiting leaves, as long as OTEL_EXPORTER_OTLP_TIMEOUT allows
  process.once('beforeExit', () => void provider.shutdown().catch(() => {}))
}
