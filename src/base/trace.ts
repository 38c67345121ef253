/**
 * NAME      trace - spans, for an OpenTelemetry SDK that is loaded
 *   Only the API package is ours. Somebody who loads an SDK before us (`node --import`, NODE_OPTIONS) gets spans; for
 *   everybody else findSpans() answers null, nothing of OpenTelemetry is loaded, and each place that would make a span
 *   costs one comparison with null. Where a span belongs travels as text, a W3C `traceparent`: it can stand in a
 *   header, beside a mail on disk, or in a message to another thread. It is read here and not by the SDK's propagator,
 *   which may speak another language.
 */
import type { Attributes, Context, Span as OtelSpan, SpanKind } from '@opentelemetry/api'

export type Traceparent = string

export interface Span {
  /** For what comes after it, here or elsewhere. */
  readonly traceparent: Traceparent
  name(name: string): void
  set(attributes: Attributes): void
  /** `failed` is a short word for what went wrong, such as a fault's code. */
  end(failed?: string | null, at?: number): void
  /** Runs with this span as the current one, for the instrumentation of others. */
  run<T>(work: () => T): T
}

interface SpanStart {
  readonly name: string
  readonly kind: 'server' | 'client' | 'internal' | 'producer' | 'consumer'
  readonly parent: Traceparent | null
  readonly attributes?: Attributes
  /** Epoch milliseconds; now when absent. */
  readonly at?: number
  /** Where it belongs besides: the mail was sent on then, by them. */
  readonly link?: Traceparent | null
}

export interface Spans {
  start(start: SpanStart): Span
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** What a client sent as `traceparent`, when it is one (W3C Trace Context, section 3.2). */
export const readTraceparent = (text: string | null | undefined): Traceparent | null => {
  const [, version, trace, span, flags, more] = FORM.exec(text?.trim() ?? '') ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return null
  if (/^0+$/.test(trace ?? '') || /^0+$/.test(span ?? '')) return null
  return `00-${trace}-${span}-${flags}`
}

/** Where the API keeps what an SDK registered, in every 1.x. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1')

/** null without an SDK. */
export const findSpans = async (version: string): Promise<Spans | null> => {
  const registered = (globalThis as Record<symbol, { trace?: unknown } | undefined>)[REGISTERED]
  if (registered?.trace === undefined) return null
  const {
    context,
    isSpanContextValid,
    ROOT_CONTEXT,
    SpanKind: kinds,
    SpanStatusCode,
    trace,
  } = await import('@opentelemetry/api')
  const tracer = trace.getTracer('postern', version)
  const contextOf = (text: Traceparent) => {
    const [, traceId = '', spanId = '', flags = '0'] = text.split('-')
    return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  }
  /** A span that somebody else's instrumentation opened around us is nearer than what the client sent. */
  const parentOf = (text: Traceparent | null): Context => {
    const current = context.active()
    if (trace.getSpan(current) !== undefined) return current
    return text === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, contextOf(text))
  }
  const spanOf = (span: OtelSpan, within: Context): Span => {
    const { traceId, spanId, traceFlags } = span.spanContext()
    return {
      traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
      name: (name) => void span.updateName(name),
      set: (attributes) => void span.setAttributes(attributes),
      end(failed, at) {
        if (failed != null) span.setStatus({ code: SpanStatusCode.ERROR, message: failed })
        span.end(at)
      },
      run: (work) => context.with(trace.setSpan(within, span), work),
    }
  }
  return {
    start({ name, kind, parent, attributes, at, link }) {
      const within = parentOf(parent)
      const options = {
        kind: kinds[kind.toUpperCase() as keyof typeof kinds] as SpanKind,
        ...(attributes && { attributes }),
        ...(at !== undefined && { startTime: at }),
        ...(link != null && isSpanContextValid(contextOf(link)) && { links: [{ context: contextOf(link) }] }),
      }
      return spanOf(tracer.startSpan(name, options, within), within)
    },
  }
}
