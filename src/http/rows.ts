/**
 * NAME      rows - rows of the contract that many endpoints share, and what binds them to what they work with
 * DESCRIPTION
 *   Rows are made once, when a module is loaded; what a call works with is handed to them with the call.
 */

import type Joi from 'joi'
import type { FaultCode } from '../base/fault.js'
import { withManaged } from '../resource/managed.js'
import { removed } from '../resource/member.js'
import type { EmailScope } from '../store/port/mail.js'
import { seesSubjects, visibleMode } from '../tenant/principal.js'
import { type QueueStates, queueStates, type StateOwner } from '../tenant/waiting.js'
import type { Deps } from './deps.js'
import { type Answer, type Call, type Endpoint, endpoint, type RouteRow } from './endpoint.js'
import { type Envelope, type Filters, type ListRequest, listPage, type PageQuery } from './list.js'
import { listOf, pageOnly, removedOf, type Shape } from './shapes/common.js'
import {
  type Columns,
  type FormatQuery,
  fileAnswer,
  formatOf,
  recordPages,
  rowsWanted,
} from './wire/export.js'

/** A page of a list, or all of it as a file, as the caller wants it. */
export const listAnswer = async <Row>(
  deps: Deps,
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
  deps: Deps,
  endpoint: string,
  call: Call,
  list: Omit<ListRequest<Row>, 'bound'>,
): Promise<Envelope> => {
  const { accountId, workspaceId, via, mode } = call.principal
  const bound = [endpoint, accountId, workspaceId ?? '', via === 'session' ? '' : mode]
  return listPage(deps.cursors, { ...list, bound })
}

const CURSORS = ['validation.cursor_invalid', 'validation.cursor_filters_mismatch'] as const

type Row<Query> = Omit<RouteRow<Query>, 'method' | 'answers' | 'faults' | 'handle' | 'query'>

interface Listing<Query, Found> extends Row<Query> {
  /** What its rows are, as the contract has them. */
  readonly of: Shape
  readonly query?: Shape<Joi.ObjectSchema<Query>>
  readonly faults?: RouteRow['faults']
  rows(call: Call<Query>, deps: Deps): Listed<Found> | Promise<Listed<Found>>
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

interface Removing<Query> extends Row<Query> {
  readonly of: Shape<Joi.ObjectSchema>
  readonly object: Removable
  readonly query?: Shape<Joi.ObjectSchema<Query>>
  readonly faults?: RouteRow['faults']
  /** What stands beside it in the answer. */
  readonly more?: Shape<Joi.ObjectSchema>
  /** Answers what is gone, where the path may name it by something else than its id. */
  remove(call: Call<Query>, ref: string, deps: Deps): Promise<Gone>
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
export const statesOf = (deps: Deps, of: StateOwner, isFresh = false): Promise<QueueStates> => {
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
  ({ config }: Deps, { principal }: Pick<Call, 'principal'>) =>
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
const depsOf = (deps: Deps, { principal, address, body }: Call): Deps => {
  const actor = { ...principal.actor, address, ...reasonIn(body) }
  return { ...deps, store: deps.store.by(actor), tenants: deps.tenants.by(actor) }
}

/** The answer, with the setup that made what is in it. */
const told = async (answer: Answer, { principal }: Call, { store }: Deps): Promise<Answer> => ({
  ...answer,
  body: await withManaged(store, principal.accountId, answer.body),
})

/** What is served: rows with what they work with. Changes are the caller's; a send writes its own record, and goes without. */
export const served = (rows: readonly RouteRow[], deps: Deps): readonly Endpoint[] =>
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
