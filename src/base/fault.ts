/**
 * NAME      fault - every refusal we mean, in one table
 * DESCRIPTION
 *   A row gives a refusal its stable dotted code, its HTTP status, its SMTP
 *   reply (basic and enhanced code, RFC 5321 and 3463), its title, and what a
 *   client may do about it. HTTP problems, SMTP replies, CLI messages and
 *   GET /errors all print this table; a misspelt code does not compile.
 *   A code is never reused for another meaning.
 */
interface FaultRow {
  readonly http: number
  readonly smtp: string
  readonly title: string
  readonly description: string
  readonly retryable: boolean
}

const row = (
  http: number,
  smtp: string,
  title: string,
  description: string,
  retryable = false,
): FaultRow => ({
  http,
  smtp,
  title,
  description,
  retryable,
})

const notFound = (noun: string): FaultRow =>
  row(
    404,
    '550 5.1.1',
    `${noun[0]?.toUpperCase()}${noun.slice(1)} not found`,
    `No ${noun} with that id is visible to this credential.`,
  )

export const FAULTS = {
  'email.not_found': notFound('email'),
  'email.sender_not_allowed': row(
    403,
    '550 5.7.1',
    'Sender not allowed',
    'This workspace may not send from that address.',
  ),
  'email.loop_detected': row(
    422,
    '554 5.4.6',
    'Mail loop detected',
    'This message has passed through too many servers, or through this one before.',
  ),
  'validation.request_invalid': row(
    422,
    '554 5.6.0',
    'Request invalid',
    'One or more fields are invalid; see the errors array.',
  ),
  'validation.cursor_invalid': row(
    400,
    '554 5.6.0',
    'Cursor invalid',
    'The cursor was not issued by this endpoint for this credential.',
  ),
  'validation.cursor_filters_mismatch': row(
    400,
    '554 5.6.0',
    'Cursor filters mismatch',
    'Filters and limit must stay as they were when the cursor was issued.',
  ),
  'validation.workspace_header_required': row(
    400,
    '535 5.7.8',
    'Workspace required',
    'A platform key must name a workspace: in the X-Workspace-Id header over HTTP, as the user name over SMTP.',
  ),
  'workspace.not_found': row(
    404,
    '535 5.7.8',
    'Workspace not found',
    'No workspace with that id is visible to this credential.',
  ),
  'workspace.suspended': row(
    403,
    '550 5.7.1',
    'Workspace suspended',
    'The workspace takes no mail for now; what waits in it is kept, and goes on when it is resumed.',
  ),
  'request.body_malformed': row(
    400,
    '554 5.6.0',
    'Body malformed',
    'The request body is not well-formed UTF-8 JSON.',
  ),
  'request.malformed': row(400, '554 5.6.0', 'Request malformed', 'The request is not well-formed HTTP.'),
  'idempotency.key_invalid': row(
    400,
    '554 5.6.0',
    'Idempotency key invalid',
    'An idempotency key is 1 to 256 bytes, sent once.',
  ),
  'idempotency.in_progress': row(
    409,
    '451 4.3.0',
    'Original request still running',
    'A request with this idempotency key is being processed; try again shortly.',
    true,
  ),
  'idempotency.body_mismatch': row(
    409,
    '554 5.6.0',
    'Idempotency key reused',
    'This idempotency key was used with a different request.',
  ),
  'resource.conflict': row(
    409,
    '554 5.6.0',
    'Conflict with current state',
    'The resource is not in a state that allows this; see the reason member.',
  ),
  'auth.credentials_missing': row(
    401,
    '530 5.7.0',
    'Credentials missing',
    'Send an API key or session in the Authorization header as a Bearer token.',
  ),
  'auth.credentials_invalid': row(
    401,
    '535 5.7.8',
    'Credentials invalid',
    'The credential is unknown, revoked or expired.',
  ),
  'auth.session_required': row(
    403,
    '535 5.7.8',
    'Session required',
    'This endpoint accepts dashboard sessions only, not API keys.',
  ),
  'auth.scope_forbidden': row(
    403,
    '535 5.7.8',
    'Scope forbidden',
    'The scope of this credential does not allow this.',
  ),
  'auth.role_forbidden': row(
    403,
    '535 5.7.8',
    'Role forbidden',
    'The role of this person does not allow this; an owner of the installation can change it.',
  ),
  'api_key.not_found': notFound('API key'),
  'credential.not_found': notFound('SMTP credential'),
  'webhook.not_found': notFound('webhook'),
  'event.not_found': notFound('event'),
  'event.expired': row(
    410,
    '554 5.6.0',
    'Place in the log expired',
    'The log can not be followed from so far back; go on from the mark in the oldest member.',
  ),
  'suppression.not_found': row(
    404,
    '550 5.1.1',
    'Suppression not found',
    'No suppression with that id or address is visible to this credential.',
  ),
  'egress_pool.not_found': notFound('egress pool'),
  'domain.not_found': row(
    404,
    '550 5.1.1',
    'Sending domain not found',
    'No sending domain with that name is visible to this credential.',
  ),
  'hold.not_found': notFound('hold'),
  'user.not_found': notFound('person'),
  'session.not_found': notFound('session'),
  'invitation.not_found': notFound('invitation'),
  'error_type.not_found': row(
    404,
    '550 5.1.1',
    'Error type not found',
    'The catalogue has no error with that code.',
  ),
  'route.not_found': row(404, '502 5.5.1', 'Route not found', 'There is nothing at this path.'),
  'route.method_not_allowed': row(
    405,
    '502 5.5.1',
    'Method not allowed',
    'This path does not support that method; see the Allow header.',
  ),
  'request.timeout': row(408, '421 4.4.2', 'Request timed out', 'The request did not arrive in time.', true),
  'request.body_too_large': row(
    413,
    '552 5.3.4',
    'Body too large',
    'The request or message is larger than this server accepts.',
  ),
  'request.uri_too_long': row(
    414,
    '554 5.6.0',
    'URI too long',
    'The request target is longer than this server accepts.',
  ),
  'request.media_type_unsupported': row(
    415,
    '554 5.6.0',
    'Media type unsupported',
    'Send application/json in UTF-8, plain or gzip- or deflate-encoded.',
  ),
  'request.expectation_failed': row(
    417,
    '554 5.6.0',
    'Expectation failed',
    'The Expect header names something this server does not do.',
  ),
  'request.coding_unsupported': row(
    501,
    '554 5.6.0',
    'Transfer coding unsupported',
    'Of the transfer codings only chunked is known here; send gzip as Content-Encoding.',
  ),
  'request.headers_too_large': row(
    431,
    '554 5.6.0',
    'Headers too large',
    'The request headers are larger than this server accepts.',
  ),
  'rate_limit.exceeded': row(
    429,
    '450 4.7.1',
    'Rate limit exceeded',
    'Too many sends in this minute; wait for Retry-After seconds.',
    true,
  ),
  'rate_limit.auth_failures': row(
    429,
    '454 4.7.0',
    'Too many authentication failures',
    'Too many failed authentications from this address; wait for Retry-After seconds.',
    true,
  ),
  'rate_limit.streams': row(
    429,
    '450 4.7.1',
    'Too many streams',
    'This credential or this address has as many event streams open as it may; close one.',
    true,
  ),
  'internal.unexpected': row(
    500,
    '451 4.3.0',
    'Unexpected error',
    'Something failed on our side; it has been logged under the request id.',
    true,
  ),
  'service.unavailable': row(
    503,
    '452 4.3.1',
    'Service unavailable',
    'The service cannot take requests right now; wait for Retry-After seconds.',
    true,
  ),
} as const satisfies Record<string, FaultRow>

export type FaultCode = keyof typeof FAULTS

/** What may be wrong with one field (API.md, section 2.9). */
export type FieldErrorKind =
  | 'missing'
  | 'type'
  | 'empty'
  | 'format'
  | 'length'
  | 'range'
  | 'unknown'
  | 'forbidden'
  | 'unsupported'
  | 'too_many'
  | 'not_unique'
  | 'past'

export interface FieldError {
  /** Where: `body.to`, `query.limit`, `path.id`, `header.x-workspace-id`. */
  readonly field: string
  readonly message: string
  readonly kind: FieldErrorKind
}

export interface FaultOptions {
  /** One sentence about this occurrence; safe to show. */
  readonly detail?: string
  readonly errors?: readonly FieldError[]
  /** How many mistakes were found beyond those of `errors`. */
  readonly omitted?: number
  /** Seconds, for Retry-After. */
  readonly retryAfter?: number
  /** The `reason` member of resource.conflict. */
  readonly reason?: string
  /** The `oldest` member of event.expired: the oldest mark that can be followed. */
  readonly oldest?: string
  readonly allow?: readonly string[]
}

/** A refusal that we meant. Anything else that is thrown is a bug. */
export class Fault extends Error {
  override readonly name = 'Fault'
  readonly code: FaultCode
  readonly options: FaultOptions

  constructor(code: FaultCode, options: FaultOptions = {}) {
    super(options.detail ?? FAULTS[code].title)
    this.code = code
    this.options = options
  }

  get row(): FaultRow {
    return FAULTS[this.code]
  }
}

/** Faults cross threads as plain values: an Error's class does not survive structured clone. */
export interface PlainFault {
  readonly fault: FaultCode
  readonly options: FaultOptions
}

/** A Fault as plain data, for the way between threads. */
export const toPlainFault = (fault: Fault): PlainFault => ({ fault: fault.code, options: fault.options })
/** The Fault on the other side. */
export const fromPlainFault = (plain: PlainFault): Fault => new Fault(plain.fault, plain.options)

/** The store can promise nothing more, or is closed: it has said so itself, and a restart may mend it. */
export class OutageError extends Error {
  override readonly name = 'OutageError'
}

const DISK =
  /^(?:SQLITE_(?:IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN|PROTOCOL|FULL|BUSY)|E(?:IO|ROFS|NOSPC|DQUOT|MFILE|NFILE)$)/

/** A disk that failed, or a store that is gone, as its caller hears it: come again. Null for any other error. */
export const outageOf = (error: unknown): Fault | null => {
  const code = String((error as { code?: unknown } | null)?.code ?? '')
  return error instanceof OutageError || DISK.test(code) ? new Fault('service.unavailable') : null
}

/** No answer tells more mistakes than this; the others are counted. */
export const MOST_ERRORS = 100

/** Shorthand for a 422 over the given fields; `omitted` were found, too, and are not among them. */
export const invalid = (errors: readonly FieldError[], omitted = 0): Fault => {
  const told = errors.slice(0, MOST_ERRORS)
  const count = errors.length + omitted
  return new Fault('validation.request_invalid', {
    detail: count === 1 ? '1 field is invalid' : `${count} fields are invalid`,
    errors: told,
    ...(count > told.length && { omitted: count - told.length }),
  })
}
