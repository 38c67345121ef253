/**
 * NAME      problem - every error, in one shape
 *   RFC 9457 problem details. Whatever went wrong, in hapi, below it or in one of
 *   our stages, first becomes a Fault and then these members, nothing else: type,
 *   title, status, code, request_id, instance; a detail where there is more to say
 *   than the title does (of 401 and 404 always), a 422 errors (and errors_omitted beyond a hundred), a
 *   resource.conflict its reason, an event.expired its oldest mark. `type` is made of the configured base URL and never of the Host header; `instance` is the path without its query. What the
 *   error itself said is for the log: a 500 tells nothing but the request id.
 */
import { Boom } from '@hapi/boom'
import { Fault, type FaultCode, type FieldError, outageOf } from '../../base/fault.js'
import type { WindowState } from '../../tenant/limits.js'

interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: FaultCode
  readonly detail?: string
  readonly request_id: string
  readonly instance: string
  readonly reason?: string
  readonly oldest?: string
  readonly errors?: readonly FieldError[]
  readonly errors_omitted?: number
}

const PROBLEM_TYPE = 'application/problem+json'

/** Seconds to wait where the fault itself does not say. */
const RETRY_AFTER: Partial<Record<FaultCode, number>> = {
  'idempotency.in_progress': 1,
  'service.unavailable': 5,
}

/** What hapi refuses by itself, by status; the rest of its errors are our bugs. */
const OF_STATUS: Record<number, FaultCode> = {
  400: 'request.malformed',
  404: 'route.not_found',
  408: 'request.timeout',
  413: 'request.body_too_large',
  415: 'request.media_type_unsupported',
  503: 'service.unavailable',
}

/** The Fault that an error means. A disk that fails is service.unavailable; what nobody meant, internal.unexpected. */
export const toFault = (error: unknown): Fault => {
  if (error instanceof Fault) return error
  const outage = outageOf(error)
  if (outage !== null) return outage
  const status = error instanceof Boom ? error.output.statusCode : 500
  return new Fault(OF_STATUS[status] ?? 'internal.unexpected')
}

export const typeUrl = (baseUrl: string, code: FaultCode): string => `${baseUrl}/errors/${code}`

/** A fault as the body of its answer (RFC 9457). */
export const toProblem = (fault: Fault, baseUrl: string, requestId: string, instance: string): Problem => {
  const { row, code, options } = fault
  const detail = options.detail ?? (row.http === 401 || row.http === 404 ? row.description : undefined)
  return {
    type: typeUrl(baseUrl, code),
    title: row.title,
    status: row.http,
    code,
    ...(detail !== undefined && { detail }),
    request_id: requestId,
    instance,
    ...(options.reason !== undefined && { reason: options.reason }),
    ...(options.oldest !== undefined && { oldest: options.oldest }),
    ...(options.errors && {
      errors: options.errors.map(({ field, message, kind }) => ({ field, message, kind })),
    }),
    ...(options.omitted !== undefined && { errors_omitted: options.omitted }),
  }
}

/** The headers that belong to the problem, beside those of every response. */
export const problemHeaders = (fault: Fault): Record<string, string> => {
  const headers: Record<string, string> = { 'content-type': PROBLEM_TYPE }
  const retryAfter = fault.options.retryAfter ?? RETRY_AFTER[fault.code]
  if (retryAfter !== undefined) headers['retry-after'] = String(Math.max(1, Math.ceil(retryAfter)))
  if (fault.options.allow) headers.allow = fault.options.allow.join(', ')
  if (fault.row.http === 401) headers['www-authenticate'] = 'Bearer'
  return headers
}

/**
 * The three X-RateLimit fields of every response; `reset` in Unix seconds. Who shows a good credential sees the send window
 * of that credential; everyone else the window of failed authentications of his address.
 */
export const rateHeaders = (window: WindowState): Record<string, string> => ({
  'x-ratelimit-limit': String(window.limit),
  'x-ratelimit-remaining': String(window.remaining),
  'x-ratelimit-reset': String(window.reset),
})
