/**
 * NAME      fault - a refusal that we mean
 * DESCRIPTION
 *   Its code is a row of the fault table; the options say what is particular to
 *   this one. Anything else that is thrown is a bug.
 */
import { FAULTS, type FaultCode, type FaultRow } from './fault/table.js'

/** What may be wrong with one field. */
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

/** A Fault as plain data, for the way between threads. */
export const toPlainFault = (fault: Fault): PlainFault => ({ fault: fault.code, options: fault.options })
/** The Fault on the other side. */
export const fromPlainFault = (plain: PlainFault): Fault => new Fault(plain.fault, plain.options)

/** The store can promise nothing more, or is closed: it has said so itself, and a restart may mend it. */
export class OutageError extends Error {
  override readonly name = 'OutageError'
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
