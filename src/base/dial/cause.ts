/**
 * NAME      cause - why a call failed, in one sentence
 * DESCRIPTION
 *   Errors of sockets, TLS and HTTP as words that mean something to whoever runs
 *   the other end. No address that a name led to is told, and no stack: the
 *   sentence is shown to customers.
 */

/** `stopped`: we gave up, nobody else is to blame. */
type DialFailure = 'forbidden' | 'network' | 'timeout' | 'stopped'

export class DialError extends Error {
  override readonly name = 'DialError'
  readonly failure: DialFailure
  /** What the other end had answered before it went wrong, or null. */
  readonly status: number | null

  constructor(failure: DialFailure, message: string, status: number | null = null) {
    super(message)
    this.failure = failure
    this.status = status
  }
}

const NETWORK: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name has no address',
  EAI_AGAIN: 'the name could not be resolved for now',
  ECONNREFUSED: 'nothing listens there: the connection was refused',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'no connection could be made in time',
  UND_ERR_CONNECT_TIMEOUT: 'no connection could be made in time',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of its answer are too large',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'its answer is not as long as it says',
}

const BROKEN = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE', 'ECONNABORTED'])

const TLS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an authority that is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate comes from an authority that is not trusted here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'it does not send the intermediate certificate that belongs to its own',
  CERT_REVOKED: 'its certificate was revoked',
}

interface Circumstances {
  readonly host: string
  readonly status: number | null
  readonly seconds: number
  /** True when our own time was over. */
  readonly isLate: boolean
  /** True when we gave up ourselves. */
  readonly isStopped: boolean
}

/** Errors of several tries, and of wrappers, stand one inside the other; undici's parser gives a name alone. */
const codesOf = (error: unknown, depth = 0): readonly string[] => {
  if (typeof error !== 'object' || error === null || depth > 4) return []
  const { code, name, cause, errors } = error as Error & { code?: unknown; errors?: readonly unknown[] }
  return [
    ...(typeof code === 'string' ? [code] : [name]),
    ...codesOf(cause, depth + 1),
    ...(Array.isArray(errors) ? errors.flatMap((one) => codesOf(one, depth + 1)) : []),
  ]
}

const sentence = (codes: readonly string[], status: number | null): string => {
  for (const code of codes) {
    const said = NETWORK[code] ?? TLS[code]
    if (said !== undefined) return said
  }
  if (codes.some((code) => code.startsWith('HPE_') || code === 'HTTPParserError'))
    return 'it did not answer in HTTP'
  if (codes.some((code) => /^(?:ERR_SSL_|EPROTO|ERR_TLS_)/.test(code)))
    return 'no TLS could be agreed with it'
  if (codes.some((code) => BROKEN.has(code))) {
    return status === null
      ? 'it closed the connection without an answer'
      : `it answered ${status}, and broke off the connection in the middle of its answer`
  }
  return 'the connection failed'
}

/** Whatever was thrown by a call, as a DialError. */
export const causeOf = (
  error: unknown,
  { host, status, seconds, isLate, isStopped }: Circumstances,
): DialError => {
  if (error instanceof DialError) return error
  const inner = (error as { cause?: unknown } | null)?.cause
  if (inner instanceof DialError) return inner
  if (isStopped) return new DialError('stopped', 'this server is stopping', status)
  if (isLate) {
    const what = status === null ? 'no answer' : `it answered ${status}, but the answer did not end`
    return new DialError('timeout', `${host}: ${what} within ${seconds} s`, status)
  }
  return new DialError('network', `${host}: ${sentence(codesOf(error), status)}`, status)
}
