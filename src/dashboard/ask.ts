/**
 * NAME      ask - the API, as the pages call it
 *   The dashboard knows nothing but /v1: it asks it in this process, with the session of the person who looks. What /v1
 *   refuses arrives as an AskError with its problem details, and the page that asked says it in place.
 */
import type { Readable } from 'node:stream'

export type AskMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE'
export type AskQuery = Readonly<Record<string, string | number | boolean | null | undefined>>

export interface AskOptions {
  /** A `ses_…` token; null for what is public. */
  readonly session: string | null
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly address: string
  /** The same object for all calls of one look: who asks is then looked up once. */
  readonly look?: object
  readonly streamed?: boolean
  readonly asValue?: boolean
}

export interface AskAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
  /** In place of the octets, where it was asked for and there is one; whoever takes it destroys it. */
  readonly stream: Readable | null
  /** In place of the octets, where it was asked for and is an object. */
  readonly value: object | null
}

/** Given by the daemon: one request to the API without a socket; the path has its query. */
export type AskApi = (method: AskMethod, path: string, options: AskOptions) => Promise<AskAnswer>

interface FieldProblem {
  /** Such as `body.name` or `query.q`. */
  readonly field: string
  readonly message: string
  readonly kind: string
}

/** The problem details of /v1 (RFC 9457). */
export interface Problem {
  readonly title: string
  readonly status: number
  readonly code: string
  readonly detail?: string
  readonly request_id?: string
  readonly reason?: string
  readonly errors?: readonly FieldProblem[]
}

export class AskError extends Error {
  override readonly name = 'AskError'
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.detail ?? problem.title)
    this.problem = problem
  }
}

/** A mistake that a page found by itself, in the shape of the API's. */
export const mistake = (field: string, message: string): AskError =>
  new AskError({
    title: 'Request invalid',
    status: 422,
    code: 'validation.request_invalid',
    errors: [{ field: `body.${field}`, message, kind: 'format' }],
  })

/** With its `?`, or nothing. Members that are null, undefined or empty are left out. */
export const queryText = (query: AskQuery): string => {
  let text: URLSearchParams | null = null
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === '') continue
    text ??= new URLSearchParams()
    text.append(name, String(value))
  }
  return text === null ? '' : `?${text}`
}

/** The body of a 2xx as JSON; anything else is an AskError. */
export const jsonOf = <T>({ status, bytes, value }: Pick<AskAnswer, 'status' | 'bytes' | 'value'>): T => {
  const said: unknown = value ?? JSON.parse(bytes.toString('utf8'))
  if (status >= 400) throw new AskError(said as Problem)
  return said as T
}
