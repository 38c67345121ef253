/** Loaded before the daemon (`--import`): the real SDK, writing each finished span as a line to $SPANS_FILE. */
import { appendFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import { trace } from '@opentelemetry/api'
import { BasicTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-base'

export interface WrittenSpan {
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parent: string | null
  readonly links: readonly string[]
  readonly attributes: Readonly<Record<string, unknown>>
  readonly status: { readonly code: number; readonly message?: string }
  readonly ms: number
}

const write = (span: ReadableSpan): void => {
  const line: WrittenSpan = {
    name: span.name,
    kind: span.kind,
    traceId: span.spanContext().traceId,
    spanId: span.spanContext().spanId,
    parent: span.parentSpanContext?.spanId ?? null,
    links: span.links.map(({ context }) => context.spanId),
    attributes: span.attributes,
    status: span.status,
    ms: span.duration[0] * 1e3 + span.duration[1] / 1e6,
  }
  appendFileSync(process.env.SPANS_FILE ?? '/dev/null', `${JSON.stringify(line)}\n`)
}

if (isMainThread) {
  const done = async (): Promise<void> => {}
  const processor = { onStart() {}, onEnd: write, forceFlush: done, shutdown: done }
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [processor] }))
}
