/**
 * NAME      endpoint - one row of the contract
 * DESCRIPTION
 *   An endpoint says as data who may call it, what it takes, what it answers and
 *   which faults it knows; routing, the Allow header, the gate and the OpenAPI
 *   document are all made from the same rows. Its `handle` only translates:
 *   call one stage, render.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type Joi from 'joi'
import type { FaultCode, FieldError } from '../base/fault.js'
import type { WorkspaceRow } from '../store/port/tenants.js'
import type { Principal } from '../tenant/principal.js'
import type { Operation } from '../tenant/rights.js'
import type { Deps } from './deps.js'
import type { Dialect } from './dialect/dialect.js'
import type { Shape } from './shapes/common.js'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** A request that passed the gate, with its parts checked. */
export interface Call<Query = unknown, Body = unknown> {
  readonly requestId: string
  /** The traceparent of this request's span, when somebody traces. */
  readonly trace: string | null
  readonly principal: Principal
  /** The one the caller is bound to or has named; null means the whole account. */
  readonly workspace: WorkspaceRow | null
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  /** The body as it was sent, before the schema touched it. */
  readonly sent: unknown
  /** The octets of a body that is for the bodies' thread to read; there is no `body` then. */
  readonly large: Uint8Array | null
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** The path of the endpoint, with its parameters' names. */
  readonly route: string
  /** The client's address. */
  readonly address: string
  /** Counts further sends, or throws rate_limit.exceeded. The answer shows the window as it is then. */
  spend(n: number): Promise<void>
}

export interface Answer {
  readonly status: number
  /** An object, or JSON (or other) text or octets that are ready to go out, or what makes them little by little. */
  readonly body: object | string | Buffer | Readable
  readonly headers?: Readonly<Record<string, string>>
}

/** What is said of an endpoint beside its method and path. */
interface Row<Query, Body> {
  /** Its row in tenant/rights.ts says which role may. */
  readonly id: Operation
  /** The command that does the same, or why none does. */
  readonly cli: string | { readonly none: string }
  readonly summary: string
  /** What the summary leaves open, in whole sentences. */
  readonly description: string
  /** `platform`: a platform key or a session; `workspace`: a key of a workspace. */
  readonly access: 'public' | 'any' | 'platform' | 'session' | 'workspace'
  /** Of what belongs to people: whether it is the caller's own. Asked before the request is checked. */
  isOwn?(
    principal: Principal,
    said: { readonly params: Readonly<Record<string, string>>; readonly query: URLSearchParams },
  ): boolean
  /** True where a test-mode key may not even read. */
  readonly live?: boolean
  /** Whether X-Workspace-Id is read, and whether a platform caller must send it. */
  readonly workspace: 'none' | 'optional' | 'required'
  /** True counts the request against the rate limit before its body is read. */
  readonly sends?: boolean
  /** True where a body may be so large that a thread must read it; elsewhere it has at most a mebibyte. */
  readonly large?: boolean
  readonly query?: Shape<Joi.ObjectSchema<Query>>
  readonly body?: Shape<Joi.Schema<Body>>
  /** True where a success answers the `Location` of what was made. */
  readonly locates?: boolean
  /** True where a browser gets a page of the site instead. */
  readonly hasPage?: boolean
  /** What its success is, where that is not JSON. */
  readonly media?: string
  /** Whose words its credential, its body and its answers are in; ours without one. */
  readonly dialect?: Dialect
  /** Of another dialect: whether a body is one mail, with a short answer. */
  isPlain?(body: unknown): boolean
  /** Of another dialect: whether a body takes long to read, however few octets it has. */
  isLong?(body: unknown): boolean
  /** What its list may be had as, beside pages. */
  readonly files?: readonly ('csv' | 'ndjson')[]
  /** Request headers of its own, by name, with what they mean. */
  readonly headers?: Readonly<Record<string, string>>
  readonly answers: Readonly<Record<number, Shape>>
  /** Those of its own; none unless it says some. */
  readonly faults?: readonly FaultCode[]
  /**
   * Of a request of the wrong shape: what else is wrong, so that one answer tells all. `left` has no wrong fields; of a
   * list, wrong items are undefined.
   */
  alsoWrong?(
    left: { readonly query: Partial<Query>; readonly body: Partial<Body> },
    told: ReadonlySet<string>,
    call: Pick<Call, 'principal' | 'workspace' | 'params'>,
    deps: Deps,
  ): readonly FieldError[] | Promise<readonly FieldError[]>
  handle(call: Call<Query, Body>, deps: Deps): Promise<Answer>
}

/** A row as it is written down, once for all daemons of this process. */
export interface RouteRow<Query = unknown, Body = unknown> extends Row<Query, Body> {
  readonly method: Method
  readonly path: string
  readonly faults: readonly FaultCode[]
}

/** A row that is served: it has what it works with. */
export interface Endpoint extends Omit<RouteRow, 'handle' | 'alsoWrong'> {
  alsoWrong?(
    left: { readonly query: Partial<unknown>; readonly body: Partial<unknown> },
    told: ReadonlySet<string>,
    call: Pick<Call, 'principal' | 'workspace' | 'params'>,
  ): readonly FieldError[] | Promise<readonly FieldError[]>
  handle(call: Call): Promise<Answer>
}

/** Who may call, as many rows have it. */
export const PEOPLE_ONLY = { access: 'session', workspace: 'none' } as const
export const OPERATORS = { access: 'platform', live: true, workspace: 'optional' } as const
export const WORKSPACES_TOO = { access: 'any', live: true, workspace: 'optional' } as const
export const ANYBODY = { access: 'any', workspace: 'optional' } as const

/** Forgets the types of query and body once the row is complete. */
export const endpoint = <Query, Body>(row: RouteRow<Query, Body>): RouteRow => row as unknown as RouteRow

const rowOf =
  (method: Method) =>
  <Query, Body>(path: string, row: Row<Query, Body>): RouteRow =>
    endpoint({ faults: [], ...row, method, path })

export const GET = rowOf('GET')
export const POST = rowOf('POST')
export const PATCH = rowOf('PATCH')
export const DELETE = rowOf('DELETE')

/** A path parameter that the route is known to have. */
export const param = (call: Pick<Call, 'params'>, name: string): string => {
  const value = call.params[name]
  if (value === undefined) throw new Error(`no parameter ${name} in this path`)
  return value
}
