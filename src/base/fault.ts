/**
 * NAME      fault - a refusal that we mean, and the table of them all
 *   Its code is a row of the fault table; the options say what is particular to this one. Anything else that is thrown
 *   is a bug.
 *   A row gives a refusal its stable dotted code, its HTTP status, its SMTP reply (basic and enhanced code, RFC 5321
 *   and 3463), its title, its cause and what whoever meets it can do about it. HTTP problems, SMTP replies, CLI
 *   messages and GET /errors all print this table; a misspelt code does not compile. A code is never reused for another
 *   meaning.
 *   Says in code what must always hold. Where it does not, the program is wrong: a bug, not a Fault, so nothing of the
 *   work in hand is kept and the text stays in our log.
 */
interface FaultRow {
  readonly http: number
  readonly smtp: string
  readonly title: string
  readonly description: string
  readonly remedy: string
  readonly retryable: boolean
}

type Words = Pick<FaultRow, 'description' | 'remedy'> & Partial<Pick<FaultRow, 'retryable'>>

const row = (http: number, smtp: string, title: string, words: Words): FaultRow => ({
  http,
  smtp,
  title,
  retryable: false,
  ...words,
})

/** What is not there looks the same as what belongs to somebody else. */
const notFound = (noun: string, remedy: string, named = 'id'): FaultRow =>
  row(404, '550 5.1.1', `${noun[0]?.toUpperCase()}${noun.slice(1)} not found`, {
    description: `No ${noun} with that ${named} is visible to this credential.`,
    remedy,
  })

export const FAULTS = {
  'email.not_found': notFound(
    'email',
    'Look whether the id was copied whole, and whether the key is of the workspace and mode that sent the mail. Mails older than the retention are gone.',
  ),
  'email.sender_not_allowed': row(403, '550 5.7.1', 'Sender not allowed', {
    description: 'This workspace may not send from that address.',
    remedy:
      'Send from an address of a sending domain of this workspace, or have the domain added: POST /v1/domains, or postern domain add.',
  }),
  'email.loop_detected': row(422, '554 5.4.6', 'Mail loop detected', {
    description: 'This message has passed through too many servers, or through this one before.',
    remedy:
      'Look at the Received fields: two servers hand this message to each other. Mend the rule that forwards it back.',
  }),
  'validation.request_invalid': row(422, '554 5.6.0', 'Request invalid', {
    description: 'One or more fields are invalid; see the errors array.',
    remedy: 'Mend each field that `errors` names, then send the request again. Nothing was taken.',
  }),
  'validation.cursor_invalid': row(400, '554 5.6.0', 'Cursor invalid', {
    description: 'The cursor was not issued by this endpoint for this credential.',
    remedy: 'Start again without a cursor, and hand on next_cursor and prev_cursor as they came.',
  }),
  'validation.cursor_filters_mismatch': row(400, '554 5.6.0', 'Cursor filters mismatch', {
    description: 'Filters and limit must stay as they were when the cursor was issued.',
    remedy:
      'Repeat the filters and the limit of the first request, or leave them out and start again without a cursor.',
  }),
  'validation.workspace_header_required': row(400, '535 5.7.8', 'Workspace required', {
    description:
      'A platform key must name a workspace: in the X-Workspace-Id header over HTTP, as the user name over SMTP.',
    remedy: 'Send X-Workspace-Id with the id or the slug of a workspace, or use a key of that workspace.',
  }),
  'workspace.not_found': row(404, '535 5.7.8', 'Workspace not found', {
    description: 'No workspace with that id is visible to this credential.',
    remedy: 'List the workspaces: GET /v1/workspaces, or postern workspace list.',
  }),
  'workspace.suspended': row(403, '550 5.7.1', 'Workspace suspended', {
    description:
      'The workspace takes no mail for now; what waits in it is kept, and goes on when it is resumed.',
    remedy: 'Ask who operates this gateway why; an owner resumes the workspace: postern workspace resume.',
  }),
  'request.body_malformed': row(400, '554 5.6.0', 'Body malformed', {
    description: 'The request body is not well-formed UTF-8 JSON.',
    remedy: 'Make the body with a JSON encoder, in UTF-8, and send it whole.',
  }),
  'request.malformed': row(400, '554 5.6.0', 'Request malformed', {
    description: 'The request is not well-formed HTTP.',
    remedy: 'Use an HTTP client that follows RFC 9112; look for repeated Host or Authorization fields.',
  }),
  'idempotency.key_invalid': row(400, '554 5.6.0', 'Idempotency key invalid', {
    description: 'An idempotency key is 1 to 256 bytes, sent once.',
    remedy: 'Make one key for each mail, such as a UUID or the id of the order it is about.',
  }),
  'idempotency.in_progress': row(409, '451 4.3.0', 'Original request still running', {
    description: 'A request with this idempotency key is being processed; try again shortly.',
    remedy:
      'Wait for Retry-After seconds, then send the same request again: it gets the answer of the first.',
    retryable: true,
  }),
  'idempotency.body_mismatch': row(409, '554 5.6.0', 'Idempotency key reused', {
    description: 'This idempotency key was used with a different request.',
    remedy: 'Make a new key for each mail. To try the first mail again, send exactly its body.',
  }),
  'resource.conflict': row(409, '554 5.6.0', 'Conflict with current state', {
    description: 'The resource is not in a state that allows this; see the reason member.',
    remedy: 'Read `reason`, look at the resource as it is now, and act on that.',
  }),
  'auth.credentials_missing': row(401, '530 5.7.0', 'Credentials missing', {
    description: 'Send an API key or session in the Authorization header as a Bearer token.',
    remedy:
      'Send `Authorization: Bearer KEY`. A key is made on the page of API keys, or by postern key create.',
  }),
  'auth.credentials_invalid': row(401, '535 5.7.8', 'Credentials invalid', {
    description: 'The credential is unknown, revoked or expired.',
    remedy:
      'Look whether the key was copied whole and still works: postern key list. A lost key cannot be shown again; make another.',
  }),
  'auth.signature_invalid': row(401, '535 5.7.8', 'Signature invalid', {
    description: 'The signature is not that of this request by the secret of its access key.',
    remedy:
      'Look at the secret, at the clock of the client, and whether a proxy changes the path or Host: config/DIALECTS.md. A lost secret cannot be shown again; rotate the key.',
  }),
  'auth.session_required': row(403, '535 5.7.8', 'Session required', {
    description: 'This endpoint accepts dashboard sessions only, not API keys.',
    remedy: 'Sign in to the dashboard and do it there, or use the command line on the machine itself.',
  }),
  'auth.scope_forbidden': row(403, '535 5.7.8', 'Scope forbidden', {
    description: 'The scope of this credential does not allow this.',
    remedy:
      'Use a key whose scope and mode allow it: a platform key for the account, a live key for live things.',
  }),
  'auth.role_forbidden': row(403, '535 5.7.8', 'Role forbidden', {
    description: 'The role of this person does not allow this; an owner of the installation can change it.',
    remedy: 'Ask an owner to do it, or to change your role: postern user update --role.',
  }),
  'auth.second_factor_required': row(403, '535 5.7.8', 'Second factor required', {
    description:
      'Everybody with a password must have a second factor here (identity.second_factor), and this person has none yet.',
    remedy: 'Sign in to the dashboard and add one: it leads there.',
  }),
  'factor.not_found': notFound(
    'second factor',
    'List your own: GET /v1/users/{id}, or the page of your settings.',
  ),
  'api_key.not_found': notFound('API key', 'List the keys: GET /v1/api-keys, or postern key list.'),
  'credential.not_found': notFound(
    'SMTP credential',
    'List them: GET /v1/credentials, or postern credential list.',
  ),
  'webhook.not_found': notFound('webhook', 'List the webhooks: GET /v1/webhooks, or postern webhook list.'),
  'event.not_found': notFound(
    'event',
    'List the events: GET /v1/events. Events older than the retention are gone.',
  ),
  'event.expired': row(410, '554 5.6.0', 'Place in the log expired', {
    description: 'The log can not be followed from so far back; go on from the mark in the oldest member.',
    remedy: 'Follow on from the mark in `oldest`, and fetch by GET /v1/emails what happened before it.',
  }),
  'suppression.not_found': notFound(
    'suppression',
    'List them: GET /v1/suppressions, or postern suppression list. It may have been removed already.',
    'id or address',
  ),
  'incident.not_found': notFound(
    'incident',
    'List them: GET /v1/incidents, or postern suppression incidents.',
  ),
  'egress_pool.not_found': notFound(
    'egress pool',
    'List the pools: GET /v1/egress-pools, or postern pool list.',
  ),
  'domain.not_found': notFound(
    'sending domain',
    'List the domains: GET /v1/domains, or postern domain list.',
    'name',
  ),
  'job.not_found': notFound(
    'job',
    'List the jobs: GET /v1/jobs, or postern job list. Those that ended are kept for 30 days.',
  ),
  'hold.not_found': notFound(
    'hold',
    'List the holds: GET /v1/holds, or postern queue holds. It may have been lifted already.',
  ),
  'user.not_found': notFound('person', 'List the people: GET /v1/users, or postern user list.'),
  'session.not_found': notFound(
    'session',
    'List the sessions: GET /v1/sessions, or postern session list. It may have ended.',
  ),
  'invitation.not_found': notFound(
    'invitation',
    'List them: GET /v1/invitations. It may have been used or revoked.',
  ),
  'error_type.not_found': row(404, '550 5.1.1', 'Error type not found', {
    description: 'The catalogue has no error with that code.',
    remedy: 'List all of them: GET /errors.',
  }),
  'route.not_found': row(404, '502 5.5.1', 'Route not found', {
    description: 'There is nothing at this path.',
    remedy: 'Compare the path with the API reference at /docs; each path of the API begins with /v1.',
  }),
  'route.method_not_allowed': row(405, '502 5.5.1', 'Method not allowed', {
    description: 'This path does not support that method; see the Allow header.',
    remedy: 'Use one of the methods in the Allow header.',
  }),
  'request.timeout': row(408, '421 4.4.2', 'Request timed out', {
    description: 'The request did not arrive in time.',
    remedy: 'Send it again, with an Idempotency-Key if it sends mail.',
    retryable: true,
  }),
  'request.body_too_large': row(413, '552 5.3.4', 'Body too large', {
    description: 'The request or message is larger than this server accepts.',
    remedy: 'Send a link instead of the file, or have the limit raised: http.max_body, submission.max_size.',
  }),
  'request.uri_too_long': row(414, '554 5.6.0', 'URI too long', {
    description: 'The request target is longer than this server accepts.',
    remedy: 'Ask with fewer or shorter filters.',
  }),
  'request.media_type_unsupported': row(415, '554 5.6.0', 'Media type unsupported', {
    description: 'Send application/json in UTF-8, plain or gzip- or deflate-encoded.',
    remedy: 'Send `Content-Type: application/json`, and no other Content-Encoding than gzip or deflate.',
  }),
  'request.expectation_failed': row(417, '554 5.6.0', 'Expectation failed', {
    description: 'The Expect header names something this server does not do.',
    remedy: 'Send no Expect header, or `100-continue`.',
  }),
  'request.coding_unsupported': row(501, '554 5.6.0', 'Transfer coding unsupported', {
    description: 'Of the transfer codings only chunked is known here; send gzip as Content-Encoding.',
    remedy: 'Send `Transfer-Encoding: chunked`, or a Content-Length.',
  }),
  'request.headers_too_large': row(431, '554 5.6.0', 'Headers too large', {
    description: 'The request headers are larger than this server accepts.',
    remedy: 'Send fewer or shorter header fields; cookies are the usual cause.',
  }),
  'rate_limit.exceeded': row(429, '450 4.7.1', 'Rate limit exceeded', {
    description: 'Too many sends in this minute; wait for Retry-After seconds.',
    remedy: 'Wait for Retry-After seconds; X-RateLimit-Remaining tells beforehand how many sends are left.',
    retryable: true,
  }),
  'rate_limit.auth_failures': row(429, '454 4.7.0', 'Too many authentication failures', {
    description: 'Too many failed authentications from this address; wait for Retry-After seconds.',
    remedy: 'Find the client that tries a wrong key over and over; then wait for Retry-After seconds.',
    retryable: true,
  }),
  'rate_limit.streams': row(429, '450 4.7.1', 'Too many streams', {
    description: 'This credential or this address has as many event streams open as it may; close one.',
    remedy: 'Close a stream, or follow with one client and share what it reads.',
    retryable: true,
  }),
  'internal.unexpected': row(500, '451 4.3.0', 'Unexpected error', {
    description: 'Something failed on our side; it has been logged under the request id.',
    remedy:
      'Try again, with the same Idempotency-Key if it sends mail. If it stays, the log knows the request id.',
    retryable: true,
  }),
  'service.unavailable': row(503, '452 4.3.1', 'Service unavailable', {
    description: 'The service cannot take requests right now; wait for Retry-After seconds.',
    remedy:
      'Wait for Retry-After seconds and send it again with the same Idempotency-Key. Nothing was taken.',
    retryable: true,
  }),
} as const satisfies Record<string, FaultRow>

export type FaultCode = keyof typeof FAULTS

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

interface FaultOptions {
  /** One sentence about this occurrence; safe to show. */
  readonly detail?: string
  readonly errors?: readonly FieldError[]
  /** How many mistakes were found beyond those of `errors`. */
  readonly omitted?: number
  /** Seconds, for Retry-After. */
  readonly retryAfter?: number
  /** Codes of SMTP in place of those of the row. */
  readonly smtp?: string
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

export const toPlainFault = (fault: Fault): PlainFault => ({ fault: fault.code, options: fault.options })
export const fromPlainFault = (plain: PlainFault): Fault => new Fault(plain.fault, plain.options)

/** The store can promise nothing more, or is closed: it has said so itself, and a restart may mend it. */
export class OutageError extends Error {
  override readonly name = 'OutageError'
}

/** What people are told of an error of the system, instead of its code. */
export const SYSTEM_WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EISDIR: 'is a folder',
  ENOTDIR: 'is not a folder',
  EEXIST: 'exists already',
  ENOSPC: 'the disk is full',
  EROFS: 'the file system is read-only',
  ELOOP: 'is a link, or leads in a circle of links',
  ECONNREFUSED: 'connection refused',
}

/** Of an outage, with what was behind it. */
export const causesOf = ({ message, cause }: Error): string =>
  cause instanceof Error ? `${message}: ${causesOf(cause)}` : message

const DISK =
  /^(?:SQLITE_(?:IOERR|CORRUPT|NOTADB|READONLY|CANTOPEN|PROTOCOL|FULL|BUSY)|E(?:IO|ROFS|NOSPC|DQUOT|MFILE|NFILE)$)/

/** A disk that failed, or a store that is gone, as its caller hears it: come again. Null for any other error. */
export const outageOf = (error: unknown): Fault | null => {
  const code = String((error as { code?: unknown } | null)?.code ?? '')
  return error instanceof OutageError || DISK.test(code) ? new Fault('service.unavailable') : null
}

/** What it makes; the other where it throws, whatever that is. */
export const orElse = <T>(make: () => T, other: T): T => {
  try {
    return make()
  } catch {
    return other
  }
}

/** What was looked for; throws this fault where there is none. */
export const orFault = <T>(found: T | null, code: FaultCode, options?: FaultOptions): T => {
  if (found === null) throw new Fault(code, options)
  return found
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

/** Throws all that is wrong, if anything is. */
export const throwInvalid = (errors: readonly FieldError[]): void => {
  if (errors.length > 0) throw invalid(errors)
}

/** What is read; throws all that reading found wrong. */
export const readValid = <T>(read: (errors: FieldError[]) => T): T => {
  const errors: FieldError[] = []
  const value = read(errors)
  throwInvalid(errors)
  return value
}

/** All that reading finds wrong. */
export const wrongBy = (read: (errors: FieldError[]) => unknown): readonly FieldError[] => {
  const errors: FieldError[] = []
  read(errors)
  return errors
}

export const invalidField = (field: string, kind: FieldErrorKind, message: string): Fault =>
  invalid([{ field, kind, message }])

/** Adds what is wrong with fields of `at`, such as `body.`, to these mistakes. */
export const wrongIn =
  (errors: FieldError[], at: string) =>
  (field: string, kind: FieldErrorKind, message: string): void =>
    void errors.push({ field: `${at}${field}`, kind, message })

export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`invariant: ${message}`)
}
