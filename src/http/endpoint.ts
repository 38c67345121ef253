/**
 * NAME      endpoint - rows of the contract, and what many of them share
 *   An endpoint says as data who may call it, what it takes, what it answers and which faults it knows; routing, the Allow
 *   header, the gate and the OpenAPI document are made from the same rows. Rows are made once, when a module is loaded, and
 *   what a call works with is handed to them with the call. `handle` only translates: call one stage, render.
 *   A list is answered page by page, or whole as a file: CSV (RFC 4180) or a JSON record a line. A page of a file is read when
 *   the client has taken the one before, so a list of any length takes the memory of one page, and nothing more is read when
 *   the client has gone. What fails on the way ends the connection: a file that ends well is whole.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type Joi from 'joi'
import { type FaultCode, type FieldError, invalid } from '../base/fault.js'
import { type Page, pagesOf, type Rows } from '../lifecycle/page.js'
import { guarded, writeCsv } from '../record/csv.js'
import { removed, withManaged } from '../resource/member.js'
import type { EmailScope } from '../store/port/mail.js'
import type { WorkspaceRow } from '../store/port/tenants.js'
import { type Principal, seesSubjects, visibleMode } from '../tenant/principal.js'
import type { Operation } from '../tenant/rights.js'
import { type QueueStates, queueStates, type StateOwner } from '../tenant/waiting.js'
import type { HttpDeps } from './deps.js'
import type { Dialect } from './dialect/dialect.js'
import { type Filters, type ListEnvelope, type ListRequest, listPage, type PageQuery } from './list.js'
import { listOf, pageOnly, removedOf, type Shape } from './shapes/common.js'
import { headerValues } from './wire/values.js'

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

/** What reads a record, also where no daemon runs. */
type Read = (
  call: Pick<Call, 'principal' | 'workspace' | 'params'>,
  deps: Pick<HttpDeps, 'store' | 'tenants' | 'config' | 'clock'>,
) => Promise<object>

interface RowCommand {
  /** What it does, where that is said otherwise than of the endpoint. */
  readonly summary?: string
  /** What the parameters of the path are, in their order. */
  readonly about: Readonly<Record<string, string>>
  readonly examples: readonly (readonly [command: string, meaning: string])[]
  readonly read: Read
}

/** What is said of an endpoint beside its method and path. */
interface Row<Query, Body> {
  /** tenant/rights.ts, or the rights of its resource, say which role may. */
  readonly id: Operation
  /** The command that does the same, or why none does. */
  readonly cli: string | { readonly none: string }
  /** Where `cli` names a command that is made of this row (cli/rows.ts), and stands in no other file. */
  readonly command?: RowCommand
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
    deps: HttpDeps,
  ): readonly FieldError[] | Promise<readonly FieldError[]>
  handle(call: Call<Query, Body>, deps: HttpDeps): Promise<Answer>
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
const endpoint = <Query, Body>(row: RouteRow<Query, Body>): RouteRow => row as unknown as RouteRow

const rowOf =
  (method: Method) =>
  <Query, Body>(path: string, row: Row<Query, Body>): RouteRow =>
    endpoint({ faults: [], ...row, method, path })

export const GET = rowOf('GET')

interface Reading
  extends Omit<Row<unknown, unknown>, 'answers' | 'handle' | 'query' | 'body' | 'command' | 'cli'> {
  /** What it answers. */
  readonly of: Shape
  /** Subject and verb. */
  readonly cli: string
  readonly command: Omit<RowCommand, 'read'>
  readonly read: Read
}

/** GET of one record, and the command that shows it. */
export const reading = (path: string, { of, command, read, ...row }: Reading): RouteRow =>
  GET(path, {
    ...row,
    command: { ...command, read },
    answers: { 200: of },
    handle: async (call, deps) => ({ status: 200, body: await read(call, deps) }),
  })
export const POST = rowOf('POST')
export const PATCH = rowOf('PATCH')
export const DELETE = rowOf('DELETE')

/** A path parameter that the route is known to have. */
export const param = (call: Pick<Call, 'params'>, name: string): string => {
  const value = call.params[name]
  if (value === undefined) throw new Error(`no parameter ${name} in this path`)
  return value
}

type Format = 'csv' | 'ndjson'
/** Rows of one file. */
const MOST_ROWS = 1_000_000

export const MEDIA: Readonly<Record<Format, string>> = { csv: 'text/csv', ndjson: 'application/x-ndjson' }

interface FormatQuery {
  readonly format?: string | undefined
  readonly limit?: string | undefined
  readonly cursor?: unknown
  readonly after?: unknown
  readonly before?: unknown
}

/** What is wanted in place of a page; `format` wins over what the client accepts. */
export const formatOf = ({ req, query }: Pick<Call<FormatQuery>, 'req' | 'query'>): Format | null => {
  if (query.format !== undefined) return query.format === 'json' ? null : (query.format as Format)
  const accepted = headerValues(req, 'accept').join(',').toLowerCase()
  if (accepted.includes('application/json')) return null
  if (accepted.includes(MEDIA.csv)) return 'csv'
  return accepted.includes(MEDIA.ndjson) || accepted.includes('application/ndjson') ? 'ndjson' : null
}

/** A record as its public form has it. */
type Item = Readonly<Record<string, unknown>>

/** A column, by the member of the record that stands in it. */
type Columns = readonly string[]

const cellOf = (value: unknown): string | number | null => {
  if (value === null || value === undefined) return null
  if (typeof value === 'number') return value
  if (typeof value === 'string') return guarded(value)
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return guarded(value.join(', '))
  return guarded(JSON.stringify(value))
}

const headOf = (name: string): string => (/(?:^|_)at$/.test(name) ? `${name} (UTC)` : name)

/** `bounced.total` is the member of a member. */
const memberOf = (item: Item, name: string): unknown =>
  name.split('.').reduce<unknown>((value, part) => (value as Item | null)?.[part], item)

const csvOf = (items: readonly Item[], columns: Columns): string =>
  items.length === 0
    ? ''
    : `${writeCsv(items.map((item) => columns.map((name) => cellOf(memberOf(item, name)))))}\r\n`

const linesOf = (items: readonly Item[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join('')

interface Exported {
  readonly name: string
  readonly columns: Columns
  /** Pages of records, until there are none. */
  readonly pages: AsyncIterable<readonly Item[]>
}

const octetsOf = async function* (format: Format, { columns, pages }: Exported): AsyncGenerator<Buffer> {
  if (format === 'csv') yield Buffer.from(`${columns.map(headOf).join(',')}\r\n`)
  for await (const items of pages) {
    const text = format === 'csv' ? csvOf(items, columns) : linesOf(items)
    if (text !== '') yield Buffer.from(text)
  }
}

export const fileAnswer = (format: Format, exported: Exported): Answer => ({
  status: 200,
  body: Readable.from(octetsOf(format, exported), { objectMode: false }),
  headers: {
    'content-type': `${MEDIA[format]}; charset=utf-8`,
    'content-disposition': `attachment; filename="${exported.name}.${format}"`,
    'x-content-type-options': 'nosniff',
  },
})

/** All pages of a list, newest first, up to a number of rows. */
const recordPages = async function* <Row>(
  fetch: (page: Page) => Promise<Rows<Row>>,
  render: (row: Row) => unknown,
  limit: number,
): AsyncGenerator<readonly Item[]> {
  for await (const { rows } of pagesOf(fetch, limit)) yield rows.map((row) => render(row) as Item)
}

/** How many rows of a file; throws for a cursor, since a file is all of the list. */
const rowsWanted = ({ limit, ...places }: FormatQuery): number => {
  const wrong = (['cursor', 'after', 'before'] as const).filter((name) => places[name] !== undefined)
  if (wrong.length > 0)
    throw invalid(
      wrong.map((name) => ({
        ...{ field: `query.${name}`, kind: 'forbidden', message: 'a file is all of the list' },
      })),
    )
  return Math.min(MOST_ROWS, limit === undefined ? MOST_ROWS : Number(limit))
}

/** A page of a list, or all of it as a file, as the caller wants it. */
export const listAnswer = async <Row>(
  deps: HttpDeps,
  endpoint: string,
  call: Call<FormatQuery>,
  columns: Columns,
  list: Omit<ListRequest<Row>, 'bound' | 'query'> & {
    readonly query: FormatQuery & ListRequest<Row>['query']
  },
): Promise<Answer> => {
  const format = formatOf(call)
  if (format === null) return { status: 200, body: await pageFor(deps, endpoint, call, list) }
  const pages = recordPages(list.fetch, list.render, rowsWanted(list.query))
  return fileAnswer(format, { name: endpoint, columns, pages })
}

/** A page of an endpoint, for this caller: its cursors fit no other endpoint, account, workspace or mode. */
const pageFor = <Row>(
  deps: HttpDeps,
  endpoint: string,
  call: Call,
  list: Omit<ListRequest<Row>, 'bound'>,
): Promise<ListEnvelope> => {
  const { accountId, workspaceId, via, mode } = call.principal
  const bound = [endpoint, accountId, workspaceId ?? '', via === 'session' ? '' : mode]
  return listPage(deps.cursors, { ...list, bound })
}

const CURSORS = ['validation.cursor_invalid', 'validation.cursor_filters_mismatch'] as const

type SharedRow<Query> = Omit<RouteRow<Query>, 'method' | 'answers' | 'faults' | 'handle' | 'query'>

interface Listing<Query, Found> extends SharedRow<Query> {
  /** What its rows are, as the contract has them. */
  readonly of: Shape
  readonly query?: Shape<Joi.ObjectSchema<Query>>
  readonly faults?: RouteRow['faults']
  rows(call: Call<Query>, deps: HttpDeps): Listed<Found> | Promise<Listed<Found>>
}

interface Listed<Found> extends Pick<ListRequest<Found>, 'fetch' | 'render'> {
  /** Which list a cursor is of; by default its path says. */
  readonly name?: string
  readonly filters?: Filters
}

/** GET of a list, page by page. */
export const listing = <Found, Query extends PageQuery = PageQuery>({
  of,
  rows,
  faults = [],
  ...row
}: Listing<Query, Found>): RouteRow =>
  endpoint<Query, unknown>({
    query: pageOnly as Shape<Joi.ObjectSchema>,
    ...row,
    method: 'GET',
    answers: { 200: listOf(of) },
    faults: [...faults, ...CURSORS],
    async handle(call, deps) {
      const { name = row.path.slice('/v1/'.length), filters = {}, ...list } = await rows(call, deps)
      const body = await pageFor(deps, name, call, { query: call.query, filters, ...list })
      return { status: 200, body }
    },
  })

type Removable = FaultCode extends infer C ? (C extends `${infer O}.not_found` ? O : never) : never

// biome-ignore lint/suspicious/noConfusingVoidType: most that take an id answer nothing
type Gone = { readonly id: string; readonly beside?: object } | void

interface Removing<Query> extends SharedRow<Query> {
  readonly of: Shape<Joi.ObjectSchema>
  readonly object: Removable
  readonly query?: Shape<Joi.ObjectSchema<Query>>
  readonly faults?: RouteRow['faults']
  /** What stands beside it in the answer. */
  readonly more?: Shape<Joi.ObjectSchema>
  /** Answers what is gone, where the path may name it by something else than its id. */
  remove(call: Call<Query>, ref: string, deps: HttpDeps): Promise<Gone>
}

/** DELETE of one record, which the end of the path names. */
export const removing = <Query>({
  of,
  object,
  faults = [],
  remove,
  more,
  ...row
}: Removing<Query>): RouteRow =>
  endpoint<Query, unknown>({
    ...row,
    method: 'DELETE',
    answers: { 200: removedOf(of, more) },
    faults: [...faults, `${object}.not_found`],
    async handle(call, deps) {
      const [ref = ''] = Object.values(call.params)
      const gone = await remove(call, ref, deps)
      return { status: 200, body: { ...removed(object, gone ? gone.id : ref), ...(gone ? gone.beside : {}) } }
    },
  })

/** The state of the queue, at most a second old; `isFresh`: as it is now. */
export const statesOf = (deps: HttpDeps, of: StateOwner, isFresh = false): Promise<QueueStates> => {
  const { store, clock, relay, kept } = deps
  const key = `states ${of.accountId} ${of.workspaceId} ${of.isOperator}`
  const view = relay?.view() ?? null
  const make = () => queueStates({ store, clock, view, hasRelay: relay !== undefined }, of)
  return isFresh ? kept.fresh(key, make) : kept.get(key, make)
}

/** What this caller may see. */
export const scopeOf = (call: Pick<Call, 'principal' | 'workspace'>): EmailScope => ({
  accountId: call.principal.accountId,
  workspaceId: call.workspace?.id ?? null,
  mode: visibleMode(call.principal),
})

/** A record as this caller may see it: without its subject, where viewers see nothing of what is written. */
export const asSeenBy =
  ({ config }: Pick<HttpDeps, 'config'>, { principal }: Pick<Call, 'principal'>) =>
  <T extends object>(record: T): T => {
    if (seesSubjects(principal, config.identity.viewers_see)) return record
    return 'subject' in record ? { ...record, subject: null } : record
  }

/** Of a body that says why. */
const reasonIn = (body: unknown): { readonly reason?: string } => {
  const { reason } = (body ?? {}) as { readonly reason?: unknown }
  return typeof reason === 'string' ? { reason } : {}
}

/** The deps of one call: what is changed from it is written down as the caller's, with the reason in its body. */
const depsOf = (deps: HttpDeps, { principal, address, body }: Call): HttpDeps => {
  const actor = { ...principal.actor, address, ...reasonIn(body) }
  return { ...deps, store: deps.store.by(actor), tenants: deps.tenants.by(actor) }
}

/** The answer, with the setup that made what is in it. */
const told = async (answer: Answer, { principal }: Call, { store }: HttpDeps): Promise<Answer> => ({
  ...answer,
  body: await withManaged(store, principal.accountId, answer.body),
})

/** What is served: rows with what they work with. Changes are the caller's; a send writes its own record, and goes without. */
export const served = (rows: readonly RouteRow[], deps: HttpDeps): readonly Endpoint[] =>
  rows.map(({ handle, alsoWrong, ...row }) => {
    const acted = async (call: Call): Promise<Answer> => {
      try {
        return await told(await handle(call, depsOf(deps, call)), call, deps)
      } finally {
        deps.kept.forget()
      }
    }
    const asked = async (call: Call): Promise<Answer> => told(await handle(call, deps), call, deps)
    const isPlain = row.sends === true || row.access === 'public'
    const isChange = row.method !== 'GET' && !isPlain
    return {
      ...row,
      ...(alsoWrong && { alsoWrong: (left, told, call) => alsoWrong(left, told, call, deps) }),
      handle: isPlain ? (call) => handle(call, deps) : isChange ? acted : asked,
    }
  })
